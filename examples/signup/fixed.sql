-- A unique constraint decides who was first; the loser learns it without an error.
CREATE TABLE person (email text NOT NULL UNIQUE);
CREATE TABLE welcome_mail (email text NOT NULL);

CREATE PROCEDURE sign_up(address text) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO person VALUES (address) ON CONFLICT (email) DO NOTHING;
  IF FOUND THEN
    INSERT INTO welcome_mail VALUES (address);
  END IF;
END $$;

--@ thread first_click
CALL sign_up('eve@example.org');

--@ thread second_click
CALL sign_up('eve@example.org');

--@ invariant one_account_per_address
SELECT NOT EXISTS (SELECT email FROM person GROUP BY email HAVING count(*) > 1);

--@ final one_welcome
SELECT count(*) = 1 FROM welcome_mail;

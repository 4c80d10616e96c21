-- An impatient visitor clicks "sign up" twice and becomes two people. The story is in README.md.
CREATE TABLE person (email text NOT NULL);
CREATE TABLE welcome_mail (email text NOT NULL);

CREATE PROCEDURE sign_up(address text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM email FROM person WHERE email = address;
  IF NOT FOUND THEN
    INSERT INTO person VALUES (address);
    INSERT INTO welcome_mail VALUES (address);
  END IF;
END $$;

--@ thread first_click
CALL sign_up('eve@example.org');

--@ thread second_click
CALL sign_up('eve@example.org');

--@ invariant one_account_per_address
SELECT NOT EXISTS (SELECT email FROM person GROUP BY email HAVING count(*) > 1);

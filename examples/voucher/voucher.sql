-- A single-use voucher is used twice by application code that has no transaction. The story is in README.md.
CREATE TABLE voucher (code text PRIMARY KEY, used boolean NOT NULL);
CREATE TABLE discount (code text NOT NULL REFERENCES voucher, amount int NOT NULL);
INSERT INTO voucher VALUES ('SPRING', false);

CREATE PROCEDURE redeem(given text) LANGUAGE plpgsql AS $$
DECLARE was_used boolean;
BEGIN
  SELECT used INTO was_used FROM voucher WHERE code = given;
  IF NOT was_used THEN
    UPDATE voucher SET used = true WHERE code = given;
    INSERT INTO discount VALUES (given, 20);
  END IF;
END $$;

--@ thread tab x2 autocommit
CALL redeem('SPRING');

--@ invariant single_use
SELECT count(*) <= 1 FROM discount;

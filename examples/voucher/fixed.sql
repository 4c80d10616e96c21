-- Asking and taking are one statement: only one UPDATE can find the voucher unused.
CREATE TABLE voucher (code text PRIMARY KEY, used boolean NOT NULL);
CREATE TABLE discount (code text NOT NULL REFERENCES voucher, amount int NOT NULL);
INSERT INTO voucher VALUES ('SPRING', false);

CREATE PROCEDURE redeem(given text) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE voucher SET used = true WHERE code = given AND NOT used;
  IF FOUND THEN
    INSERT INTO discount VALUES (given, 20);
  END IF;
END $$;

--@ thread tab x2 autocommit
CALL redeem('SPRING');

--@ invariant single_use
SELECT count(*) <= 1 FROM discount;

--@ final redeemed
SELECT count(*) = 1 FROM discount;

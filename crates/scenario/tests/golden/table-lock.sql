-- The whole table is locked before it is read: nobody writes in between, and nobody else has read.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);
CREATE PROCEDURE withdraw(amount int) LANGUAGE plpgsql AS $$
DECLARE bal int;
BEGIN
  LOCK TABLE account IN EXCLUSIVE MODE;
  SELECT balance INTO bal FROM account WHERE id = 1;
  IF bal >= amount THEN
    UPDATE account SET balance = bal - amount WHERE id = 1;
  END IF;
END $$;

--@ thread alice
CALL withdraw(60);
--@ thread bob
CALL withdraw(60);
--@ invariant never_overdrawn
SELECT bool_and(balance >= 0) FROM account;

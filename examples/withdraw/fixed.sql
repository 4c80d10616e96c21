-- The read takes the row lock, so the second withdrawal waits and then sees what the first one left.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);

CREATE PROCEDURE withdraw(acc int, amount int) LANGUAGE plpgsql AS $$
DECLARE bal int;
BEGIN
  SELECT balance INTO bal FROM account WHERE id = acc FOR UPDATE;
  IF bal >= amount THEN
    UPDATE account SET balance = bal - amount WHERE id = acc;
  END IF;
END $$;

--@ thread alice
CALL withdraw(1, 60);

--@ thread bob
CALL withdraw(1, 60);

--@ invariant never_overdrawn
SELECT bool_and(balance >= 0) FROM account;

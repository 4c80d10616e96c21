-- The same, if only answers and tables count: both orders leave 40 behind.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);
CREATE PROCEDURE withdraw(acc int, amount int) LANGUAGE plpgsql AS $$
DECLARE bal int;
BEGIN
  SELECT balance INTO bal FROM account WHERE id = acc;
  IF bal >= amount THEN
    UPDATE account SET balance = bal - amount WHERE id = acc;
  END IF;
END $$;
--@ option serial outcome
--@ thread alice
CALL withdraw(1, 60);
--@ thread bob
CALL withdraw(1, 60);

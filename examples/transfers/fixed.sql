-- Both rows are locked first, the smaller id before the larger: a cycle of waiting cannot form.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100), (2, 100);

CREATE PROCEDURE transfer(source int, target int, amount int) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM id FROM account WHERE id IN (source, target) ORDER BY id FOR UPDATE;
  UPDATE account SET balance = balance - amount WHERE id = source;
  UPDATE account SET balance = balance + amount WHERE id = target;
END $$;

--@ thread jack
CALL transfer(1, 2, 10);

--@ thread kate
CALL transfer(2, 1, 25);

--@ final nothing_lost
SELECT sum(balance) = 200 FROM account;

--@ final both_done
SELECT balance = 115 FROM account WHERE id = 1;

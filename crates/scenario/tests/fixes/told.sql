-- What was read is told to the caller too, so the read must stay: no UPDATE can replace it.
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);

CREATE FUNCTION withdraw(amount int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE bal int;
BEGIN
  IF amount > 0 THEN
    SELECT balance INTO bal FROM account WHERE id = 1;
    IF bal >= amount THEN
      UPDATE account SET balance = bal - amount WHERE id = 1;
    END IF;
  END IF;
  RETURN bal;
END $$;

--@ thread alice
SELECT withdraw(60);
--@ thread bob
SELECT withdraw(30);

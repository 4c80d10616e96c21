CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
CREATE PROCEDURE pay(acc int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE acount SET balance = balance - 1 WHERE id = acc;
END $$;

--@ thread alice
CALL pay(1);

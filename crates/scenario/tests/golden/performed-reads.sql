-- PERFORM throws its rows away: a routine that reads so has seen nothing, and its effects alone count. Here they are
-- serial. (What is read INTO a variable is another matter: see stale reads.)
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);
CREATE PROCEDURE touch(acc int) LANGUAGE plpgsql AS $$
<<begin_block>>
BEGIN
  PERFORM balance FROM account WHERE id = acc;
  UPDATE account SET balance = balance + 1 WHERE id = acc;
END $$;
--@ thread alice
CALL touch(1);
--@ thread bob
CALL touch(1);

-- Three sessions, of which two copies of one thread.
CREATE TABLE stock (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO stock VALUES (1, 3);

CREATE PROCEDURE take() LANGUAGE plpgsql AS $$
DECLARE left_over int;
BEGIN
  SELECT n INTO left_over FROM stock WHERE id = 1;
  left_over := left_over - 1;
  UPDATE stock SET n = left_over WHERE id = 1;
END $$;

--@ thread taker x2
CALL take();
--@ thread giver
UPDATE stock SET n = n + 1 WHERE id = 1;

--@ final adds_up
SELECT n = 2 FROM stock;

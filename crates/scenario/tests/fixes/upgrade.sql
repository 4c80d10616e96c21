-- Both take a shared lock, and both then want an exclusive one.
CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO counter VALUES (1, 0);

CREATE PROCEDURE increment() LANGUAGE plpgsql AS $$
DECLARE old int;
BEGIN
  SELECT n INTO old FROM counter WHERE id = 1 FOR SHARE;
  UPDATE counter SET n = old + 1 WHERE id = 1;
END $$;

--@ thread a
CALL increment();
--@ thread b
CALL increment();

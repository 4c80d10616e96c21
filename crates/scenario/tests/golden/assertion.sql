-- An ASSERT between two reads of the same row.
CREATE TABLE counter (n int NOT NULL);
INSERT INTO counter VALUES (0);
--@ thread reader
DO $$
DECLARE a int; b int;
BEGIN
  SELECT n INTO a FROM counter;
  SELECT n INTO b FROM counter;
  ASSERT a = b, 'the counter has moved';
END $$;
--@ thread writer
UPDATE counter SET n = n + 1;

-- A thread that goes round and round without changing anything.
CREATE TABLE flag (up boolean NOT NULL);
INSERT INTO flag VALUES (false);
--@ thread waiter autocommit
DO $$
DECLARE up_now boolean := false;
BEGIN
  WHILE NOT up_now LOOP
    SELECT up INTO up_now FROM flag;
  END LOOP;
END $$;

-- A thread that counts for ever: the limit ends the search, and the answer says so.
CREATE TABLE counter (n bigint NOT NULL);
INSERT INTO counter VALUES (0);
--@ option states_max 50
--@ thread ticker autocommit
DO $$
BEGIN
  LOOP
    UPDATE counter SET n = n + 1;
  END LOOP;
END $$;

-- A loop that runs no statement: PostgreSQL would not answer, and neither can we say what happens then.
CREATE TABLE t (id int);
--@ thread a
DO $$ BEGIN LOOP END LOOP; END $$;
--@ thread b
INSERT INTO t VALUES (1);

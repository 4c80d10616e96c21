CREATE TABLE t (x int PRIMARY KEY);
CREATE PROCEDURE p() LANGUAGE plpgsql AS $$
BEGIN
  UPDATE t SET y = 1;
END $$;
--@ thread a
CALL p();

CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
CREATE PROCEDURE p(w smallint) LANGUAGE plpgsql AS $$ DECLARE r int; BEGIN r := abs(w); EXCEPTION WHEN numeric_value_out_of_range THEN UPDATE t SET v = -1; END $$;
--@ rule r
SELECT v >= 0 FROM t;
--! p r unsafe

CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
CREATE FUNCTION f_void(k int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET v = 1 WHERE id = k; END $$;
CREATE FUNCTION f_int(k int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET v = 1 WHERE id = k; RETURN 1; END $$;
CREATE PROCEDURE p_void(k int) LANGUAGE plpgsql AS $$ BEGIN PERFORM f_void(k); END $$;
CREATE PROCEDURE p_int(k int) LANGUAGE plpgsql AS $$ BEGIN PERFORM f_int(k); END $$;
CREATE PROCEDURE p_exit(k int, n int) LANGUAGE plpgsql AS $$ BEGIN IF n > 0 THEN UPDATE t SET v = n WHERE id = k; END IF; END $$;
--@ rule r
SELECT v >= 0 FROM t;
--! p_void r safe
--! p_int r safe
--! p_exit r safe
--! f_void r safe
--! f_int r safe

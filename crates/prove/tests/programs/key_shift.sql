CREATE TABLE a (id int PRIMARY KEY);
CREATE TABLE b (id int PRIMARY KEY, a int NOT NULL REFERENCES a, n int NOT NULL);
CREATE PROCEDURE t_bad(x int) LANGUAGE plpgsql AS $$ BEGIN UPDATE a SET id = id + 1 WHERE id > x; UPDATE b SET n = -1 WHERE a = x + 2; END $$;
--@ rule r
SELECT n >= 0 FROM b;
--! t_bad r unsafe

CREATE TABLE addr (id int PRIMARY KEY, usr int NOT NULL, prim boolean NOT NULL, dead boolean NOT NULL);
CREATE UNIQUE INDEX one_prim ON addr (usr) WHERE prim AND NOT dead;
CREATE PROCEDURE mk(i int) LANGUAGE plpgsql AS $$ BEGIN UPDATE addr SET prim = true WHERE id = i AND NOT dead; END $$;
--@ rule r
SELECT NOT EXISTS (SELECT 1 FROM addr x, addr y WHERE x.id <> y.id AND x.usr = y.usr AND x.prim AND y.prim);
--! mk r unsafe

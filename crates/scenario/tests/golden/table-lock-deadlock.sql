-- Two clerks lock two tables, one after the other, each in an order of its own.
CREATE TABLE a (id int PRIMARY KEY);
CREATE TABLE b (id int PRIMARY KEY);

--@ thread alice
BEGIN;
LOCK TABLE a IN SHARE MODE;
INSERT INTO b VALUES (1);
COMMIT;

--@ thread bob
BEGIN;
LOCK TABLE b IN SHARE MODE;
INSERT INTO a VALUES (1);
COMMIT;

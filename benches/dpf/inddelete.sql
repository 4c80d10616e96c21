-- IndDelete: created to test the dependency among delete operations; ours: rows of their own, and last one for all.
CREATE TABLE entry (id int PRIMARY KEY, value int);
INSERT INTO entry SELECT i, i FROM generate_series(0, 999) AS g(i);

--@ thread t1
DELETE FROM entry WHERE id = 100;
DELETE FROM entry WHERE id = 101;
DELETE FROM entry WHERE id = 102;
DELETE FROM entry WHERE id = 103;
DELETE FROM entry WHERE id = 104;
DELETE FROM entry WHERE id = 105;
DELETE FROM entry WHERE id = 106;
DELETE FROM entry WHERE id = 107;
DELETE FROM entry WHERE id = 108;
DELETE FROM entry WHERE id = 0;

--@ thread t2
DELETE FROM entry WHERE id = 200;
DELETE FROM entry WHERE id = 201;
DELETE FROM entry WHERE id = 202;
DELETE FROM entry WHERE id = 203;
DELETE FROM entry WHERE id = 204;
DELETE FROM entry WHERE id = 205;
DELETE FROM entry WHERE id = 206;
DELETE FROM entry WHERE id = 207;
DELETE FROM entry WHERE id = 208;
DELETE FROM entry WHERE id = 0;

--@ thread t3
DELETE FROM entry WHERE id = 300;
DELETE FROM entry WHERE id = 301;
DELETE FROM entry WHERE id = 302;
DELETE FROM entry WHERE id = 303;
DELETE FROM entry WHERE id = 304;
DELETE FROM entry WHERE id = 305;
DELETE FROM entry WHERE id = 306;
DELETE FROM entry WHERE id = 307;
DELETE FROM entry WHERE id = 308;
DELETE FROM entry WHERE id = 0;

--@ thread t4
DELETE FROM entry WHERE id = 400;
DELETE FROM entry WHERE id = 401;
DELETE FROM entry WHERE id = 402;
DELETE FROM entry WHERE id = 403;
DELETE FROM entry WHERE id = 404;
DELETE FROM entry WHERE id = 405;
DELETE FROM entry WHERE id = 406;
DELETE FROM entry WHERE id = 407;
DELETE FROM entry WHERE id = 408;
DELETE FROM entry WHERE id = 0;

CREATE TABLE job (id int PRIMARY KEY, pri int, state text);
CREATE INDEX job_pri ON job (pri, id);
CREATE TABLE free (x int);
INSERT INTO job VALUES (5, 1, 'new'), (2, 3, 'new'), (9, NULL, 'old'), (1, 3, 'old'), (7, 1, 'new'), (4, NULL, 'new');
INSERT INTO free SELECT 1000 - g FROM generate_series(1, 500) g;

SELECT id FROM job ORDER BY id LIMIT 1;
--> 1

SELECT id FROM job ORDER BY id DESC LIMIT 2;
--> 9
--> 7

SELECT id, pri FROM job ORDER BY pri, id LIMIT 3;
--> 5|1
--> 7|1
--> 1|3

SELECT id, pri FROM job ORDER BY pri DESC, id DESC LIMIT 4;
--> 9|~
--> 4|~
--> 2|3
--> 1|3

SELECT id, pri FROM job ORDER BY pri, id DESC LIMIT 4;
--> 7|1
--> 5|1
--> 2|3
--> 1|3

SELECT id, pri FROM job ORDER BY pri NULLS FIRST, id LIMIT 3;
--> 4|~
--> 9|~
--> 5|1

SELECT id FROM job WHERE state = 'new' ORDER BY id LIMIT 1 OFFSET 1;
--> 4

SELECT id FROM job WHERE id > 2 ORDER BY id LIMIT 2;
--> 4
--> 5

SELECT id FROM job WHERE id > 2 AND id <= 7 ORDER BY id DESC LIMIT 2;
--> 7
--> 5

SELECT id FROM job WHERE id < NULL ORDER BY id LIMIT 2;

SELECT pri FROM job ORDER BY pri LIMIT 10;
--> 1
--> 1
--> 3
--> 3
--> ~
--> ~

SELECT min(id), max(id) FROM job;
--> 1|9

SELECT min(id) FROM job;
--> 1

SELECT max(id) FROM job;
--> 9

SELECT max(pri) FROM job;
--> 3

SELECT min(pri) FROM job WHERE state = 'old';
--> 3

SELECT max(id) FROM job WHERE id < 5;
--> 4

SELECT min(id) FROM job WHERE id > 100;
--> ~

SELECT coalesce(max(id), 0) + 1 FROM job;
--> 10

SELECT a.id, b.id FROM job a JOIN job b ON b.pri = a.pri AND b.id <> a.id ORDER BY a.id LIMIT 3;
--> 1|2
--> 2|1
--> 5|7

SELECT x FROM free ORDER BY x LIMIT 3;
--> 500
--> 501
--> 502

SELECT x FROM free ORDER BY x DESC LIMIT 2 OFFSET 400;
--> 599
--> 598

SELECT x % 7 AS m, x FROM free ORDER BY m, x DESC LIMIT 4;
--> 0|994
--> 0|987
--> 0|980
--> 0|973

SELECT DISTINCT x % 3 FROM free ORDER BY 1 LIMIT 2;
--> 0
--> 1

SELECT id FROM job WHERE id IN (SELECT x - 995 FROM free) ORDER BY id LIMIT 2;
--> 1
--> 2

SELECT id, pri FROM job WHERE pri >= 1 ORDER BY pri DESC, id DESC LIMIT 3;
--> 2|3
--> 1|3
--> 7|1

SELECT id, pri FROM job WHERE pri < 3 ORDER BY pri DESC, id DESC LIMIT 3;
--> 7|1
--> 5|1

SELECT id FROM job WHERE id > 7 AND id < 3 ORDER BY id LIMIT 3;

SELECT id FROM job WHERE pri > 1 ORDER BY id;
--> 1
--> 2

SELECT max(pri) FROM job WHERE pri > 1;
--> 3

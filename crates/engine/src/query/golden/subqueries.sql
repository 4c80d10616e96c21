CREATE TABLE t (id int PRIMARY KEY, grp int, v int);
CREATE TABLE u (id int, v int);
INSERT INTO t VALUES (1, 1, 10), (2, 1, 20), (3, 2, 30), (4, NULL, NULL);
INSERT INTO u VALUES (1, 10), (3, 99), (NULL, 5);

SELECT (SELECT max(v) FROM t), (SELECT v FROM t WHERE id = 9);
--> 30|~

SELECT (SELECT v FROM t);
--> ERROR 21000: more than one row returned by a subquery used as an expression

SELECT id FROM t WHERE v > (SELECT avg(v) FROM t) ORDER BY id;
--> 3

SELECT id, (SELECT count(*) FROM t b WHERE b.grp = a.grp) FROM t a ORDER BY id;
--> 1|2
--> 2|2
--> 3|1
--> 4|0

SELECT id, (SELECT u.v FROM u WHERE u.id = t.id) FROM t ORDER BY id;
--> 1|10
--> 2|~
--> 3|99
--> 4|~

SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id) ORDER BY id;
--> 1
--> 3

SELECT id FROM t WHERE NOT EXISTS (SELECT * FROM u WHERE u.id = t.id) ORDER BY id;
--> 2
--> 4

SELECT id FROM t WHERE id IN (SELECT id FROM u) ORDER BY id;
--> 1
--> 3

SELECT id FROM t WHERE id NOT IN (SELECT id FROM u) ORDER BY id;

SELECT id FROM t WHERE id NOT IN (SELECT id FROM u WHERE id IS NOT NULL) ORDER BY id;
--> 2
--> 4

SELECT id FROM t WHERE id NOT IN (SELECT id FROM u WHERE false) ORDER BY id;
--> 1
--> 2
--> 3
--> 4

SELECT id FROM t WHERE NULL IN (SELECT id FROM u WHERE false);

SELECT id FROM t WHERE v = ANY (SELECT v FROM u WHERE u.id = t.id);
--> 1

SELECT id FROM t WHERE v > ALL (SELECT v FROM u WHERE id = 1) ORDER BY id;
--> 2
--> 3

SELECT id FROM t WHERE v > ALL (SELECT v FROM u WHERE id = 77) ORDER BY id;
--> 1
--> 2
--> 3
--> 4

SELECT id FROM t WHERE v >= ANY (SELECT v FROM u) ORDER BY id;
--> 1
--> 2
--> 3

SELECT id FROM t WHERE (id, v) IN (SELECT id, v FROM u) ORDER BY id;
--> 1

SELECT id FROM t WHERE (id, v) NOT IN (SELECT id, v FROM u) ORDER BY id;
--> 2
--> 3

SELECT 1 WHERE EXISTS (SELECT 1 FROM t WHERE v IS NULL);
--> 1

SELECT EXISTS (SELECT 1 FROM t LIMIT 0), EXISTS (SELECT count(*) FROM t WHERE false);
--> f|t

SELECT x.id, x.w FROM (SELECT id, v * 2 AS w FROM t WHERE v IS NOT NULL) x WHERE x.w > 20 ORDER BY x.id;
--> 2|40
--> 3|60

SELECT id FROM t a WHERE v = (SELECT max(v) FROM t b WHERE b.grp = a.grp AND b.v > (SELECT min(v) FROM t c WHERE c.grp = a.grp) - 1) ORDER BY id;
--> 2
--> 3

SELECT grp, (SELECT count(*) FROM u WHERE u.v >= t.grp) FROM t GROUP BY grp ORDER BY grp;
--> 1|3
--> 2|3
--> ~|0

SELECT grp, sum(v) FROM t GROUP BY grp HAVING sum(v) > (SELECT min(v) FROM u) ORDER BY grp;
--> 1|30
--> 2|30

SELECT id FROM t WHERE id = (SELECT id FROM u WHERE v = 99);
--> 3

SELECT id FROM t ORDER BY (SELECT u.v FROM u WHERE u.id = t.id), id;
--> 1
--> 3
--> 2
--> 4

SELECT id FROM t LIMIT (SELECT 2);
--> 1
--> 2

SELECT (SELECT sum(x) FROM (VALUES (1), (2), (t.id)) w(x)) FROM t ORDER BY 1;
--> 4
--> 5
--> 6
--> 7

SELECT id FROM t WHERE id IN (1, (SELECT 3)) ORDER BY id;
--> 1
--> 3

SELECT (SELECT a.id FROM (SELECT t.id) a UNION ALL SELECT 5 WHERE false) FROM t ORDER BY 1;
--> 1
--> 2
--> 3
--> 4

UPDATE t SET v = (SELECT u.v FROM u WHERE u.id = t.id) WHERE id IN (SELECT id FROM u);

SELECT * FROM t ORDER BY id;
--> 1|1|10
--> 2|1|20
--> 3|2|99
--> 4|~|~

DELETE FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.id = t.id);

SELECT * FROM t ORDER BY id;
--> 1|1|10
--> 3|2|99

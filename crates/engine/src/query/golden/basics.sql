CREATE TABLE account (id int PRIMARY KEY, owner text, balance int);
INSERT INTO account VALUES (3, 'carol', 300), (1, 'alice', 100), (2, 'bob', NULL), (4, NULL, 50);

-- Heap order, not key order.
SELECT * FROM account;
--> 3|carol|300
--> 1|alice|100
--> 2|bob|~
--> 4|~|50

SELECT balance FROM account WHERE id = 1;
--> 100

SELECT id FROM account WHERE id = 7;

SELECT id FROM account WHERE id = NULL;

-- A new version goes to the end of the heap.
UPDATE account SET balance = balance + 1 WHERE id = 3;

SELECT id, balance FROM account;
--> 1|100
--> 2|~
--> 4|50
--> 3|301

SELECT id FROM account WHERE id >= 2;
--> 2
--> 4
--> 3

SELECT id FROM account WHERE id BETWEEN 2 AND 3;
--> 2
--> 3

SELECT id FROM account WHERE id IN (4, 1, 9, 1, NULL);
--> 1
--> 4

SELECT id FROM account WHERE id NOT IN (4, 1);
--> 2
--> 3

SELECT id FROM account WHERE id NOT IN (4, 1, NULL);

SELECT id FROM account WHERE balance > 60 OR owner IS NULL ORDER BY id;
--> 1
--> 3
--> 4

SELECT id FROM account WHERE NOT (balance > 60) ORDER BY id;
--> 4

SELECT id, balance > 60, balance IS NULL, balance IS NOT NULL, (balance > 60) IS TRUE, (balance > 60) IS NOT TRUE, (balance > 60) IS UNKNOWN FROM account ORDER BY id;
--> 1|t|f|t|t|f|f
--> 2|~|t|f|f|t|t
--> 3|t|f|t|t|f|f
--> 4|f|f|t|f|t|f

SELECT owner FROM account ORDER BY owner;
--> alice
--> bob
--> carol
--> ~

SELECT owner FROM account ORDER BY owner DESC;
--> ~
--> carol
--> bob
--> alice

SELECT owner FROM account ORDER BY owner NULLS FIRST;
--> ~
--> alice
--> bob
--> carol

SELECT owner FROM account ORDER BY owner DESC NULLS LAST;
--> carol
--> bob
--> alice
--> ~

SELECT id FROM account ORDER BY balance IS NULL, balance DESC;
--> 3
--> 1
--> 4
--> 2

SELECT id AS x FROM account ORDER BY x DESC LIMIT 2;
--> 4
--> 3

SELECT id FROM account ORDER BY 1 LIMIT 2 OFFSET 1;
--> 2
--> 3

SELECT id FROM account ORDER BY id OFFSET 3;
--> 4

SELECT id FROM account ORDER BY id OFFSET 9;

SELECT id FROM account LIMIT 0;

SELECT id FROM account LIMIT -1;
--> ERROR 2201W: LIMIT must not be negative

SELECT id FROM account OFFSET -1;
--> ERROR 2201X: OFFSET must not be negative

SELECT id FROM account ORDER BY id LIMIT NULL;
--> 1
--> 2
--> 3
--> 4

SELECT 1 + 2, 7 / 2, 7 % 3, -7 / 2, 2 * 3 - 1;
--> 3|3|1|-3|5

SELECT 1 / 0;
--> ERROR 22012: division by zero

SELECT 2147483647 + 1;
--> ERROR 22003: integer out of range

SELECT CASE WHEN id = 1 THEN 'one' WHEN balance > 100 THEN 'rich' END FROM account ORDER BY id;
--> one
--> ~
--> rich
--> ~

SELECT CASE id WHEN 1 THEN 10 ELSE 0 END FROM account ORDER BY id;
--> 10
--> 0
--> 0
--> 0

-- Lazy, left to right.
SELECT CASE WHEN id < 100 THEN 1 ELSE 1 / (id - id) END FROM account;
--> 1
--> 1
--> 1
--> 1

SELECT coalesce(balance, 0), coalesce(NULL, owner, 'nobody'), nullif(id, 2) FROM account ORDER BY id;
--> 100|alice|1
--> 0|bob|~
--> 301|carol|3
--> 50|nobody|4

SELECT greatest(1, NULL, 3), least(2, NULL, 1), greatest(NULL, NULL::int);
--> 3|1|~

SELECT NULL = NULL, NULL IS DISTINCT FROM NULL, 1 IS DISTINCT FROM NULL, 1 IS NOT DISTINCT FROM 1;
--> ~|f|t|t

SELECT true AND NULL, false AND NULL, true OR NULL, false OR NULL, NOT NULL::bool;
--> ~|f|t|~|~

SELECT 1 IN (1, NULL), 2 IN (1, NULL), 2 NOT IN (1, NULL), NULL IN (1);
--> t|~|~|~

SELECT 5 IN (1,2,3,4,5,6,7,8,9,10,NULL), 50 IN (1,2,3,4,5,6,7,8,9,10,NULL), 50 IN (1,2,3,4,5,6,7,8,9,10);
--> t|~|f

SELECT (1, 2) = (1, 2), (1, 2) = (1, NULL), (1, 2) = (3, NULL), (1, 2) < (1, 3);
--> t|~|f|t

SELECT id FROM account WHERE (id, owner) IN ((1, 'alice'), (2, 'carol')) ORDER BY id;
--> 1

SELECT ROW(NULL, NULL) IS NULL, ROW(1, NULL) IS NULL, ROW(1, NULL) IS NOT NULL, ROW(1, 2) IS NOT NULL;
--> t|f|f|t

SELECT a FROM account a WHERE id = 1;
--> (1,alice,100)

SELECT a IS NULL FROM account a WHERE id = 1;
--> f

SELECT 1 WHERE false;

SELECT 1 WHERE NULL;

VALUES (1, 'x'), (2, 'y');
--> 1|x
--> 2|y

VALUES (2), (3), (1) ORDER BY 1 DESC LIMIT 2;
--> 3
--> 2

SELECT '12'::int + 1, 'abc' || 'def', 1.50 + 1, length('abc');
--> 13|abcdef|2.50|3

SELECT owner LIKE 'a%', upper(owner) FROM account ORDER BY id;
--> t|ALICE
--> f|BOB
--> f|CAROL
--> ~|~

CREATE TABLE customer (id int PRIMARY KEY, name text);
CREATE TABLE orders (id int PRIMARY KEY, customer int, total int);
CREATE INDEX orders_customer ON orders (customer);
CREATE TABLE item (orders int, pos int, what text, PRIMARY KEY (orders, pos));
CREATE TABLE tag (what text, color text);
INSERT INTO customer VALUES (1, 'ann'), (2, 'ben'), (3, 'cid'), (4, NULL);
INSERT INTO orders VALUES (10, 1, 5), (11, 1, 7), (12, 2, 9), (13, NULL, 1), (14, 9, 2);
INSERT INTO item VALUES (10, 1, 'pen'), (10, 2, 'ink'), (12, 1, 'pen'), (12, 2, 'cup'), (15, 1, 'hat');
INSERT INTO tag VALUES ('pen', 'red'), ('pen', 'blue'), ('cup', 'red'), (NULL, 'grey'), ('a','a'), ('b','b'), ('c','c'), ('d','d'), ('e','e'), ('f','f');

SELECT c.name, o.id FROM customer c JOIN orders o ON o.customer = c.id ORDER BY o.id;
--> ann|10
--> ann|11
--> ben|12

SELECT c.name, o.id FROM customer c, orders o WHERE o.customer = c.id AND o.total > 5 ORDER BY o.id;
--> ann|11
--> ben|12

SELECT c.name, o.id FROM customer c LEFT JOIN orders o ON o.customer = c.id ORDER BY c.id, o.id;
--> ann|10
--> ann|11
--> ben|12
--> cid|~
--> ~|~

SELECT c.name, o.id FROM customer c LEFT JOIN orders o ON o.customer = c.id AND o.total > 6 ORDER BY c.id, o.id;
--> ann|11
--> ben|12
--> cid|~
--> ~|~

SELECT c.name, o.id FROM customer c LEFT JOIN orders o ON o.customer = c.id WHERE o.total > 6 ORDER BY c.id, o.id;
--> ann|11
--> ben|12

SELECT c.name, o.id FROM customer c LEFT JOIN orders o ON o.customer = c.id WHERE o.id IS NULL ORDER BY c.id;
--> cid|~
--> ~|~

SELECT c.id, o.id FROM customer c LEFT JOIN orders o ON o.customer = c.id AND c.id > 1 ORDER BY c.id, o.id;
--> 1|~
--> 2|12
--> 3|~
--> 4|~

SELECT c.id, o.id FROM customer c LEFT JOIN orders o ON false WHERE c.id = 1;
--> 1|~

SELECT c.name, o.id FROM customer c RIGHT JOIN orders o ON o.customer = c.id ORDER BY o.id;
--> ann|10
--> ann|11
--> ben|12
--> ~|13
--> ~|14

SELECT c.name, o.id FROM customer c FULL JOIN orders o ON o.customer = c.id ORDER BY c.id, o.id;
--> ann|10
--> ann|11
--> ben|12
--> cid|~
--> ~|~
--> ~|13
--> ~|14

SELECT c.name, o.id FROM customer c FULL JOIN orders o ON o.customer = c.id WHERE o.id IS NULL OR c.id IS NULL ORDER BY c.id, o.id;
--> cid|~
--> ~|~
--> ~|13
--> ~|14

SELECT count(*) FROM customer CROSS JOIN orders;
--> 20

SELECT c.id, o.id, i.pos, i.what FROM customer c JOIN orders o ON o.customer = c.id JOIN item i ON i.orders = o.id ORDER BY o.id, i.pos;
--> 1|10|1|pen
--> 1|10|2|ink
--> 2|12|1|pen
--> 2|12|2|cup

SELECT o.id, i.what, t.color FROM orders o LEFT JOIN (item i JOIN tag t ON t.what = i.what) ON i.orders = o.id ORDER BY o.id, i.pos, t.color;
--> 10|pen|blue
--> 10|pen|red
--> 11|~|~
--> 12|pen|blue
--> 12|pen|red
--> 12|cup|red
--> 13|~|~
--> 14|~|~

SELECT o.id, i.what, t.color FROM orders o LEFT JOIN item i ON i.orders = o.id LEFT JOIN tag t ON t.what = i.what ORDER BY o.id, i.pos, t.color;
--> 10|pen|blue
--> 10|pen|red
--> 10|ink|~
--> 11|~|~
--> 12|pen|blue
--> 12|pen|red
--> 12|cup|red
--> 13|~|~
--> 14|~|~

-- By hash: no index on tag.
SELECT i.orders, t.color FROM item i JOIN tag t ON t.what = i.what ORDER BY 1, 2;
--> 10|blue
--> 10|red
--> 12|blue
--> 12|red
--> 12|red

SELECT i.orders, t.color FROM tag t JOIN item i ON t.what = i.what AND t.color <> 'red' ORDER BY 1, 2;
--> 10|blue
--> 12|blue

SELECT a.id, b.id FROM orders a JOIN orders b ON a.customer = b.customer AND a.id < b.id;
--> 10|11

SELECT * FROM customer JOIN orders USING (id) ORDER BY id;

SELECT id, name FROM customer NATURAL JOIN (VALUES (1), (3)) v(id) ORDER BY id;
--> 1|ann
--> 3|cid

SELECT i.what FROM item i WHERE i.orders = 10 AND i.pos = 2;
--> ink

SELECT i.what FROM item i WHERE i.orders = 12 ORDER BY i.pos DESC;
--> cup
--> pen

SELECT i.what FROM item i WHERE i.orders = 12 AND i.pos > 1;
--> cup

SELECT c, o FROM customer c LEFT JOIN orders o ON o.customer = c.id ORDER BY c.id, o.id;
--> (1,ann)|(10,1,5)
--> (1,ann)|(11,1,7)
--> (2,ben)|(12,2,9)
--> (3,cid)|~
--> (4,)|~

SELECT c.id, o IS NULL FROM customer c LEFT JOIN orders o ON o.customer = c.id ORDER BY c.id, o.id;
--> 1|f
--> 1|f
--> 2|f
--> 3|t
--> 4|t

SELECT c.id, x.n FROM customer c, LATERAL (SELECT count(*) AS n FROM orders o WHERE o.customer = c.id) x ORDER BY c.id;
--> 1|2
--> 2|1
--> 3|0
--> 4|0

SELECT c.id, x.id FROM customer c LEFT JOIN LATERAL (SELECT o.id FROM orders o WHERE o.customer = c.id ORDER BY o.total DESC LIMIT 1) x ON true ORDER BY c.id;
--> 1|11
--> 2|12
--> 3|~
--> 4|~

SELECT c.id, g FROM customer c, generate_series(1, c.id) g ORDER BY c.id, g;
--> 1|1
--> 2|1
--> 2|2
--> 3|1
--> 3|2
--> 3|3
--> 4|1
--> 4|2
--> 4|3
--> 4|4

SELECT g FROM generate_series(1, 10, 4) g;
--> 1
--> 5
--> 9

SELECT g FROM generate_series(3, 1, -1) g;
--> 3
--> 2
--> 1

SELECT g FROM generate_series(3, 1) g;

SELECT g FROM generate_series(1, NULL) g;

SELECT g FROM generate_series(1, 2, 0) g;
--> ERROR 22023: step size cannot equal zero

SELECT count(*), sum(g), min(g), max(g) FROM generate_series(1, 10000) g;
--> 10000|50005000|1|10000

SELECT a.g, b.g FROM generate_series(1, 3) a(g) JOIN generate_series(2, 4) b(g) ON a.g = b.g;
--> 2|2
--> 3|3

SELECT a.g, b.g FROM generate_series(1, 3) a(g) FULL JOIN generate_series(2, 4) b(g) ON a.g = b.g ORDER BY 1, 2;
--> 1|~
--> 2|2
--> 3|3
--> ~|4

SELECT a.x, b.x FROM (SELECT id AS x FROM customer WHERE id < 3) a JOIN (SELECT customer AS x FROM orders) b ON a.x = b.x ORDER BY 1;
--> 1|1
--> 1|1
--> 2|2

WITH big AS (SELECT * FROM orders WHERE total > 4) SELECT c.name, big.id FROM big JOIN customer c ON c.id = big.customer ORDER BY 2;
--> ann|10
--> ann|11
--> ben|12

WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT * FROM a, b;
--> 1|2

UPDATE orders SET total = total + c.id FROM customer c WHERE c.id = orders.customer AND c.name = 'ann';

SELECT id, total FROM orders ORDER BY id;
--> 10|6
--> 11|8
--> 12|9
--> 13|1
--> 14|2

DELETE FROM orders USING customer c WHERE c.id = orders.customer AND c.name = 'ben';

SELECT id FROM orders ORDER BY id;
--> 10
--> 11
--> 13
--> 14

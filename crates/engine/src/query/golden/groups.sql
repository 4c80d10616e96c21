CREATE TABLE sale (id int, city text, product text, amount int, price numeric(10,2));
CREATE TABLE nothing (x int);
INSERT INTO sale VALUES (1, 'rome', 'tea', 3, 1.50), (2, 'rome', 'jam', 1, 2.25), (3, 'oslo', 'tea', NULL, 1.5), (4, NULL, 'jam', 5, 2.25), (5, NULL, 'tea', 2, NULL), (6, 'oslo', 'tea', 4, 1.50);

SELECT count(*), count(amount), sum(amount), avg(amount), min(amount), max(price) FROM sale;
--> 6|5|15|3.0000000000000000|1|2.25

SELECT count(*), count(x), sum(x), avg(x), min(x), bool_and(x > 0), string_agg('a', ',') FROM nothing;
--> 0|0|~|~|~|~|~

SELECT count(*) FROM nothing GROUP BY x;

SELECT city, count(*), sum(amount) FROM sale GROUP BY city ORDER BY city;
--> oslo|2|4
--> rome|2|4
--> ~|2|7

SELECT city, product, sum(amount * price) FROM sale GROUP BY city, product ORDER BY city, product;
--> oslo|tea|6.00
--> rome|jam|2.25
--> rome|tea|4.50
--> ~|jam|11.25
--> ~|tea|~

SELECT city FROM sale GROUP BY city HAVING count(*) > 2 ORDER BY city;

SELECT city, count(*) FROM sale WHERE amount > 1 GROUP BY city HAVING sum(amount) > 3 ORDER BY 2, 1;
--> oslo|1
--> ~|2

SELECT sum(amount) FROM sale HAVING count(*) > 100;

SELECT sum(amount) + 1, sum(amount) * 2 FROM sale HAVING count(*) < 100;
--> 16|30

SELECT count(DISTINCT product), count(DISTINCT city), sum(DISTINCT price) FROM sale;
--> 2|2|3.75

SELECT string_agg(product, ',' ORDER BY id DESC), string_agg(DISTINCT product, '+') FROM sale;
--> tea,tea,jam,tea,jam,tea|jam+tea

SELECT count(*) FILTER (WHERE amount > 2), sum(amount) FILTER (WHERE city IS NULL) FROM sale;
--> 3|7

SELECT amount % 2 AS odd, count(*) FROM sale GROUP BY amount % 2 ORDER BY odd;
--> 0|2
--> 1|3
--> ~|1

SELECT length(city) + 1, count(*) FROM sale GROUP BY length(city) ORDER BY 1;
--> 5|4
--> ~|2

SELECT DISTINCT city FROM sale ORDER BY city;
--> oslo
--> rome
--> ~

SELECT DISTINCT city, product FROM sale ORDER BY product, city DESC;
--> ~|jam
--> rome|jam
--> ~|tea
--> rome|tea
--> oslo|tea

SELECT DISTINCT price FROM sale ORDER BY price;
--> 1.50
--> 2.25
--> ~

SELECT DISTINCT count(*) FROM sale GROUP BY city;
--> 2

SELECT DISTINCT product FROM sale ORDER BY product LIMIT 1;
--> jam

SELECT bool_and(amount > 0), bool_or(amount > 4), bool_and(amount > 1) FROM sale;
--> t|t|f

SELECT max(s) FROM (SELECT sum(amount) AS s FROM sale GROUP BY city) x;
--> 7

SELECT city, max(amount) FROM sale GROUP BY 1 ORDER BY max(amount) DESC, 1;
--> ~|5
--> oslo|4
--> rome|3

SELECT id FROM sale UNION SELECT amount FROM sale ORDER BY 1;
--> 1
--> 2
--> 3
--> 4
--> 5
--> 6
--> ~

SELECT product FROM sale WHERE city = 'rome' UNION ALL SELECT product FROM sale WHERE city = 'oslo' ORDER BY 1;
--> jam
--> tea
--> tea
--> tea

SELECT id FROM sale INTERSECT SELECT amount FROM sale ORDER BY 1;
--> 1
--> 2
--> 3
--> 4
--> 5

SELECT id FROM sale EXCEPT SELECT amount FROM sale ORDER BY 1;
--> 6

SELECT product FROM sale EXCEPT ALL SELECT 'tea' ORDER BY 1;
--> jam
--> jam
--> tea
--> tea
--> tea

SELECT product FROM sale INTERSECT ALL (VALUES ('tea'), ('tea'), ('rum')) ORDER BY 1;
--> tea
--> tea

SELECT 1 UNION ALL SELECT 1 UNION SELECT 2 ORDER BY 1;
--> 1
--> 2

SELECT NULL::int UNION SELECT NULL;
--> ~

SELECT 1 UNION SELECT 2.5 ORDER BY 1;
--> 1
--> 2.5

(SELECT id FROM sale ORDER BY id DESC LIMIT 2) UNION ALL (SELECT id FROM sale ORDER BY id LIMIT 1);
--> 6
--> 5
--> 1

SELECT x FROM (SELECT 1 AS x UNION ALL SELECT 2) u WHERE x > 1;
--> 2

SELECT avg(price), sum(price) / count(*) FROM sale WHERE price IS NOT NULL;
--> 1.8000000000000000|1.8000000000000000

SELECT sum(amount) / 0 FROM sale;
--> ERROR 22012: division by zero

SELECT city, sum(sum(amount)) FROM sale GROUP BY city;
--> ERROR 42803: aggregate function calls cannot be nested

SELECT 1 / (amount - amount) FROM sale WHERE amount > 100;

SELECT 1 FROM sale GROUP BY ();
--> 1

-- Entries: created to test our two approaches for hashing the database; ours: 20,000 rows, every third statement on a row of all.
CREATE TABLE entry (id int PRIMARY KEY, value int, note text);
INSERT INTO entry SELECT i, 0, 'entry ' || i FROM generate_series(1, 20000) AS g(i);

--@ thread t1
INSERT INTO entry VALUES (100000, 0, 'new');
UPDATE entry SET value = 1 WHERE id = 2;
SELECT note FROM entry WHERE id = 100000;
INSERT INTO entry VALUES (100003, 3, 'new');
UPDATE entry SET value = 1 WHERE id = 5;
SELECT note FROM entry WHERE id = 100003;

--@ thread t2
INSERT INTO entry VALUES (200000, 0, 'new');
UPDATE entry SET value = 2 WHERE id = 2;
SELECT note FROM entry WHERE id = 200000;
INSERT INTO entry VALUES (200003, 3, 'new');
UPDATE entry SET value = 2 WHERE id = 5;
SELECT note FROM entry WHERE id = 200003;

--@ thread t3
INSERT INTO entry VALUES (300000, 0, 'new');
UPDATE entry SET value = 3 WHERE id = 2;
SELECT note FROM entry WHERE id = 300000;
INSERT INTO entry VALUES (300003, 3, 'new');
UPDATE entry SET value = 3 WHERE id = 5;
SELECT note FROM entry WHERE id = 300003;

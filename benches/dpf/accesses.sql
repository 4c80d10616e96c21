-- Accesses: many SQL operations, independent and dependent; ours: mostly on keys of a thread's own, one on a shared row.
CREATE TABLE item (id int PRIMARY KEY, price int, stock int);
INSERT INTO item VALUES (0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0);
CREATE TABLE log (id int PRIMARY KEY, item int, note text);

--@ thread t1
SELECT price, stock FROM item WHERE id = 1;
UPDATE item SET stock = 1 WHERE id = 1;
INSERT INTO log VALUES (102, 1, 'note');
SELECT note FROM log WHERE item = 1;
DELETE FROM log WHERE id = 102;
UPDATE item SET price = 1 WHERE id = 0;
UPDATE item SET stock = 6 WHERE id = 1;
INSERT INTO log VALUES (107, 1, 'note');
SELECT note FROM log WHERE item = 1;
DELETE FROM log WHERE id = 107;

--@ thread t2
SELECT price, stock FROM item WHERE id = 2;
UPDATE item SET stock = 1 WHERE id = 2;
INSERT INTO log VALUES (202, 2, 'note');
SELECT note FROM log WHERE item = 2;
DELETE FROM log WHERE id = 202;
SELECT price FROM item WHERE id = 0;
UPDATE item SET stock = 6 WHERE id = 2;
INSERT INTO log VALUES (207, 2, 'note');
SELECT note FROM log WHERE item = 2;
DELETE FROM log WHERE id = 207;

--@ thread t3
SELECT price, stock FROM item WHERE id = 3;
UPDATE item SET stock = 1 WHERE id = 3;
INSERT INTO log VALUES (302, 3, 'note');
SELECT note FROM log WHERE item = 3;
DELETE FROM log WHERE id = 302;
UPDATE item SET price = 3 WHERE id = 0;
UPDATE item SET stock = 6 WHERE id = 3;
INSERT INTO log VALUES (307, 3, 'note');
SELECT note FROM log WHERE item = 3;
DELETE FROM log WHERE id = 307;

--@ thread t4
SELECT price, stock FROM item WHERE id = 4;
UPDATE item SET stock = 1 WHERE id = 4;
INSERT INTO log VALUES (402, 4, 'note');
SELECT note FROM log WHERE item = 4;
DELETE FROM log WHERE id = 402;
SELECT price FROM item WHERE id = 0;
UPDATE item SET stock = 6 WHERE id = 4;
INSERT INTO log VALUES (407, 4, 'note');
SELECT note FROM log WHERE item = 4;
DELETE FROM log WHERE id = 407;

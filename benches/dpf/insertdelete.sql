-- InsertDelete: created to test the (I,D) dependency; ours: one inserts the rows that the other deletes.
CREATE TABLE entry (id int PRIMARY KEY, value int);

--@ thread t1
INSERT INTO entry VALUES (0, 0);
INSERT INTO entry VALUES (1, 1);
INSERT INTO entry VALUES (2, 2);
INSERT INTO entry VALUES (3, 3);

--@ thread t2
DELETE FROM entry WHERE id = 0;
DELETE FROM entry WHERE id = 1;
DELETE FROM entry WHERE id = 2;
DELETE FROM entry WHERE id = 3;

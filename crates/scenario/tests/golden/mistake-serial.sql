-- A word of earlier versions: the message says what to write.
CREATE TABLE t (id int PRIMARY KEY);
--@ option serial outcome
--@ thread a
SELECT * FROM t;

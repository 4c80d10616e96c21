--@ thread a
CREATE TABLE t (x int PRIMARY KEY);

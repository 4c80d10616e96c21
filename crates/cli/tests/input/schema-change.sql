--@ thread a
CREATE TABLE t (n int);

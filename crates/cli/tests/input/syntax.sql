CREATE TABLE t (n int);

--@ thread a
SELEC n FROM t;

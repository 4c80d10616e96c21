-- The first statement fails before anybody could come between.
CREATE TABLE t (x int);
--@ thread a
SELECT 1 / 0;
--@ thread b
SELECT x FROM t;

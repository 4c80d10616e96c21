CREATE TABLE t (n int);

--@ thread a
SELECT n AS old FROM t \gset
UPDATE t SET n = :odl;

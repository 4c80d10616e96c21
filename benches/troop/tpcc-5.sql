-- TrOOP's client tpcc-5, written by benches/src/troop.
\ir tpcc.sql

--@ thread s1
CALL create_new_order(1, 1, 87765, 123, 0);
CALL create_new_order(1, 0, 87765, 234, 1);
CALL delivery(1);

--@ thread s2
CALL delivery(1);
CALL delivery(1);
CALL create_new_order(1, 0, 87765, 77, 0);

--@ thread s3
CALL create_new_order(1, 0, 87765, 77, 0);
CALL delivery(1);
CALL create_new_order(1, 0, 87765, 123, 0);

-- TrOOP's client tpcc-4, written by benches/src/troop.
\ir tpcc.sql

--@ thread s1
CALL payment_by_name(1, 1, 'Chikilicuatre', 10);
CALL payment(0, 1, 33496, 20);
CALL payment_by_name(1, 1, 'Noether', 30);

--@ thread s2
CALL payment_by_name(1, 1, 'Chikilicuatre', 10);
CALL payment(0, 1, 33496, 20);
CALL payment_by_name(1, 1, 'Noether', 30);

--@ thread s3
CALL payment_by_name(1, 1, 'Chikilicuatre', 10);
CALL payment(0, 1, 33496, 20);
CALL payment_by_name(1, 1, 'Noether', 30);

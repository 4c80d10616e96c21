-- TrOOP's client tpcc-2, written by benches/src/troop.
\ir tpcc.sql

--@ thread s1
CALL stock_level(0, 1);
CALL order_status(0, 1, 'Patin Piti');
CALL create_new_order(1, 1, 3322466, 234, 1);

--@ thread s2
CALL payment_by_name(1, 1, 'Noether', 10);
CALL delivery(1);
CALL stock_level(1, 1);

--@ thread s3
CALL payment_by_name(1, 1, 'Chikilicuatre', 20);
CALL stock_level(1, 1);
CALL delivery(1);

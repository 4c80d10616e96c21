-- TrOOP's client tpcc-1, written by benches/src/troop.
\ir tpcc.sql

--@ thread s1
CALL stock_level(0, 1);
CALL order_status(0, 1, 'Patin Piti');
CALL create_new_order(1, 1, 3322466, 666, 1);

--@ thread s2
CALL payment_by_name(1, 1, 'Chikilicuatre', 10);
CALL stock_level(1, 1);
CALL delivery(1);

--@ thread s3
CALL delivery(0);
CALL payment(0, 1, 33496, 20);
CALL stock_level(0, 1);

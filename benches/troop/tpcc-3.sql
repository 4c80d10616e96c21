-- TrOOP's client tpcc-3, written by benches/src/troop.
\ir tpcc.sql

--@ thread s1
CALL payment(1, 1, 20027, 10);
CALL stock_level(1, 1);
CALL delivery(1);

--@ thread s2
CALL payment(1, 1, 20027, 20);
CALL stock_level(1, 1);
CALL delivery(1);

--@ thread s3
CALL stock_level(0, 1);
CALL order_status(0, 1, 'Patin Piti');
CALL create_new_order(1, 1, 3322466, 123, 0);

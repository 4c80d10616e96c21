-- TrOOP's client cart-5, written by benches/src/troop.
\ir cart.sql

--@ thread s1
CALL remove_item(7);
CALL add_item(6);
CALL change_quantity(6, 2);

--@ thread s2
CALL change_quantity(6, 10);
CALL change_quantity(7, 0);
CALL change_quantity(6, 0);

--@ thread s3
CALL remove_item(6);
CALL add_item(7);
CALL change_quantity(7, 2);

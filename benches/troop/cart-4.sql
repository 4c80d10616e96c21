-- TrOOP's client cart-4, written by benches/src/troop.
\ir cart.sql

--@ thread s1
CALL add_item(6);
CALL remove_item(6);
CALL change_quantity(6, 0);

--@ thread s2
CALL add_item(6);
CALL remove_item(6);
CALL change_quantity(6, 100);

--@ thread s3
CALL add_item(6);
CALL remove_item(6);
CALL change_quantity(6, 200);

-- TrOOP's client cart-3, written by benches/src/troop.
\ir cart.sql

--@ thread s1
CALL remove_item(6);
CALL change_quantity(6, 10);
CALL get_item(6);

--@ thread s2
CALL add_item(6);
CALL change_quantity(6, 0);
CALL get_item(6);

--@ thread s3
CALL get_item(6);
CALL change_quantity(6, 30);
CALL get_list();

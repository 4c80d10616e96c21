-- TrOOP's client cart-2, written by benches/src/troop.
\ir cart.sql

--@ thread s1
CALL remove_item(0);
CALL get_quantity(2);
CALL change_quantity(1, 18);

--@ thread s2
CALL change_quantity(1, 10);
CALL get_item(1);
CALL add_item(6);

--@ thread s3
CALL add_item(5, 3);
CALL get_list();
CALL change_quantity(6, 666);

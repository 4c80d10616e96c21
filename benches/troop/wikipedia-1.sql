-- TrOOP's client wikipedia-1, written by benches/src/troop.
\ir wikipedia.sql

--@ thread s1
CALL remove_watch(111, 0, 'Paris');
CALL get_page_authenticated(2324, 0, 'Paris');
CALL update_page(2324, 0, 'Rome');

--@ thread s2
CALL add_watch(68, 0, 'Paris');
CALL get_page_authenticated(777, 0, 'Athens');
CALL add_watch(68, 1, 'Rome');

--@ thread s3
CALL update_page(2324, 0, 'Paris');
CALL get_page_anonymous(0, 'Paris');
CALL add_watch(2324, 0, 'Paris');

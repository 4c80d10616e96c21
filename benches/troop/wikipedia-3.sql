-- TrOOP's client wikipedia-3, written by benches/src/troop.
\ir wikipedia.sql

--@ thread s1
CALL remove_watch(777, 0, 'Athens');
CALL remove_watch(111, 0, 'Lisbon');
CALL get_page_anonymous(0, 'Lisbon');

--@ thread s2
CALL update_page(2324, 0, 'Paris');
CALL get_page_anonymous(0, 'Paris');
CALL add_watch(2324, 0, 'Paris');

--@ thread s3
CALL add_watch(68, 0, 'Paris');
CALL get_page_authenticated(777, 0, 'Athens');
CALL add_watch(68, 1, 'Rome');

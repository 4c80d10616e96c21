-- TrOOP's client wikipedia-2, written by benches/src/troop.
\ir wikipedia.sql

--@ thread s1
CALL remove_watch(111, 0, 'Madrid');
CALL add_watch(111, 1, 'Lisbon');
CALL update_page(2324, 1, 'Lisbon');

--@ thread s2
CALL get_page_authenticated(68, 0, 'Madrid');
CALL add_watch(2324, 0, 'Paris');
CALL update_page(2324, 0, 'Paris');

--@ thread s3
CALL update_page(2324, 0, 'Paris');
CALL get_page_anonymous(1, 'Lisbon');
CALL add_watch(1, 0, 'Paris');

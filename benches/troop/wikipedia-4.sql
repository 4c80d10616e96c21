-- TrOOP's client wikipedia-4, written by benches/src/troop.
\ir wikipedia.sql

--@ thread s1
CALL update_page(2324, 0, 'Paris');
CALL get_page_authenticated(2324, 1, 'Paris');
CALL get_page_authenticated(68, 0, 'Madrid');

--@ thread s2
CALL update_page(2324, 0, 'Paris');
CALL get_page_authenticated(111, 0, 'Lisbon');
CALL get_page_authenticated(2324, 1, 'Paris');

--@ thread s3
CALL update_page(2324, 0, 'Paris');
CALL get_page_anonymous(0, 'Paris');
CALL get_page_anonymous(0, 'Athens');

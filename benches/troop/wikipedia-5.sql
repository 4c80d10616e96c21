-- TrOOP's client wikipedia-5, written by benches/src/troop.
\ir wikipedia.sql

--@ thread s1
CALL add_watch(2324, 0, 'Paris');
CALL add_watch(111, 0, 'Paris');
CALL add_watch(777, 0, 'Paris');

--@ thread s2
CALL remove_watch(2324, 0, 'Paris');
CALL add_watch(2324, 0, 'Paris');
CALL remove_watch(2324, 0, 'Paris');

--@ thread s3
CALL add_watch(777, 0, 'Paris');
CALL remove_watch(777, 0, 'Paris');
CALL add_watch(777, 0, 'Paris');

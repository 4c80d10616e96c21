-- Set-up may use variables too, and threads start with them. The table comes from another file.
\i schema.inc
INSERT INTO item (name) VALUES ('lamp') RETURNING id AS lamp \gset
INSERT INTO item (name) VALUES (:'lamp');
--@ thread a
SELECT name FROM item WHERE id = :lamp;
CALL rename(:lamp, 'light');
--@ thread b
CALL rename(:lamp, 'torch');

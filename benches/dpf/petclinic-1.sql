-- Two users look at an owner and a pet and delete the pet; a third adds a visit, a fourth edits the owner. Each request
-- is a few statements, each a transaction. Ours, after the paper's description: its test cases are not published.
\ir petclinic.sql

--@ thread first
SELECT * FROM owners WHERE last_name LIKE 'Coleman%';
SELECT * FROM owners WHERE id = 6;
SELECT * FROM pets WHERE owner_id = 6;
SELECT * FROM visits WHERE pet_id = 7;
SELECT * FROM types;
SELECT * FROM pets WHERE id = 7;
DELETE FROM pets WHERE id = 7;
SELECT * FROM pets WHERE owner_id = 6;

--@ thread second
SELECT * FROM owners WHERE last_name LIKE 'Coleman%';
SELECT * FROM owners WHERE id = 6;
SELECT * FROM pets WHERE owner_id = 6;
SELECT * FROM visits WHERE pet_id = 7;
SELECT * FROM types;
SELECT * FROM pets WHERE id = 7;
DELETE FROM pets WHERE id = 7;
SELECT * FROM pets WHERE owner_id = 6;

--@ thread visitor
SELECT * FROM vets;
SELECT * FROM vet_specialties;
SELECT * FROM pets WHERE id = 8;
SELECT * FROM visits WHERE pet_id = 8;
INSERT INTO visits VALUES (5, 8, '2013-03-16', 'spayed');
SELECT * FROM visits WHERE pet_id = 8;

--@ thread editor
SELECT * FROM owners WHERE id = 6;
UPDATE owners SET telephone = '6085550000' WHERE id = 6;
SELECT * FROM owners WHERE id = 6;
SELECT * FROM types;
INSERT INTO pets VALUES (14, 'Bella', '2012-05-01', 2, 3);
SELECT * FROM pets WHERE owner_id = 3;

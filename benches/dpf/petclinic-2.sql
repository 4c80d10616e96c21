-- PetClinic with Hibernate: the handler that deletes a pet first reads it, and the two statements are not one. Ours, after
-- the paper's description.
\ir petclinic.sql

--@ thread first
SELECT * FROM owners WHERE id = 6;
SELECT * FROM pets WHERE owner_id = 6;
SELECT * FROM pets WHERE id = 7;
SELECT * FROM visits WHERE pet_id = 7;
DELETE FROM visits WHERE pet_id = 7;
DELETE FROM pets WHERE id = 7;

--@ thread second
SELECT * FROM owners WHERE id = 6;
SELECT * FROM pets WHERE owner_id = 6;
SELECT * FROM pets WHERE id = 7;
SELECT * FROM visits WHERE pet_id = 7;
DELETE FROM visits WHERE pet_id = 7;
DELETE FROM pets WHERE id = 7;

--@ thread reader
SELECT * FROM vets;
SELECT * FROM owners WHERE last_name LIKE 'Estaban%';
SELECT * FROM pets WHERE owner_id = 10;
UPDATE pets SET name = 'Slyboots' WHERE id = 13;
SELECT * FROM pets WHERE owner_id = 10;

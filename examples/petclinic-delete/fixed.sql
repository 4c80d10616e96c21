-- Deleting what is already gone is a success: the user wanted it gone.
CREATE TABLE owner (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE pet (id int PRIMARY KEY, name text NOT NULL, owner_id int NOT NULL REFERENCES owner);
CREATE TABLE visit (pet_id int NOT NULL REFERENCES pet ON DELETE CASCADE, reason text NOT NULL);
INSERT INTO owner VALUES (6, 'Jean Coleman');
INSERT INTO pet VALUES (7, 'Samantha', 6), (8, 'Max', 6);
INSERT INTO visit VALUES (7, 'rabies shot'), (8, 'neutered');

CREATE PROCEDURE delete_pet(given int) LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM pet WHERE id = given;
END $$;

--@ thread receptionist
CALL delete_pet(7);

--@ thread vet
CALL delete_pet(7);

--@ final only_max_is_left
SELECT count(*) = 1 AND min(name) = 'Max' FROM pet;

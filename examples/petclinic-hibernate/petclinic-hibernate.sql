-- The handler loads the pet, then deletes it; between the two it vanishes. The story is in README.md.
CREATE TABLE pet (id int PRIMARY KEY, name text NOT NULL);
INSERT INTO pet VALUES (7, 'Samantha'), (8, 'Max');

CREATE PROCEDURE delete_pet(given int) LANGUAGE plpgsql AS $$
DECLARE pet_name text;
BEGIN
  SELECT name INTO pet_name FROM pet WHERE id = given;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  DELETE FROM pet WHERE id = given;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'Batch update returned unexpected row count: 0';
  END IF;
END $$;

--@ thread receptionist
CALL delete_pet(7);

--@ thread vet
CALL delete_pet(7);

--@ final only_max_is_left
SELECT count(*) = 1 AND min(name) = 'Max' FROM pet;

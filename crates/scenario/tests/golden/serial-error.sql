-- The error needs no race: deleting twice fails in any order.
CREATE TABLE pet (id int PRIMARY KEY, name text NOT NULL);
INSERT INTO pet VALUES (7, 'Samantha');
CREATE PROCEDURE delete_pet(given int) LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM pet WHERE id = given;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'Pet with id % not found', given;
  END IF;
END $$;
--@ thread nurse
CALL delete_pet(7);
--@ thread vet
CALL delete_pet(7);

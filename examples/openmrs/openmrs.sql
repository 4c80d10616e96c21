-- A concept class is saved by one user after another has deleted it. The story is in README.md.
CREATE TABLE concept_class (id int PRIMARY KEY, name text NOT NULL, description text NOT NULL);
INSERT INTO concept_class VALUES (1, 'Test', 'Acq. during patient encounter'), (3, 'Drug', 'Drug');

CREATE PROCEDURE save_concept_class(given int, new_name text) LANGUAGE plpgsql AS $$
DECLARE old_name text;
BEGIN
  SELECT name INTO old_name FROM concept_class WHERE id = given;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'No row with the given identifier exists: ConceptClass#%', given;
  END IF;
  UPDATE concept_class SET name = new_name WHERE id = given;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'Row was updated or deleted by another transaction: ConceptClass#%', given;
  END IF;
END $$;

CREATE PROCEDURE delete_concept_class(given int) LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM concept_class WHERE id = given;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'No row with the given identifier exists: ConceptClass#%', given;
  END IF;
END $$;

--@ thread editor
CALL save_concept_class(1, 'Laboratory test');

--@ thread deleter
CALL delete_concept_class(1);

--@ final drug_is_left
SELECT count(*) = 1 AND min(name) = 'Drug' FROM concept_class;

-- The row is locked as it is loaded, and a row that is gone is told to the user, not thrown at her.
CREATE TABLE concept_class (id int PRIMARY KEY, name text NOT NULL, description text NOT NULL);
INSERT INTO concept_class VALUES (1, 'Test', 'Acq. during patient encounter'), (3, 'Drug', 'Drug');

CREATE PROCEDURE save_concept_class(given int, new_name text) LANGUAGE plpgsql AS $$
DECLARE old_name text;
BEGIN
  SELECT name INTO old_name FROM concept_class WHERE id = given FOR UPDATE;
  IF NOT FOUND THEN
    RAISE NOTICE 'ConceptClass#% has been deleted meanwhile', given;
    RETURN;
  END IF;
  UPDATE concept_class SET name = new_name WHERE id = given;
END $$;

CREATE PROCEDURE delete_concept_class(given int) LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM concept_class WHERE id = given;
  IF NOT FOUND THEN
    RAISE NOTICE 'ConceptClass#% has been deleted meanwhile', given;
  END IF;
END $$;

--@ thread editor
CALL save_concept_class(1, 'Laboratory test');

--@ thread deleter
CALL delete_concept_class(1);

--@ final drug_is_left
SELECT count(*) = 1 AND min(name) = 'Drug' FROM concept_class;

-- A project is deleted while a task is added to it.
CREATE TABLE project (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE task (id int PRIMARY KEY, project_id int NOT NULL, title text NOT NULL);
INSERT INTO project VALUES (1, 'moon');

CREATE PROCEDURE add_task(new_id int, given int, title text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM id FROM project WHERE id = given;
  IF FOUND THEN
    INSERT INTO task VALUES (new_id, given, title);
  END IF;
END $$;

CREATE PROCEDURE delete_project(given int) LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM task WHERE project_id = given;
  DELETE FROM project WHERE id = given;
END $$;

--@ thread adder
CALL add_task(7, 1, 'land');

--@ thread deleter
CALL delete_project(1);

--@ invariant no_orphans
SELECT NOT EXISTS (SELECT id FROM task WHERE project_id NOT IN (SELECT id FROM project));

-- EPOR's employee system: the table and the two operations that the paper prints, statements as transactions of their own.
-- The fourth employee, and the bonus for one place, are ours: without them no more than three operations are independent.
CREATE TABLE company (id int PRIMARY KEY, name text, location text, salary int);
INSERT INTO company VALUES
  (1, 'Bill', 'California', 16000), (2, 'Bob', 'Texas', 10500), (3, 'Alice', 'Norway', 14000), (4, 'Sana', 'Punjab', 15000);

-- The first employee below the limit gets what was read, and the bonus.
CREATE PROCEDURE add_bonus(max_salary int, bonus int) LANGUAGE plpgsql AS $$
DECLARE
  employee int;
  earns int;
BEGIN
  SELECT id, salary INTO employee, earns FROM company WHERE salary < max_salary ORDER BY id;
  IF FOUND THEN
    UPDATE company SET salary = earns + bonus WHERE id = employee;
  END IF;
END $$;

CREATE PROCEDURE add_bonus_at(place text, max_salary int, bonus int) LANGUAGE plpgsql AS $$
DECLARE
  employee int;
  earns int;
BEGIN
  SELECT id, salary INTO employee, earns FROM company WHERE location = place AND salary < max_salary ORDER BY id;
  IF FOUND THEN
    UPDATE company SET salary = earns + bonus WHERE id = employee;
  END IF;
END $$;

CREATE PROCEDURE update_salary(increment int, place text) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE company SET salary = salary + increment WHERE location = place;
END $$;

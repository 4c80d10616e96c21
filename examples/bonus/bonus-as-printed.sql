-- EPOR's employee example, input 2 exactly as printed: the limit of 10000 selects nobody. See README.md.
-- Table Ia of the paper.
CREATE TABLE company (id int PRIMARY KEY, name text NOT NULL, location text NOT NULL, salary int NOT NULL);
INSERT INTO company VALUES
  (1, 'Bill', 'California', 16000),
  (2, 'Bob', 'Texas', 10500),
  (3, 'Alice', 'Norway', 14000);

-- Fig. 1: the first employee below the limit gets the bonus. The program computes the new salary.
CREATE PROCEDURE add_bonus(max_salary int, bonus int) LANGUAGE plpgsql AS $$
DECLARE
  employee int;
  new_salary int;
BEGIN
  SELECT id, salary INTO employee, new_salary FROM company WHERE salary < max_salary;
  IF FOUND THEN
    new_salary := new_salary + bonus;
    UPDATE company SET salary = new_salary WHERE id = employee;
  END IF;
END $$;

-- Fig. 2: everybody at a place gets the increment. The database computes the new salary.
CREATE PROCEDURE update_salary(increment int, place text) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE company SET salary = salary + increment WHERE location = place;
END $$;

--@ thread bonus autocommit
CALL add_bonus(10000, 500);

--@ thread raise autocommit
CALL update_salary(2000, 'California');

-- Not Table Id: Bob earns 10500, which is not below 10000, and keeps it.
--@ final bob_gets_no_bonus
SELECT count(*) = 3 FROM company
WHERE (id = 1 AND name = 'Bill' AND location = 'California' AND salary = 18000)
   OR (id = 2 AND name = 'Bob' AND location = 'Texas' AND salary = 10500)
   OR (id = 3 AND name = 'Alice' AND location = 'Norway' AND salary = 14000);

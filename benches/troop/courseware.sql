-- Courseware: students enrol in courses, which hold so many. Only student 1 is not registered yet; course 6 is closed.
CREATE TABLE student (id int PRIMARY KEY, name text NOT NULL, registered boolean NOT NULL);
CREATE TABLE course (id int PRIMARY KEY, name text NOT NULL, open boolean NOT NULL, capacity int NOT NULL);
CREATE TABLE enrollment (course int, student int, PRIMARY KEY (course, student));
INSERT INTO student SELECT i, 'student ' || i, i <> 1 FROM generate_series(0, 7) AS g(i);
INSERT INTO course VALUES
  (1, 'databases', true, 1), (2, 'logic', true, 2), (3, 'compilers', true, 3),
  (4, 'algebra', true, 3), (5, 'music', true, 3), (6, 'latin', false, 3);

-- Where the original aborts, nothing has been written yet: RETURN comes to the same.
CREATE PROCEDURE enroll(s int, c int) LANGUAGE plpgsql AS $$
DECLARE
  who student;
  what course;
  taken int;
BEGIN
  SELECT * INTO who FROM student WHERE id = s;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT * INTO what FROM course WHERE id = c;
  IF NOT FOUND THEN RETURN; END IF;
  IF NOT who.registered AND what.open THEN
    SELECT count(*) INTO taken FROM enrollment WHERE course = c;
    IF taken < what.capacity THEN
      INSERT INTO enrollment VALUES (c, s) ON CONFLICT DO NOTHING;
    END IF;
  END IF;
END $$;

CREATE PROCEDURE get_enrollments() LANGUAGE plpgsql AS $$
BEGIN
  PERFORM course, student FROM enrollment;
END $$;

CREATE PROCEDURE open_course(c int) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM * FROM course WHERE id = c;
  IF FOUND THEN
    UPDATE course SET open = true WHERE id = c;
  END IF;
END $$;

CREATE PROCEDURE close_course(c int) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM * FROM course WHERE id = c;
  IF FOUND THEN
    UPDATE course SET open = false WHERE id = c;
  END IF;
END $$;

CREATE PROCEDURE delete_course(c int) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM * FROM course WHERE id = c;
  IF FOUND THEN
    UPDATE course SET open = false WHERE id = c;
  END IF;
  DELETE FROM course WHERE id = c;
  DELETE FROM enrollment WHERE course = c;
END $$;

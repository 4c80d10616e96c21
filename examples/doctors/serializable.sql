-- The procedure as it was, at SERIALIZABLE: PostgreSQL notices that each read what the other writes, and one tries again.
CREATE TABLE doctor (name text PRIMARY KEY, on_call boolean NOT NULL);
INSERT INTO doctor VALUES ('alice', true), ('bob', true);

CREATE PROCEDURE leave(who text) LANGUAGE plpgsql AS $$
DECLARE remaining int;
BEGIN
  SELECT count(*) INTO remaining FROM doctor WHERE on_call;
  IF remaining >= 2 THEN
    UPDATE doctor SET on_call = false WHERE name = who;
  END IF;
END $$;

--@ thread alice isolation serializable retry 1
CALL leave('alice');

--@ thread bob isolation serializable retry 1
CALL leave('bob');

--@ invariant someone_on_call
SELECT count(*) >= 1 FROM doctor WHERE on_call;

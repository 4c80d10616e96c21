-- The rows counted are locked first, in one order. Whoever comes second is refused by repeatable read and tries again.
CREATE TABLE doctor (name text PRIMARY KEY, on_call boolean NOT NULL);
INSERT INTO doctor VALUES ('alice', true), ('bob', true);

CREATE PROCEDURE leave(who text) LANGUAGE plpgsql AS $$
DECLARE remaining int;
BEGIN
  PERFORM name FROM doctor WHERE on_call ORDER BY name FOR UPDATE;
  SELECT count(*) INTO remaining FROM doctor WHERE on_call;
  IF remaining >= 2 THEN
    UPDATE doctor SET on_call = false WHERE name = who;
  END IF;
END $$;

--@ thread alice isolation repeatable read retry 1
CALL leave('alice');

--@ thread bob isolation repeatable read retry 1
CALL leave('bob');

--@ invariant someone_on_call
SELECT count(*) >= 1 FROM doctor WHERE on_call;

-- The check does not see the other's insert; the constraint does.
CREATE TABLE person (email text PRIMARY KEY);
CREATE PROCEDURE register(address text) LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM person WHERE email = address) THEN
    INSERT INTO person VALUES (address);
  END IF;
END $$;
--@ thread first
CALL register('eve@example.org');
--@ thread second
CALL register('eve@example.org');

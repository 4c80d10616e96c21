-- The assertion holds in every serial order, and fails when both take before either looks.
CREATE TABLE stock (n int NOT NULL);
INSERT INTO stock VALUES (2);
CREATE PROCEDURE take() LANGUAGE plpgsql AS $$
DECLARE before int; after int;
BEGIN
  SELECT n INTO before FROM stock;
  UPDATE stock SET n = n - 1 RETURNING n INTO after;
  ASSERT after = before - 1, 'somebody else took one';
END $$;

--@ thread a
CALL take();
--@ thread b
CALL take();

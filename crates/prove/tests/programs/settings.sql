CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
CREATE TABLE setting (id int PRIMARY KEY, fee int NOT NULL);

-- Two rows of another table than the rule's: what was read of the first says nothing about the second.
CREATE PROCEDURE two_settings(a int, b int, n int) LANGUAGE plpgsql AS $$
DECLARE first int; second int;
BEGIN
  SELECT fee INTO first FROM setting WHERE id = a;
  FOR i IN 1..n LOOP
    SELECT fee INTO second FROM setting WHERE id = b;
    IF first <> second THEN
      UPDATE account SET balance = -1;
    END IF;
  END LOOP;
END $$;

-- The same after so many rounds that nobody writes them out.
CREATE PROCEDURE late(a int, b int) LANGUAGE plpgsql AS $$
DECLARE first int; second int;
BEGIN
  SELECT fee INTO first FROM setting WHERE id = a;
  FOR i IN 1..5 LOOP
    SELECT fee INTO second FROM setting WHERE id = b;
    IF first <> second AND i = 5 THEN
      UPDATE account SET balance = -1;
    END IF;
  END LOOP;
END $$;

--@ rule not_negative
SELECT balance >= 0 FROM account;
--! two_settings not_negative unsafe
--! late not_negative unsafe

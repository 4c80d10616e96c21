CREATE TABLE customer (id int PRIMARY KEY);
CREATE TABLE purchase (id int PRIMARY KEY, customer int NOT NULL, open boolean NOT NULL);
CREATE TABLE owner (id int PRIMARY KEY);
CREATE TABLE pet (id int PRIMARY KEY, owner int NOT NULL REFERENCES owner ON DELETE CASCADE);
CREATE TABLE toy (id int PRIMARY KEY, pet int REFERENCES pet ON DELETE SET NULL);

CREATE PROCEDURE remove_both(c int) LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM purchase WHERE customer = c;
  DELETE FROM customer WHERE id = c;
END $$;

CREATE PROCEDURE remove_open(c int) LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM purchase WHERE customer = c AND open;
  DELETE FROM customer WHERE id = c;
END $$;

CREATE PROCEDURE remove_owner(o int) LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM owner WHERE id = o;
END $$;

CREATE PROCEDURE buy(p int, c int) LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM customer WHERE id = c) THEN
    INSERT INTO purchase VALUES (p, c, true);
  END IF;
END $$;

CREATE PROCEDURE buy_unchecked(p int, c int) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO purchase VALUES (p, c, true);
END $$;

--@ rule has_customer
SELECT NOT EXISTS (SELECT 1 FROM purchase p WHERE NOT EXISTS (SELECT 1 FROM customer c WHERE c.id = p.customer));
--@ rule has_owner
SELECT NOT EXISTS (SELECT 1 FROM pet p WHERE NOT EXISTS (SELECT 1 FROM owner o WHERE o.id = p.owner));
--@ rule toy_has_pet
SELECT pet IS NULL OR pet IN (SELECT id FROM pet) FROM toy;
--! remove_both has_customer safe
--! remove_open has_customer unsafe
--! remove_owner has_owner safe
--! remove_owner toy_has_pet safe
--! buy has_customer safe
--! buy_unchecked has_customer unsafe

CREATE TABLE counter (name text PRIMARY KEY, n int NOT NULL);
CREATE TABLE price (item int PRIMARY KEY, cents numeric(10,2) NOT NULL, valid_from date NOT NULL, valid_to date NOT NULL);
CREATE TYPE state AS ENUM ('new', 'paid', 'sent');
CREATE TABLE parcel (id int PRIMARY KEY, st state NOT NULL, paid boolean NOT NULL);

CREATE PROCEDURE hit(c text) LANGUAGE sql AS $$
  INSERT INTO counter VALUES (c, 1) ON CONFLICT (name) DO UPDATE SET n = counter.n + 1;
$$;

CREATE PROCEDURE hit_back(c text) LANGUAGE sql AS $$
  INSERT INTO counter VALUES (c, 1) ON CONFLICT (name) DO UPDATE SET n = counter.n - excluded.n;
$$;

CREATE PROCEDURE discount(i int, p numeric) LANGUAGE plpgsql AS $$
BEGIN
  IF p < 0 OR p >= 100 THEN RAISE EXCEPTION 'no'; END IF;
  UPDATE price SET cents = cents * (100 - p) / 100 WHERE item = i;
END $$;

CREATE PROCEDURE shorten(i int, d date) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE price SET valid_to = d WHERE item = i AND d >= valid_from AND d < valid_to;
END $$;

CREATE PROCEDURE shorten_wrong(i int, d date) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE price SET valid_to = d WHERE item = i AND d < valid_to;
END $$;

CREATE PROCEDURE send(i int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE parcel SET st = 'sent' WHERE id = i AND paid;
END $$;

CREATE PROCEDURE send_new(i int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE parcel SET st = 'sent' WHERE id = i AND st < 'sent';
END $$;

--@ rule positive
SELECT n > 0 FROM counter;
--@ rule not_negative
SELECT cents >= 0 FROM price;
--@ rule in_order
SELECT valid_from <= valid_to FROM price;
--@ rule sent_is_paid
SELECT st <> 'sent' OR paid FROM parcel;
--! hit positive safe
--! hit_back positive unsafe
--! discount not_negative safe
--! shorten in_order safe
--! shorten_wrong in_order unsafe
--! send sent_is_paid safe
--! send_new sent_is_paid unsafe

-- Sums, counts and parents across loops: what a round does to the number of one arbitrary row.
CREATE TABLE orders (id int PRIMARY KEY, total bigint NOT NULL);
CREATE TABLE line (id int PRIMARY KEY, ord int NOT NULL, amount int NOT NULL);
CREATE TABLE customer (id int PRIMARY KEY);
CREATE TABLE purchase (id int PRIMARY KEY, customer int NOT NULL);
CREATE TABLE invoice (id int PRIMARY KEY, total bigint NOT NULL);
CREATE TABLE item (id int PRIMARY KEY, invoice int NOT NULL REFERENCES invoice, amount int NOT NULL);

CREATE PROCEDURE add_lines(first int, o int, amt int, k int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..k LOOP
    INSERT INTO line VALUES (first + i, o, amt);
    UPDATE orders SET total = total + amt WHERE id = o;
  END LOOP;
END $$;

CREATE PROCEDURE add_lines_wrong(first int, o int, amt int, k int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..k LOOP
    INSERT INTO line VALUES (first + i, o, amt);
  END LOOP;
  UPDATE orders SET total = total + amt WHERE id = o;
END $$;

-- The total is added up in a variable and written once.
CREATE PROCEDURE add_up(first int, o int, amt int, k int) LANGUAGE plpgsql AS $$
DECLARE more bigint := 0;
BEGIN
  FOR i IN 1..k LOOP
    INSERT INTO line VALUES (first + i, o, amt);
    more := more + amt;
  END LOOP;
  UPDATE orders SET total = total + more WHERE id = o;
END $$;

CREATE PROCEDURE drop_lines(first int, k int) LANGUAGE plpgsql AS $$
DECLARE r line%ROWTYPE;
BEGIN
  FOR i IN 1..k LOOP
    SELECT * INTO r FROM line WHERE id = first + i;
    IF FOUND THEN
      DELETE FROM line WHERE id = r.id;
      UPDATE orders SET total = total - r.amount WHERE id = r.ord;
    END IF;
  END LOOP;
END $$;

-- A new order, and its lines: without a foreign key there may be lines already.
CREATE PROCEDURE new_order(o int, first int, amt int, k int) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO orders VALUES (o, 0);
  FOR i IN 1..k LOOP
    INSERT INTO line VALUES (first + i, o, amt);
    UPDATE orders SET total = total + amt WHERE id = o;
  END LOOP;
END $$;

CREATE PROCEDURE new_invoice(o int, first int, amt int, k int) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO invoice VALUES (o, 0);
  FOR i IN 1..k LOOP
    INSERT INTO item VALUES (first + i, o, amt);
    UPDATE invoice SET total = total + amt WHERE id = o;
  END LOOP;
END $$;

CREATE PROCEDURE buy_many(first int, c int, k int) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM customer WHERE id = c;
  IF FOUND THEN
    FOR i IN 1..k LOOP
      INSERT INTO purchase VALUES (first + i, c);
    END LOOP;
  END IF;
END $$;

CREATE PROCEDURE buy_many_wrong(first int, c int, k int) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM customer WHERE id = c;
  IF FOUND THEN
    FOR i IN 1..k LOOP
      INSERT INTO purchase VALUES (first + i, c + i - 1);
    END LOOP;
  END IF;
END $$;

CREATE PROCEDURE remove_range(low int, high int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN low..high LOOP
    DELETE FROM purchase WHERE customer = i;
    DELETE FROM customer WHERE id = i;
  END LOOP;
END $$;

CREATE PROCEDURE remove_range_wrong(low int, high int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN low..high LOOP
    DELETE FROM purchase WHERE id = i;
    DELETE FROM customer WHERE id = i;
  END LOOP;
END $$;

--@ rule total_is_sum
SELECT o.total = (SELECT COALESCE(SUM(amount), 0) FROM line WHERE ord = o.id) FROM orders o;
--@ rule invoice_is_sum
SELECT total = (SELECT COALESCE(SUM(amount), 0) FROM item WHERE invoice = i.id) FROM invoice i;
--@ rule has_customer
SELECT NOT EXISTS (SELECT 1 FROM purchase p WHERE NOT EXISTS (SELECT 1 FROM customer c WHERE c.id = p.customer));
--@ rule customer_known
SELECT customer IN (SELECT id FROM customer) FROM purchase;
--! add_lines total_is_sum safe
--! add_lines_wrong total_is_sum unsafe
--! add_up total_is_sum safe
--! drop_lines total_is_sum safe
--! new_order total_is_sum unsafe
--! new_invoice invoice_is_sum safe
--! buy_many has_customer safe
--! buy_many customer_known safe
--! buy_many_wrong has_customer unsafe
--! remove_range has_customer safe
--! remove_range customer_known safe
--! remove_range_wrong has_customer unsafe

-- TPC-C: warehouses with two districts each take orders, payments and deliveries.
CREATE TABLE warehouse (w int PRIMARY KEY, name text NOT NULL, ytd int NOT NULL);
CREATE TABLE district (w int, d int, next_order int NOT NULL, ytd int NOT NULL, PRIMARY KEY (w, d));
CREATE TABLE customer (w int, d int, c int, last_name text NOT NULL, balance int NOT NULL, payments int NOT NULL,
  deliveries int NOT NULL, PRIMARY KEY (w, d, c));
CREATE TABLE new_order (w int, d int, o int, PRIMARY KEY (w, d, o));
CREATE TABLE open_order (w int, d int, o int, c int NOT NULL, carrier int, PRIMARY KEY (w, d, o));
CREATE TABLE order_line (w int, d int, o int, line int, item int NOT NULL, amount int NOT NULL,
  delivered boolean NOT NULL, PRIMARY KEY (w, d, o, line));
CREATE TABLE item (i int PRIMARY KEY, price int NOT NULL);
CREATE TABLE stock (w int, i int, quantity int NOT NULL, orders int NOT NULL, PRIMARY KEY (w, i));
CREATE TABLE history (w int NOT NULL, d int NOT NULL, c int NOT NULL, amount int NOT NULL);
INSERT INTO warehouse VALUES (0, 'north', 0), (1, 'south', 0), (2, 'west', 0);
INSERT INTO district VALUES (0, 0, 2, 0), (0, 1, 4, 0), (1, 0, 3, 0), (1, 1, 1, 0);
INSERT INTO customer VALUES
  (0, 0, 100007, 'Lovelace', 0, 0, 0), (0, 0, 635992, 'Alboran', 0, 0, 0), (0, 1, 33496, 'Patin Piti', 71, 2, 0),
  (0, 1, 2743, 'Montero', 0, 0, 0), (1, 0, 87765, 'Gjata', 0, 0, 0), (1, 0, 3412412, 'Stan', 0, 0, 0),
  (1, 0, 453546, 'Martinez', 0, 0, 0), (1, 1, 20027, 'Chikilicuatre', 0, 0, 0), (1, 1, 3322466, 'Noether', 71, 2, 0);
INSERT INTO new_order VALUES
  (0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2), (0, 1, 3), (1, 0, 0), (1, 0, 1), (1, 0, 2), (1, 1, 0);
INSERT INTO open_order VALUES
  (0, 0, 0, 100007), (0, 0, 1, 635992), (0, 1, 0, 33496), (0, 1, 1, 33496), (0, 1, 2, 2743), (0, 1, 3, 33496),
  (1, 0, 0, 87765), (1, 0, 1, 3412412), (1, 0, 2, 453546), (1, 1, 0, 3322466);
INSERT INTO order_line VALUES (0, 0, 0, 0, 42, 120, false), (0, 1, 1, 0, 27, 120, false), (1, 1, 0, 0, 234, 120, false);
INSERT INTO item VALUES
  (27, 2700), (42, 4242), (123, 1230), (666, 666), (13, 1320), (77, 7770), (991, 991), (234, 2340), (12, 12), (7, 700000),
  (87, 870), (36, 36);
INSERT INTO stock VALUES
  (0, 27, 10, 0), (1, 42, 50, 0), (0, 123, 20, 0), (1, 666, 3, 0), (0, 13, 13, 0), (1, 77, 77, 0), (0, 991, 66, 0),
  (1, 234, 28, 0);

-- One line: an item from the stock of a warehouse. All that is needed is looked up before anything is written, so that
-- RETURN comes to the same as the original's abort.
CREATE PROCEDURE create_new_order(wh int, dist int, cust int, what int, supplier int) LANGUAGE plpgsql AS $$
DECLARE
  number int;
  cost int;
  left_over int;
BEGIN
  PERFORM * FROM customer WHERE w = wh AND d = dist AND c = cust;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM name FROM warehouse WHERE w = wh;
  SELECT next_order INTO number FROM district WHERE w = wh AND d = dist FOR UPDATE;
  SELECT price INTO cost FROM item WHERE i = what;
  SELECT quantity INTO left_over FROM stock WHERE w = supplier AND i = what FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE district SET next_order = number + 1 WHERE w = wh AND d = dist;
  INSERT INTO open_order VALUES (wh, dist, number, cust);
  INSERT INTO new_order VALUES (wh, dist, number);
  INSERT INTO order_line VALUES (wh, dist, number, 0, what, cost, false);
  UPDATE stock SET quantity = left_over - 1, orders = orders + 1 WHERE w = supplier AND i = what;
END $$;

CREATE PROCEDURE payment(wh int, dist int, cust int, amount int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE warehouse SET ytd = ytd + amount WHERE w = wh;
  PERFORM name FROM warehouse WHERE w = wh;
  UPDATE district SET ytd = ytd + amount WHERE w = wh AND d = dist;
  PERFORM next_order FROM district WHERE w = wh AND d = dist;
  PERFORM * FROM customer WHERE w = wh AND d = dist AND c = cust;
  UPDATE customer SET balance = balance - amount, payments = payments + 1 WHERE w = wh AND d = dist AND c = cust;
  INSERT INTO history VALUES (wh, dist, cust, amount);
END $$;

CREATE PROCEDURE payment_by_name(wh int, dist int, who text, amount int) LANGUAGE plpgsql AS $$
DECLARE
  cust int;
BEGIN
  UPDATE warehouse SET ytd = ytd + amount WHERE w = wh;
  PERFORM name FROM warehouse WHERE w = wh;
  UPDATE district SET ytd = ytd + amount WHERE w = wh AND d = dist;
  PERFORM next_order FROM district WHERE w = wh AND d = dist;
  SELECT c INTO cust FROM customer WHERE w = wh AND d = dist AND last_name = who ORDER BY c LIMIT 1;
  UPDATE customer SET balance = balance - amount, payments = payments + 1 WHERE w = wh AND d = dist AND c = cust;
  INSERT INTO history VALUES (wh, dist, cust, amount);
END $$;

-- The newest order of both districts, as in the original (the standard delivers the oldest).
CREATE PROCEDURE delivery(wh int) LANGUAGE plpgsql AS $$
DECLARE
  number int;
  cust int;
  total int;
BEGIN
  FOR dist IN 0..1 LOOP
    SELECT max(o) INTO number FROM new_order WHERE w = wh AND d = dist;
    IF number IS NOT NULL THEN
      DELETE FROM new_order WHERE w = wh AND d = dist AND o = number;
      SELECT c INTO cust FROM open_order WHERE w = wh AND d = dist AND o = number;
      UPDATE open_order SET carrier = 7 WHERE w = wh AND d = dist AND o = number;
      UPDATE order_line SET delivered = true WHERE w = wh AND d = dist AND o = number;
      SELECT coalesce(sum(amount), 0) INTO total FROM order_line WHERE w = wh AND d = dist AND o = number;
      UPDATE customer SET balance = balance + total, deliveries = deliveries + 1 WHERE w = wh AND d = dist AND c = cust;
    END IF;
  END LOOP;
END $$;

CREATE PROCEDURE order_status(wh int, dist int, who text) LANGUAGE plpgsql AS $$
DECLARE
  cust int;
  number int;
BEGIN
  SELECT c INTO cust FROM customer WHERE w = wh AND d = dist AND last_name = who ORDER BY c LIMIT 1;
  SELECT max(o) INTO number FROM open_order WHERE w = wh AND d = dist AND c = cust;
  PERFORM * FROM order_line WHERE w = wh AND d = dist AND o = number;
END $$;

CREATE PROCEDURE stock_level(wh int, dist int) LANGUAGE plpgsql AS $$
DECLARE
  number int;
BEGIN
  SELECT next_order INTO number FROM district WHERE w = wh AND d = dist;
  PERFORM count(DISTINCT s.i) FROM order_line AS l JOIN stock AS s ON s.w = wh AND s.i = l.item
    WHERE l.w = wh AND l.d = dist AND l.o < number AND l.o >= number - 20 AND s.quantity < 20;
END $$;

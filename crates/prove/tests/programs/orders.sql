CREATE TABLE orders (id int PRIMARY KEY, total bigint NOT NULL);
CREATE TABLE line (id int PRIMARY KEY, ord int NOT NULL, amount int NOT NULL);

CREATE PROCEDURE add_line(l int, o int, amt int) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO line VALUES (l, o, amt);
  UPDATE orders SET total = total + amt WHERE id = o;
END $$;

CREATE PROCEDURE add_lines(l int, o int, price int, qty int) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO line VALUES (l, o, price * qty);
  UPDATE orders SET total = total + price WHERE id = o;
END $$;

CREATE PROCEDURE drop_line(l int) LANGUAGE plpgsql AS $$
DECLARE r line%ROWTYPE;
BEGIN
  SELECT * INTO r FROM line WHERE id = l;
  IF FOUND THEN
    DELETE FROM line WHERE id = l;
    UPDATE orders SET total = total - r.amount WHERE id = r.ord;
  END IF;
END $$;

CREATE PROCEDURE drop_lines(o int) LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM line WHERE ord = o;
  UPDATE orders SET total = 0 WHERE id = o;
END $$;

--@ rule total_is_sum
SELECT o.total = (SELECT COALESCE(SUM(amount), 0) FROM line WHERE ord = o.id) FROM orders o;
--! add_line total_is_sum safe
--! add_lines total_is_sum unsafe
--! drop_line total_is_sum safe
--! drop_lines total_is_sum safe

-- Check and decrement are one statement; whether it found a row says whether there was stock.
CREATE TABLE item (id int PRIMARY KEY, name text NOT NULL, stock int NOT NULL);
CREATE TABLE sale (item_id int NOT NULL REFERENCES item, customer text NOT NULL, quantity int NOT NULL);
INSERT INTO item VALUES (7, 'lamp', 1);

CREATE PROCEDURE buy(wanted int, who text, n int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE item SET stock = stock - n WHERE id = wanted AND stock >= n;
  IF FOUND THEN
    INSERT INTO sale VALUES (wanted, who, n);
  END IF;
END $$;

--@ thread carol
CALL buy(7, 'carol', 1);

--@ thread dave
CALL buy(7, 'dave', 1);

--@ invariant never_oversold
SELECT bool_and(stock >= 0) FROM item;

--@ final sold_once
SELECT count(*) = 1 FROM sale;

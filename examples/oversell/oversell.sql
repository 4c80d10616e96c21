-- One lamp left, two customers: both orders are accepted. The story is in README.md.
CREATE TABLE item (id int PRIMARY KEY, name text NOT NULL, stock int NOT NULL);
CREATE TABLE sale (item_id int NOT NULL REFERENCES item, customer text NOT NULL, quantity int NOT NULL);
INSERT INTO item VALUES (7, 'lamp', 1);

CREATE PROCEDURE buy(wanted int, who text, n int) LANGUAGE plpgsql AS $$
DECLARE available int;
BEGIN
  SELECT stock INTO available FROM item WHERE id = wanted;
  IF available >= n THEN
    UPDATE item SET stock = stock - n WHERE id = wanted;
    INSERT INTO sale VALUES (wanted, who, n);
  END IF;
END $$;

--@ thread carol
CALL buy(7, 'carol', 1);

--@ thread dave
CALL buy(7, 'dave', 1);

--@ invariant never_oversold
SELECT bool_and(stock >= 0) FROM item;

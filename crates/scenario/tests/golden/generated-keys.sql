-- Who draws which number from a sequence is nobody's business, not even through a foreign key.
CREATE TABLE orders (id serial PRIMARY KEY, customer text NOT NULL);
CREATE TABLE line (id serial PRIMARY KEY, order_id int NOT NULL REFERENCES orders, item text NOT NULL);
INSERT INTO orders (customer) VALUES ('zoe');
--@ thread ann
BEGIN;
INSERT INTO orders (customer) VALUES ('ann') RETURNING id \gset
INSERT INTO line (order_id, item) VALUES (:id, 'pen');
INSERT INTO line (order_id, item) VALUES (:id, 'ink');
COMMIT;
--@ thread ben
BEGIN;
INSERT INTO orders (customer) VALUES ('ben') RETURNING id \gset
INSERT INTO line (order_id, item) VALUES (:id, 'cup');
COMMIT;
SELECT id, customer FROM orders WHERE customer = 'ben';

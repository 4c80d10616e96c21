-- An online shop: customers, catalogue, stock in warehouses, carts, orders, payments, coupons.
CREATE TYPE order_status AS ENUM ('cart', 'placed', 'paid', 'shipped', 'cancelled');
CREATE TYPE payment_method AS ENUM ('card', 'invoice', 'voucher');
CREATE DOMAIN positive_amount AS numeric(12,2) CHECK (VALUE >= 0);

CREATE TABLE country (code text PRIMARY KEY, name text NOT NULL UNIQUE, vat numeric(4,2) NOT NULL DEFAULT 19.00);
CREATE TABLE customer (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email text NOT NULL,
    name text NOT NULL,
    credit numeric(12,2) NOT NULL DEFAULT 0 CHECK (credit >= 0),
    settings jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz
);
CREATE UNIQUE INDEX customer_email ON customer (lower(email)) WHERE deleted_at IS NULL;
CREATE TABLE address (
    id serial PRIMARY KEY,
    customer_id bigint NOT NULL REFERENCES customer ON DELETE CASCADE,
    country text NOT NULL REFERENCES country,
    street text NOT NULL,
    is_default boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX address_default ON address (customer_id) WHERE is_default;
CREATE INDEX ON address (customer_id);
CREATE TABLE category (
    id serial PRIMARY KEY,
    parent_id int REFERENCES category DEFERRABLE INITIALLY DEFERRED,
    name text NOT NULL
);
CREATE TABLE product (
    id serial PRIMARY KEY,
    sku varchar(20) NOT NULL UNIQUE,
    name text NOT NULL,
    price positive_amount NOT NULL,
    tags text[] NOT NULL DEFAULT '{}',
    attributes jsonb,
    search_name text GENERATED ALWAYS AS (lower(name)) STORED,
    active boolean NOT NULL DEFAULT true
);
CREATE INDEX product_search ON product (search_name);
CREATE INDEX product_active ON product (price DESC NULLS LAST) WHERE active;
CREATE TABLE product_category (
    product_id int REFERENCES product ON DELETE CASCADE,
    category_id int REFERENCES category ON DELETE CASCADE,
    PRIMARY KEY (product_id, category_id)
);
CREATE TABLE warehouse (id smallint PRIMARY KEY, name text NOT NULL, country text REFERENCES country);
CREATE TABLE stock (
    warehouse_id smallint NOT NULL REFERENCES warehouse,
    product_id int NOT NULL REFERENCES product,
    on_hand int NOT NULL CHECK (on_hand >= 0),
    reserved int NOT NULL DEFAULT 0,
    PRIMARY KEY (warehouse_id, product_id),
    CONSTRAINT not_overreserved CHECK (reserved BETWEEN 0 AND on_hand)
);
CREATE TABLE coupon (
    code text PRIMARY KEY,
    percent int CHECK (percent BETWEEN 1 AND 100),
    amount numeric(12,2),
    uses_left int NOT NULL DEFAULT 1 CHECK (uses_left >= 0),
    valid_until date,
    CONSTRAINT one_kind CHECK ((percent IS NULL) <> (amount IS NULL))
);
CREATE SEQUENCE order_number START WITH 1000 INCREMENT BY 1;
CREATE TABLE orders (
    id bigserial PRIMARY KEY,
    number bigint NOT NULL DEFAULT nextval('order_number') UNIQUE,
    customer_id bigint NOT NULL REFERENCES customer,
    address_id int REFERENCES address ON DELETE SET NULL,
    coupon text REFERENCES coupon,
    status order_status NOT NULL DEFAULT 'cart',
    total numeric(12,2) NOT NULL DEFAULT 0,
    placed_at timestamp
);
CREATE UNIQUE INDEX one_cart ON orders (customer_id) WHERE status = 'cart';
CREATE TABLE order_line (
    order_id bigint NOT NULL REFERENCES orders ON DELETE CASCADE,
    position int NOT NULL,
    product_id int NOT NULL REFERENCES product,
    quantity int NOT NULL CHECK (quantity > 0),
    price numeric(12,2) NOT NULL,
    amount numeric(14,2) GENERATED ALWAYS AS (quantity * price) STORED,
    PRIMARY KEY (order_id, position),
    UNIQUE (order_id, product_id)
);
CREATE TABLE payment (
    id uuid PRIMARY KEY,
    order_id bigint NOT NULL REFERENCES orders,
    method payment_method NOT NULL,
    amount positive_amount NOT NULL,
    reference text,
    UNIQUE (order_id, reference)
);
CREATE TABLE shipment (
    id serial PRIMARY KEY,
    order_id bigint NOT NULL REFERENCES orders,
    warehouse_id smallint NOT NULL REFERENCES warehouse,
    shipped_on date
);
CREATE TABLE review (
    product_id int NOT NULL REFERENCES product,
    customer_id bigint NOT NULL REFERENCES customer ON DELETE CASCADE,
    stars smallint NOT NULL CHECK (stars BETWEEN 1 AND 5),
    body text,
    PRIMARY KEY (product_id, customer_id)
);
CREATE TABLE audit (id bigserial PRIMARY KEY, what text NOT NULL, row_id text, at timestamptz DEFAULT now());
COMMENT ON TABLE audit IS 'who did what';

CREATE VIEW active_product AS SELECT id, sku, name, price FROM product WHERE active;
CREATE VIEW order_total AS
    SELECT o.id, o.number, coalesce(sum(l.amount), 0) AS total, count(l.position) AS lines
    FROM orders o LEFT JOIN order_line l ON l.order_id = o.id GROUP BY o.id, o.number;
CREATE VIEW available AS
    SELECT s.product_id, sum(s.on_hand - s.reserved) AS free FROM stock s GROUP BY s.product_id;

CREATE FUNCTION log_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit (what, row_id) VALUES (TG_OP || ' order', NEW.number::text);
    RETURN NEW;
END $$;
CREATE TRIGGER order_logged AFTER INSERT OR UPDATE OF status ON orders FOR EACH ROW EXECUTE FUNCTION log_order();
CREATE FUNCTION set_price() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.price IS NULL THEN
        SELECT p.price INTO NEW.price FROM product p WHERE p.id = NEW.product_id;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER line_price BEFORE INSERT ON order_line FOR EACH ROW EXECUTE FUNCTION set_price();
CREATE FUNCTION order_sum(o bigint) RETURNS numeric LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(amount), 0) FROM order_line WHERE order_id = o
$$;
CREATE PROCEDURE reserve(prod int, wanted int) LANGUAGE plpgsql AS $$
DECLARE free int;
BEGIN
    SELECT on_hand - reserved INTO free FROM stock WHERE warehouse_id = 1 AND product_id = prod;
    IF free < wanted THEN
        RAISE EXCEPTION 'only % left', free;
    END IF;
    UPDATE stock SET reserved = reserved + wanted WHERE warehouse_id = 1 AND product_id = prod;
END $$;

INSERT INTO country VALUES ('DE', 'Germany', 19), ('FR', 'France', 20), ('IS', E'Iceland\twith a tab', DEFAULT);
INSERT INTO customer (email, name, credit) VALUES ('Ann@example.com', 'Ann', 100), ('bob@example.com', 'Bob', 20.50);
INSERT INTO address (customer_id, country, street, is_default) VALUES (1, 'DE', 'Hauptstr. 1', true), (2, 'FR', 'Rue 2', true);
INSERT INTO category (id, parent_id, name) VALUES (2, 1, 'Books'), (1, NULL, 'All');
SELECT setval('category_id_seq', 2);
INSERT INTO product (sku, name, price, tags, attributes) VALUES
    ('B-1', 'A Book', 12.50, '{paper,new}', '{"pages": 200, "isbn": null}'),
    ('L-1', 'Lamp', 40, '{}', NULL), ('X-1', 'Old \ thing', 1, '{"with space","a,b"}', '[]');
UPDATE product SET active = false WHERE sku = 'X-1';
INSERT INTO product_category VALUES (1, 2);
INSERT INTO warehouse VALUES (1, 'North', 'DE'), (2, 'South', 'FR');
INSERT INTO stock VALUES (1, 1, 5, 1), (1, 2, 1, 0), (2, 1, 3, 0);
INSERT INTO coupon VALUES ('TEN', 10, NULL, 1, '2030-01-01'), ('FIVER', NULL, 5, 3, NULL);
INSERT INTO orders (customer_id, address_id, status) VALUES (1, 1, 'cart'), (2, 2, 'placed');
INSERT INTO order_line (order_id, position, product_id, quantity) VALUES (1, 1, 1, 2), (2, 1, 2, 1);
INSERT INTO payment VALUES ('6f1b0a3e-27a5-4c5e-8b0a-0e0f9d0c0b0a', 2, 'card', 40, NULL);
INSERT INTO review VALUES (1, 1, 5, E'good\nvery good');

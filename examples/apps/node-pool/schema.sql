CREATE TABLE voucher (code text PRIMARY KEY, uses_left int NOT NULL);
CREATE TABLE redemption (id serial PRIMARY KEY, code text NOT NULL REFERENCES voucher, customer text NOT NULL);
INSERT INTO voucher VALUES ('WELCOME', 1);

CREATE TABLE doctor (name text PRIMARY KEY, on_call boolean NOT NULL);
INSERT INTO doctor VALUES ('alice', true), ('bob', true);

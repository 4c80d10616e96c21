-- Each doctor leaves because the other one is there.
CREATE TABLE doctor (name text PRIMARY KEY, on_call boolean NOT NULL);
INSERT INTO doctor VALUES ('alice', true), ('bob', true);
--@ option isolation repeatable read
--@ thread alice
BEGIN;
SELECT count(*) AS n FROM doctor WHERE on_call \gset
UPDATE doctor SET on_call = false WHERE name = 'alice' AND :n >= 2;
COMMIT;
--@ thread bob
BEGIN;
SELECT count(*) AS n FROM doctor WHERE on_call \gset
UPDATE doctor SET on_call = false WHERE name = 'bob' AND :n >= 2;
COMMIT;
--@ invariant someone_on_call
SELECT count(*) > 0 FROM doctor WHERE on_call;

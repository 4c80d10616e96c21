-- Two tables locked in two orders.
CREATE TABLE a (n int);
CREATE TABLE b (n int);

--@ thread x
BEGIN;
LOCK TABLE a;
LOCK TABLE b;
COMMIT;

--@ thread y
BEGIN;
LOCK TABLE b;
LOCK TABLE a;
COMMIT;

-- All states. A negative k is a step that goes wrong.
CREATE TABLE state AS WITH RECURSIVE r(k) AS (SELECT * FROM (VALUES (0::bigint), (1::bigint), (2::bigint), (3::bigint), (4::bigint), (5::bigint), (6::bigint), (7::bigint), (8::bigint), (9::bigint), (10::bigint), (11::bigint)) initial
  UNION SELECT s FROM (SELECT unnest(array[
    CASE WHEN ((k >> (4)::int) & 63) < 59::bigint THEN ((k & 15) | (((((k >> (4)::int) & 63) + 1::bigint)) << (4)::int)) END,
    CASE WHEN (((k >> (4)::int) & 63) = 59::bigint) AND (((k & 15) + 1::bigint) <> 12::bigint) THEN ((k & 0) | ((((k & 15) + 1::bigint) + 1::bigint) - 1::bigint)) END,
    CASE WHEN (((k >> (4)::int) & 63) = 59::bigint) AND (((k & 15) + 1::bigint) = 12::bigint) THEN ((k & 0)) END]) AS s FROM r WHERE k >= 0 AND (1 = 1)) x WHERE s IS NOT NULL)
SELECT k FROM r;
SELECT 'HourOK' AS invariant, k FROM state WHERE k >= 0 AND NOT (((k & 15) + 1::bigint) <= 12::bigint);
SELECT count(*) AS states FROM state;

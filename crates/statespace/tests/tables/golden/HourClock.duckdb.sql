-- All states. A negative k is a step that goes wrong.
CREATE TABLE state AS WITH RECURSIVE r(k) AS (SELECT * FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11)) initial
  UNION SELECT s FROM (SELECT unnest(array[
    CASE WHEN ((k >> 4) & 63) < 59 THEN ((k & 15) | (((((k >> 4) & 63) + 1)) << 4)) END,
    CASE WHEN (((k >> 4) & 63) = 59) AND (((k & 15) + 1) <> 12) THEN ((k & 0) | ((((k & 15) + 1) + 1) - 1)) END,
    CASE WHEN (((k >> 4) & 63) = 59) AND (((k & 15) + 1) = 12) THEN ((k & 0)) END]) AS s FROM r WHERE k >= 0 AND (1 = 1)) x WHERE s IS NOT NULL)
SELECT k FROM r;
SELECT 'HourOK' AS invariant, k FROM state WHERE k >= 0 AND NOT (((k & 15) + 1) <= 12);
SELECT count(*) AS states FROM state;

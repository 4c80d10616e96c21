-- All states. A negative k is a step that goes wrong.
CREATE TABLE state AS WITH RECURSIVE r(k) AS (SELECT * FROM (VALUES (0)) initial
  UNION SELECT s FROM (SELECT CASE WHEN (k & 3) = 0 THEN ((k & 572) | (((((k >> 6) & 7) | 1)) << 6) | 1) END AS s FROM r WHERE k >= 0 AND (1 = 1)) WHERE s IS NOT NULL
  UNION SELECT s FROM (SELECT CASE WHEN ((k & 3) = 1) AND (NOT (((k >> 9) & 1) <> 0)) THEN ((k & 60) | (((((k >> 6) & 7) & (-1 - 1))) << 6) | 514) END AS s FROM r WHERE k >= 0 AND (1 = 1)) WHERE s IS NOT NULL
  UNION SELECT s FROM (SELECT CASE WHEN (k & 3) = 2 THEN ((k & 508)) END AS s FROM r WHERE k >= 0 AND (1 = 1)) WHERE s IS NOT NULL
  UNION SELECT s FROM (SELECT CASE WHEN ((k & 3) = 2) AND (NOT (((k >> 9) & 1) <> 0)) THEN ((k & 1020)) END AS s FROM r WHERE k >= 0 AND (1 = 1)) WHERE s IS NOT NULL
  UNION SELECT s FROM (SELECT CASE WHEN ((k >> 2) & 3) = 0 THEN ((k & 563) | (((((k >> 6) & 7) | 2)) << 6) | 4) END AS s FROM r WHERE k >= 0 AND (1 = 1)) WHERE s IS NOT NULL
  UNION SELECT s FROM (SELECT CASE WHEN (((k >> 2) & 3) = 1) AND (NOT (((k >> 9) & 1) <> 0)) THEN ((k & 51) | (((((k >> 6) & 7) & (-1 - 2))) << 6) | 520) END AS s FROM r WHERE k >= 0 AND (1 = 1)) WHERE s IS NOT NULL
  UNION SELECT s FROM (SELECT CASE WHEN ((k >> 2) & 3) = 2 THEN ((k & 499)) END AS s FROM r WHERE k >= 0 AND (1 = 1)) WHERE s IS NOT NULL
  UNION SELECT s FROM (SELECT CASE WHEN (((k >> 2) & 3) = 2) AND (NOT (((k >> 9) & 1) <> 0)) THEN ((k & 1011)) END AS s FROM r WHERE k >= 0 AND (1 = 1)) WHERE s IS NOT NULL
  UNION SELECT s FROM (SELECT CASE WHEN ((k >> 4) & 3) = 0 THEN ((k & 527) | (((((k >> 6) & 7) | 4)) << 6) | 16) END AS s FROM r WHERE k >= 0 AND (1 = 1)) WHERE s IS NOT NULL
  UNION SELECT s FROM (SELECT CASE WHEN (((k >> 4) & 3) = 1) AND (NOT (((k >> 9) & 1) <> 0)) THEN ((k & 15) | (((((k >> 6) & 7) & (-1 - 4))) << 6) | 544) END AS s FROM r WHERE k >= 0 AND (1 = 1)) WHERE s IS NOT NULL
  UNION SELECT s FROM (SELECT CASE WHEN ((k >> 4) & 3) = 2 THEN ((k & 463)) END AS s FROM r WHERE k >= 0 AND (1 = 1)) WHERE s IS NOT NULL
  UNION SELECT s FROM (SELECT CASE WHEN (((k >> 4) & 3) = 2) AND (NOT (((k >> 9) & 1) <> 0)) THEN ((k & 975)) END AS s FROM r WHERE k >= 0 AND (1 = 1)) WHERE s IS NOT NULL)
SELECT k FROM r;
SELECT 'Bounded' AS invariant, k FROM state WHERE k >= 0 AND NOT (((((k >> 6) & 7) >> 0 & 1) + (((k >> 6) & 7) >> 1 & 1) + (((k >> 6) & 7) >> 2 & 1)) <= 3);
SELECT count(*) AS states FROM state;

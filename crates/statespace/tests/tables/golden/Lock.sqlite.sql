-- All states. A negative k is a step that goes wrong.
CREATE TABLE state AS WITH RECURSIVE r(k) AS (SELECT * FROM (VALUES (0)) initial
  UNION SELECT ((k & 572) | (((((k >> 6) & 7) | 1)) << 6) | 1) FROM r WHERE k >= 0 AND (1 = 1) AND ((k & 3) = 0)
  UNION SELECT ((k & 60) | (((((k >> 6) & 7) & (-1 - 1))) << 6) | 514) FROM r WHERE k >= 0 AND (1 = 1) AND (((k & 3) = 1) AND (NOT (((k >> 9) & 1) <> 0)))
  UNION SELECT ((k & 508)) FROM r WHERE k >= 0 AND (1 = 1) AND ((k & 3) = 2)
  UNION SELECT ((k & 1020)) FROM r WHERE k >= 0 AND (1 = 1) AND (((k & 3) = 2) AND (NOT (((k >> 9) & 1) <> 0)))
  UNION SELECT ((k & 563) | (((((k >> 6) & 7) | 2)) << 6) | 4) FROM r WHERE k >= 0 AND (1 = 1) AND (((k >> 2) & 3) = 0)
  UNION SELECT ((k & 51) | (((((k >> 6) & 7) & (-1 - 2))) << 6) | 520) FROM r WHERE k >= 0 AND (1 = 1) AND ((((k >> 2) & 3) = 1) AND (NOT (((k >> 9) & 1) <> 0)))
  UNION SELECT ((k & 499)) FROM r WHERE k >= 0 AND (1 = 1) AND (((k >> 2) & 3) = 2)
  UNION SELECT ((k & 1011)) FROM r WHERE k >= 0 AND (1 = 1) AND ((((k >> 2) & 3) = 2) AND (NOT (((k >> 9) & 1) <> 0)))
  UNION SELECT ((k & 527) | (((((k >> 6) & 7) | 4)) << 6) | 16) FROM r WHERE k >= 0 AND (1 = 1) AND (((k >> 4) & 3) = 0)
  UNION SELECT ((k & 15) | (((((k >> 6) & 7) & (-1 - 4))) << 6) | 544) FROM r WHERE k >= 0 AND (1 = 1) AND ((((k >> 4) & 3) = 1) AND (NOT (((k >> 9) & 1) <> 0)))
  UNION SELECT ((k & 463)) FROM r WHERE k >= 0 AND (1 = 1) AND (((k >> 4) & 3) = 2)
  UNION SELECT ((k & 975)) FROM r WHERE k >= 0 AND (1 = 1) AND ((((k >> 4) & 3) = 2) AND (NOT (((k >> 9) & 1) <> 0))))
SELECT k FROM r;
SELECT 'Bounded' AS invariant, k FROM state WHERE k >= 0 AND NOT (((((k >> 6) & 7) >> 0 & 1) + (((k >> 6) & 7) >> 1 & 1) + (((k >> 6) & 7) >> 2 & 1)) <= 3);
SELECT count(*) AS states FROM state;

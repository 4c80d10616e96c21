-- The states of each level, by Spark SQL 4 and later:
--   spark-sql --conf spark.sql.scripting.enabled=true -f THIS.sql
-- A negative k is a step that goes wrong.
BEGIN
  DECLARE level INT DEFAULT 0;
  DECLARE fresh BIGINT DEFAULT 1;
  DROP TABLE IF EXISTS state;
  CREATE TABLE state (k BIGINT, lvl INT) USING PARQUET PARTITIONED BY (lvl);
  INSERT INTO state SELECT DISTINCT k, 0 FROM VALUES (0L) AS initial(k);
  WHILE fresh > 0 DO
    INSERT INTO state SELECT n.s, level + 1 FROM (
SELECT DISTINCT s FROM (SELECT explode(array(
    CASE WHEN (k & 3) = 0L THEN ((k & 572) | shiftleft((((shiftright(k, CAST(6 AS INT)) & 7) | 1L)), CAST(6 AS INT)) | 1) END,
    CASE WHEN ((k & 3) = 1L) AND (NOT ((shiftright(k, CAST(9 AS INT)) & 1) <> 0)) THEN ((k & 60) | shiftleft((((shiftright(k, CAST(6 AS INT)) & 7) & (-1 - 1L))), CAST(6 AS INT)) | 514) END,
    CASE WHEN (k & 3) = 2L THEN ((k & 508)) END,
    CASE WHEN ((k & 3) = 2L) AND (NOT ((shiftright(k, CAST(9 AS INT)) & 1) <> 0)) THEN ((k & 1020)) END,
    CASE WHEN (shiftright(k, CAST(2 AS INT)) & 3) = 0L THEN ((k & 563) | shiftleft((((shiftright(k, CAST(6 AS INT)) & 7) | 2L)), CAST(6 AS INT)) | 4) END,
    CASE WHEN ((shiftright(k, CAST(2 AS INT)) & 3) = 1L) AND (NOT ((shiftright(k, CAST(9 AS INT)) & 1) <> 0)) THEN ((k & 51) | shiftleft((((shiftright(k, CAST(6 AS INT)) & 7) & (-1 - 2L))), CAST(6 AS INT)) | 520) END,
    CASE WHEN (shiftright(k, CAST(2 AS INT)) & 3) = 2L THEN ((k & 499)) END,
    CASE WHEN ((shiftright(k, CAST(2 AS INT)) & 3) = 2L) AND (NOT ((shiftright(k, CAST(9 AS INT)) & 1) <> 0)) THEN ((k & 1011)) END,
    CASE WHEN (shiftright(k, CAST(4 AS INT)) & 3) = 0L THEN ((k & 527) | shiftleft((((shiftright(k, CAST(6 AS INT)) & 7) | 4L)), CAST(6 AS INT)) | 16) END,
    CASE WHEN ((shiftright(k, CAST(4 AS INT)) & 3) = 1L) AND (NOT ((shiftright(k, CAST(9 AS INT)) & 1) <> 0)) THEN ((k & 15) | shiftleft((((shiftright(k, CAST(6 AS INT)) & 7) & (-1 - 4L))), CAST(6 AS INT)) | 544) END,
    CASE WHEN (shiftright(k, CAST(4 AS INT)) & 3) = 2L THEN ((k & 463)) END,
    CASE WHEN ((shiftright(k, CAST(4 AS INT)) & 3) = 2L) AND (NOT ((shiftright(k, CAST(9 AS INT)) & 1) <> 0)) THEN ((k & 975)) END)) AS s FROM state WHERE lvl = level AND k >= 0 AND (1 = 1)) x WHERE s IS NOT NULL) n
      LEFT ANTI JOIN state o ON o.k = n.s;
    SET level = level + 1;
    SET fresh = (SELECT count(*) FROM state WHERE lvl = level);
  END WHILE;
  SELECT 'Bounded' AS invariant, k FROM state WHERE k >= 0 AND NOT (CAST(bit_count((shiftright(k, CAST(6 AS INT)) & 7)) AS BIGINT) <= 3L);
  SELECT lvl, count(*) AS states FROM state GROUP BY lvl ORDER BY lvl;
END;

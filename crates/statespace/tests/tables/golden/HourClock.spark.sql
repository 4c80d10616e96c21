-- The states of each level, by Spark SQL 4 and later:
--   spark-sql --conf spark.sql.scripting.enabled=true -f THIS.sql
-- A negative k is a step that goes wrong.
BEGIN
  DECLARE level INT DEFAULT 0;
  DECLARE fresh BIGINT DEFAULT 1;
  DROP TABLE IF EXISTS state;
  CREATE TABLE state (k BIGINT, lvl INT) USING PARQUET PARTITIONED BY (lvl);
  INSERT INTO state SELECT DISTINCT k, 0 FROM VALUES (0L), (1L), (2L), (3L), (4L), (5L), (6L), (7L), (8L), (9L), (10L), (11L) AS initial(k);
  WHILE fresh > 0 DO
    INSERT INTO state SELECT n.s, level + 1 FROM (
SELECT DISTINCT s FROM (SELECT explode(array(
    CASE WHEN (shiftright(k, CAST(4 AS INT)) & 63) < 59L THEN ((k & 15) | shiftleft((((shiftright(k, CAST(4 AS INT)) & 63) + 1L)), CAST(4 AS INT))) END,
    CASE WHEN ((shiftright(k, CAST(4 AS INT)) & 63) = 59L) AND (((k & 15) + 1L) <> 12L) THEN ((k & 0) | ((((k & 15) + 1L) + 1L) - 1L)) END,
    CASE WHEN ((shiftright(k, CAST(4 AS INT)) & 63) = 59L) AND (((k & 15) + 1L) = 12L) THEN ((k & 0)) END)) AS s FROM state WHERE lvl = level AND k >= 0 AND (1 = 1)) x WHERE s IS NOT NULL) n
      LEFT ANTI JOIN state o ON o.k = n.s;
    SET level = level + 1;
    SET fresh = (SELECT count(*) FROM state WHERE lvl = level);
  END WHILE;
  SELECT 'HourOK' AS invariant, k FROM state WHERE k >= 0 AND NOT (((k & 15) + 1L) <= 12L);
  SELECT lvl, count(*) AS states FROM state GROUP BY lvl ORDER BY lvl;
END;

\ir parts/broken.sql
--@ thread a
SELECT 1;

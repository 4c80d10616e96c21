-- The schema stands in another file.
\ir parts/schema.sql

--@ thread a
UPDATE counter SET n = n + 1;

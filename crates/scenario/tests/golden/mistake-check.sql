--@ thread a
SELECT 1;
--@ invariant i
SELECT 1;

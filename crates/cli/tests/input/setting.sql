--@ thread alice isolation snapshot
SELECT 1;

--@ tread alice
SELECT 1;

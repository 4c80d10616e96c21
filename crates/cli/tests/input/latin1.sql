-- Zoë wrote this in another encoding.
SELECT 1;

-- The code stands in another file.
\i bank.inc

--@ thread alice
CALL withdraw(1, 60);
--@ thread bob
CALL withdraw(1, 60);

-- Two clients buy the same seat.
\ir dump.sql

--@ thread ann
CALL box.buy(1, 1);
--@ expect error P0001
--@ expect error 23505

--@ thread bob
CALL box.buy(2, 1);
--@ expect error P0001
--@ expect error 23505

--@ thread clerk
UPDATE box.open_ticket SET hold_id = NULL WHERE show_id = 1;

--@ invariant sold_once
SELECT count(*) <= 1 FROM box.sale WHERE ticket_id = 1;

-- Numbers drawn by hand: a draw is a step that others notice.
CREATE SEQUENCE ticket;
CREATE TABLE sold (no int NOT NULL, who text NOT NULL);
--@ thread ann
SELECT nextval('ticket') AS no \gset
INSERT INTO sold VALUES (:no, 'ann');
--@ thread ben
SELECT nextval('ticket') AS no \gset
INSERT INTO sold VALUES (:no, 'ben');

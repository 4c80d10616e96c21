-- A hold of ten minutes, which ends while somebody is slow.
CREATE TABLE hold (id int PRIMARY KEY, owner text, until timestamptz);
INSERT INTO hold VALUES (1, 'ann', now() + interval '10 minutes');
--@ clock 0s 10m
--@ thread ann
SELECT count(*) AS mine FROM hold WHERE owner = 'ann' AND until > now() \gset
UPDATE hold SET until = 'infinity' WHERE :mine = 1;
--@ thread ben
UPDATE hold SET owner = 'ben' WHERE until <= now();
--@ final whose
SELECT owner = 'ann' OR until < 'infinity' FROM hold;

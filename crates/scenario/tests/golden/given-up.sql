-- A version check: who comes second writes nothing, knows it, and counts as having given up.
CREATE TABLE doc (id int PRIMARY KEY, body text NOT NULL, version int NOT NULL);
INSERT INTO doc VALUES (1, 'draft', 1);
--@ thread ann
SELECT body, version FROM doc WHERE id = 1 \gset
UPDATE doc SET body = :'body' || ' by ann', version = version + 1 WHERE id = 1 AND version = :version;
--@ thread ben
SELECT body, version FROM doc WHERE id = 1 \gset
UPDATE doc SET body = :'body' || ' by ben', version = version + 1 WHERE id = 1 AND version = :version;

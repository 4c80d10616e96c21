-- UCOM, statistics about the usage of a system: logins and commands are recorded, and counted. Ours, after the paper's
-- description; its large table stands for the time that the paper needed to hash it.
SELECT 150000 AS records \gset
CREATE TABLE account (id int PRIMARY KEY, name text, total int NOT NULL);
CREATE TABLE host (id int PRIMARY KEY, name text, logins int NOT NULL);
CREATE TABLE usage_record (id int PRIMARY KEY, account_id int, host_id int, command text, seconds int);
CREATE INDEX usage_of_account ON usage_record (account_id);
INSERT INTO account SELECT i, 'user ' || i, 0 FROM generate_series(0, :records / 3 - 1) AS g(i);
INSERT INTO host SELECT i, 'host ' || i, 0 FROM generate_series(0, 99) AS g(i);
INSERT INTO usage_record SELECT i, i % (:records / 3), i % 100, 'make', i % 60 FROM generate_series(1, :records) AS g(i);

--@ thread shell
INSERT INTO usage_record VALUES (900001, 7, 1, 'login', 0);
UPDATE host SET logins = 1 WHERE id = 1;
INSERT INTO usage_record VALUES (900002, 7, 1, 'cc', 12);
INSERT INTO usage_record VALUES (900003, 7, 1, 'ld', 5);
UPDATE account SET total = 17 WHERE id = 7;
SELECT total FROM account WHERE id = 7;
SELECT name FROM host WHERE id = 1;
INSERT INTO usage_record VALUES (900004, 7, 1, 'logout', 0);

--@ thread batch
INSERT INTO usage_record VALUES (900011, 8, 2, 'login', 0);
UPDATE host SET logins = 1 WHERE id = 2;
INSERT INTO usage_record VALUES (900012, 8, 2, 'sort', 30);
UPDATE account SET total = 30 WHERE id = 8;
SELECT total FROM account WHERE id = 8;
SELECT name FROM host WHERE id = 2;
INSERT INTO usage_record VALUES (900013, 8, 2, 'logout', 0);

--@ thread statistics
SELECT count(*), sum(seconds) FROM usage_record WHERE account_id = 7;
SELECT name FROM account WHERE id = 7;
SELECT name, logins FROM host WHERE id = 1;
SELECT count(*), sum(seconds) FROM usage_record WHERE account_id = 9;
SELECT name FROM account WHERE id = 9;
UPDATE account SET total = 1 WHERE id = 9;
SELECT total FROM account WHERE id = 9;

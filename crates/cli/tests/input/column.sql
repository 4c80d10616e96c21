CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);

--@ thread alice
UPDATE account SET blance = 0 WHERE id = 1;

-- RiskIt, an insurance quote application: 13 relations with 57 attributes, and 1.2 million records. Ours, after the paper's
-- description: the names are RiskIt's as far as papers about it show them, rows and requests are made up.
SELECT 145000 AS people \gset
CREATE TABLE userrecord (
  ssn int PRIMARY KEY, name text, zip int, maritalstatus text, sex text, age int, race text, citizenship text,
  countryofbirth text);
CREATE TABLE education (ssn int PRIMARY KEY, education text, eduenroll text);
CREATE TABLE employmentstat (ssn int PRIMARY KEY, unemploymentreason text, employmentstat text);
CREATE TABLE geo (ssn int PRIMARY KEY, region text, resstate text);
CREATE TABLE industry (industrycode int PRIMARY KEY, industry text, stability int);
CREATE TABLE investment (ssn int PRIMARY KEY, capitalgains int, capitallosses int, stockdividends int);
CREATE TABLE job (
  ssn int PRIMARY KEY, workclass text, industrycode int, occupationcode int, unionmember text, employersize int,
  weekwage int, selfemployed text, workweeks int, veteran text, seasonal text);
CREATE TABLE migration (
  ssn int PRIMARY KEY, migrationcode text, migrationdistance text, migrationmove text, migrationfromsunbelt text);
CREATE TABLE occupation (occupationcode int PRIMARY KEY, occupation text, stability int);
CREATE TABLE stateabbv (abbv text PRIMARY KEY, name text);
CREATE TABLE wage (industrycode int, occupationcode int, meanweekwage int, PRIMARY KEY (industrycode, occupationcode));
CREATE TABLE youth (ssn int PRIMARY KEY, parents text);
CREATE TABLE ziptable (zip int PRIMARY KEY, city text, statename text, county text, latitude int, longitude int);

INSERT INTO userrecord SELECT i, 'person ' || i, i % (:people / 4), 'single', 'f', i % 90, 'any', 'native', 'here' FROM generate_series(1, :people) AS g(i);
INSERT INTO education SELECT i, 'college', 'no' FROM generate_series(1, :people) AS g(i);
INSERT INTO employmentstat SELECT i, 'none', 'full time' FROM generate_series(1, :people) AS g(i);
INSERT INTO geo SELECT i, 'south', 'tx' FROM generate_series(1, :people) AS g(i);
INSERT INTO investment SELECT i, 0, 0, 0 FROM generate_series(1, :people) AS g(i);
INSERT INTO job SELECT i, 'private', i % 236, i % 509, 'no', 3, 500 + i % 700, 'no', 52, 'no', 'no' FROM generate_series(1, :people) AS g(i);
INSERT INTO migration SELECT i, 'none', 'none', 'none', 'no' FROM generate_series(1, :people) AS g(i);
INSERT INTO youth SELECT i, 'both' FROM generate_series(1, :people) AS g(i);
INSERT INTO ziptable SELECT i, 'city ' || i, 'state ' || i % 51, 'county', i, -i FROM generate_series(0, :people / 4) AS g(i);
INSERT INTO industry SELECT i, 'industry ' || i, 5 FROM generate_series(0, 235) AS g(i);
INSERT INTO occupation SELECT i, 'occupation ' || i, 5 FROM generate_series(0, 508) AS g(i);
INSERT INTO wage SELECT i / 100, i % 100, 700 FROM generate_series(0, :people / 15) AS g(i);
INSERT INTO stateabbv SELECT 's' || i, 'state ' || i FROM generate_series(0, 50) AS g(i);

--@ thread applicant
SELECT * FROM userrecord WHERE ssn = 1000;
SELECT city, statename FROM ziptable WHERE zip = 1000;
SELECT industrycode, occupationcode, weekwage FROM job WHERE ssn = 1000;
SELECT stability FROM industry WHERE industrycode = 56;
SELECT stability FROM occupation WHERE occupationcode = 491;
UPDATE userrecord SET maritalstatus = 'married' WHERE ssn = 1000;
UPDATE job SET weekwage = 900 WHERE ssn = 1000;
SELECT weekwage FROM job WHERE ssn = 1000;

--@ thread agent
SELECT name, age, maritalstatus FROM userrecord WHERE ssn = 1000;
SELECT employmentstat FROM employmentstat WHERE ssn = 1000;
UPDATE employmentstat SET employmentstat = 'part time' WHERE ssn = 1000;
SELECT capitalgains, capitallosses FROM investment WHERE ssn = 1000;
UPDATE investment SET capitalgains = 100 WHERE ssn = 1000;
SELECT education FROM education WHERE ssn = 1000;
UPDATE industry SET stability = 4 WHERE industrycode = 56;
SELECT meanweekwage FROM wage WHERE industrycode = 56 AND occupationcode = 91;

--@ thread analyst
SELECT stability FROM industry WHERE industrycode = 57;
UPDATE industry SET stability = 6 WHERE industrycode = 57;
UPDATE wage SET meanweekwage = 710 WHERE industrycode = 57 AND occupationcode = 91;
SELECT meanweekwage FROM wage WHERE industrycode = 57 AND occupationcode = 91;
INSERT INTO userrecord VALUES (900001, 'new', 7, 'single', 'm', 30, 'any', 'native', 'here');
INSERT INTO job VALUES (900001, 'private', 57, 91, 'no', 3, 800, 'no', 52, 'no', 'no');
SELECT weekwage FROM job WHERE ssn = 900001;

-- OpenMRS, a medical record system: users edit and delete concept classes (Test, Drug, ...). The paper's bug: one saves or
-- deletes a class that another has deleted since it was shown. Ours, after the paper's description.
CREATE TABLE users (user_id int PRIMARY KEY, username text UNIQUE, retired bool NOT NULL DEFAULT false);
CREATE TABLE user_role (user_id int REFERENCES users, role text, PRIMARY KEY (user_id, role));
CREATE TABLE role_privilege (role text, privilege text, PRIMARY KEY (role, privilege));
CREATE TABLE concept_class (
  concept_class_id int PRIMARY KEY, name text NOT NULL, description text, creator int REFERENCES users,
  retired bool NOT NULL DEFAULT false, date_changed date);
INSERT INTO users VALUES (1, 'admin'), (2, 'nurse'), (3, 'doctor'), (4, 'clerk');
INSERT INTO user_role VALUES (1, 'admin'), (2, 'provider'), (3, 'provider'), (4, 'clerk');
INSERT INTO role_privilege VALUES
  ('admin', 'Manage Concept Classes'), ('provider', 'Manage Concept Classes'), ('clerk', 'View Concept Classes');
INSERT INTO concept_class VALUES
  (1, 'Test', 'Acq. during patient encounter', 1), (2, 'Procedure', 'Describes a clinical procedure', 1),
  (3, 'Drug', 'Drug', 1), (4, 'Diagnosis', 'Conclusion drawn through findings', 1), (5, 'Finding', 'Practitioner observation', 1),
  (6, 'Anatomy', 'Anatomic sites', 1), (7, 'Question', 'Question', 1), (8, 'LabSet', 'Term to describe laboratory sets', 1);

--@ thread admin
SELECT * FROM users WHERE username = 'admin';
SELECT * FROM user_role WHERE user_id = 1;
SELECT * FROM role_privilege WHERE role = 'admin';
SELECT * FROM concept_class WHERE concept_class_id = 3;
DELETE FROM concept_class WHERE concept_class_id = 3;
SELECT * FROM concept_class WHERE concept_class_id = 1;
UPDATE concept_class SET description = 'A test' WHERE concept_class_id = 1;

--@ thread nurse
SELECT * FROM users WHERE username = 'nurse';
SELECT * FROM user_role WHERE user_id = 2;
SELECT * FROM role_privilege WHERE role = 'provider';
SELECT * FROM concept_class WHERE concept_class_id = 3;
UPDATE concept_class SET name = 'Medicine' WHERE concept_class_id = 3;
SELECT * FROM concept_class WHERE concept_class_id = 3;

--@ thread doctor
SELECT * FROM users WHERE username = 'doctor';
SELECT * FROM user_role WHERE user_id = 3;
SELECT * FROM role_privilege WHERE role = 'provider';
SELECT * FROM concept_class WHERE concept_class_id = 4;
UPDATE concept_class SET description = 'A conclusion' WHERE concept_class_id = 4;
INSERT INTO concept_class VALUES (9, 'Program', 'A program', 3);
SELECT * FROM concept_class WHERE concept_class_id = 9;

--@ thread clerk
SELECT * FROM users WHERE username = 'clerk';
SELECT * FROM user_role WHERE user_id = 4;
SELECT * FROM role_privilege WHERE role = 'clerk';
SELECT name FROM concept_class WHERE concept_class_id = 5;
SELECT description FROM concept_class WHERE concept_class_id = 6;
SELECT name FROM concept_class WHERE concept_class_id = 3;

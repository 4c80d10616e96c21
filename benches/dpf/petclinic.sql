-- PetClinic, Spring's sample application: its tables and part of its sample rows.
CREATE TABLE vets (id int PRIMARY KEY, first_name text, last_name text);
CREATE TABLE specialties (id int PRIMARY KEY, name text);
CREATE TABLE vet_specialties (vet_id int REFERENCES vets, specialty_id int REFERENCES specialties, PRIMARY KEY (vet_id, specialty_id));
CREATE TABLE types (id int PRIMARY KEY, name text);
CREATE TABLE owners (id int PRIMARY KEY, first_name text, last_name text, address text, city text, telephone text);
CREATE TABLE pets (id int PRIMARY KEY, name text, birth_date date, type_id int REFERENCES types, owner_id int REFERENCES owners);
CREATE INDEX pets_of_owner ON pets (owner_id);
CREATE TABLE visits (id int PRIMARY KEY, pet_id int REFERENCES pets, visit_date date, description text);
CREATE INDEX visits_of_pet ON visits (pet_id);

INSERT INTO vets VALUES (1, 'James', 'Carter'), (2, 'Helen', 'Leary'), (3, 'Linda', 'Douglas'), (4, 'Rafael', 'Ortega');
INSERT INTO specialties VALUES (1, 'radiology'), (2, 'surgery'), (3, 'dentistry');
INSERT INTO vet_specialties VALUES (2, 1), (3, 2), (3, 3), (4, 2);
INSERT INTO types VALUES (1, 'cat'), (2, 'dog'), (3, 'lizard'), (4, 'snake'), (5, 'bird'), (6, 'hamster');
INSERT INTO owners VALUES
  (1, 'George', 'Franklin', '110 W. Liberty St.', 'Madison', '6085551023'),
  (3, 'Eduardo', 'Rodriquez', '2693 Commerce St.', 'McFarland', '6085558763'),
  (6, 'Jean', 'Coleman', '105 N. Lake St.', 'Monona', '6085552654'),
  (10, 'Carlos', 'Estaban', '2335 Independence La.', 'Waunakee', '6085555487');
INSERT INTO pets VALUES
  (1, 'Leo', '2000-09-07', 1, 1), (3, 'Rosy', '2001-04-17', 2, 3), (4, 'Jewel', '2000-03-07', 2, 3),
  (7, 'Samantha', '1995-09-04', 1, 6), (8, 'Max', '1995-09-04', 1, 6), (12, 'Lucky', '2000-06-24', 2, 10),
  (13, 'Sly', '2002-06-08', 1, 10);
INSERT INTO visits VALUES (2, 8, '1996-03-04', 'rabies shot'), (3, 8, '1996-06-04', 'neutered');

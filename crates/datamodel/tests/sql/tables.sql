-- A database alone: every table a class, every foreign key a reference.
-- file: 1.sql
CREATE TABLE person (id int PRIMARY KEY, name text UNIQUE);
CREATE TABLE community (id serial PRIMARY KEY, owner_id int REFERENCES person ON DELETE SET NULL);
CREATE TABLE post (
  id serial PRIMARY KEY,
  creator_id int NOT NULL REFERENCES person (id) ON UPDATE CASCADE ON DELETE CASCADE,
  community_id int NOT NULL REFERENCES community ON DELETE RESTRICT,
  parent_id int REFERENCES post,
  UNIQUE (creator_id, community_id),
  CHECK (creator_id <> parent_id)
);
CREATE TABLE post_like (
  post_id int REFERENCES post ON DELETE CASCADE,
  person_id int REFERENCES person ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  PRIMARY KEY (post_id, person_id)
);
CREATE TRIGGER post_gone AFTER DELETE ON post FOR EACH ROW EXECUTE FUNCTION count_posts();
-- file: 2.sql
ALTER TABLE community ADD COLUMN lost_id int REFERENCES nowhere;
ALTER TABLE community ALTER COLUMN owner_id SET NOT NULL;
ALTER TABLE post DROP CONSTRAINT post_parent_id_fkey;
ALTER TABLE post ADD CONSTRAINT parent FOREIGN KEY (parent_id) REFERENCES post ON DELETE SET DEFAULT;
CREATE UNIQUE INDEX ON community (lower(title));
CREATE UNIQUE INDEX one_open ON post (community_id) WHERE parent_id IS NULL;
CREATE TABLE gone (id int);
DROP TABLE gone;
CREATE TABLE broken (id int,,);
ALTER TABLE person RENAME TO people;
CREATE TABLE place (id uuid DEFAULT gen_random_uuid() NOT NULL, spot public.geometry(Point,4326) NOT NULL,
  path public.ltree DEFAULT ''::public.ltree NOT NULL REFERENCES place ON DELETE CASCADE,
  tags public.citext[], CONSTRAINT place_pkey PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE UNIQUE INDEX ON place (lower((path)::text));

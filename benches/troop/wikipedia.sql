-- Wikipedia: pages with revisions and texts, and users who watch them.
CREATE TABLE users (id int PRIMARY KEY, name text NOT NULL, touched int NOT NULL, edits int NOT NULL);
CREATE TABLE user_group (user_id int, name text, PRIMARY KEY (user_id, name));
CREATE TABLE page (id int PRIMARY KEY, namespace int NOT NULL, title text NOT NULL, latest int NOT NULL, touched int NOT NULL,
  UNIQUE (namespace, title));
CREATE TABLE page_restriction (page int, kind text, PRIMARY KEY (page, kind));
CREATE TABLE ip_block (address text PRIMARY KEY, user_id int);
CREATE TABLE contents (id serial PRIMARY KEY, page int NOT NULL, body text NOT NULL);
CREATE TABLE revision (id serial PRIMARY KEY, page int NOT NULL, contents int NOT NULL, user_id int NOT NULL);
CREATE TABLE recent_change (page int NOT NULL, user_id int NOT NULL, title text NOT NULL);
CREATE TABLE logging (page int NOT NULL, user_id int NOT NULL);
CREATE TABLE watchlist (user_id int, namespace int, title text, notified boolean NOT NULL,
  PRIMARY KEY (user_id, namespace, title));
CREATE INDEX ON watchlist (namespace, title);
INSERT INTO users VALUES (2324, 'Chanel', 0, 0), (111, 'Wrs', 1, 1), (777, 'Maro', 200, 0), (68, 'Andromache', 7, 2);
INSERT INTO contents (page, body) VALUES (13, 'on Paris'), (645, 'on Lisbon'), (230, 'on Athens'), (909, 'on Madrid');
INSERT INTO revision (page, contents, user_id) VALUES (13, 1, 2324), (645, 2, 111), (230, 3, 68);
INSERT INTO page VALUES
  (13, 0, 'Paris', 1, 0), (645, 1, 'Lisbon', 2, 1342), (230, 0, 'Athens', 3, 561), (909, 0, 'Madrid', 4, 22097);
INSERT INTO watchlist VALUES
  (2324, 0, 'Benidorm', false), (777, 0, 'Eurovision', false), (777, 1, 'Eurovision', false), (777, 0, 'Fado', false),
  (777, 1, 'Fado', false), (777, 0, 'Rome', false), (68, 0, 'Cyprus', false), (68, 0, 'Greece', false);

-- Who watches a page watches its talk page too.
CREATE PROCEDURE add_watch(u int, ns int, what text) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO watchlist VALUES (u, ns, what, false) ON CONFLICT DO NOTHING;
  IF ns = 0 THEN
    INSERT INTO watchlist VALUES (u, 1, what, false) ON CONFLICT DO NOTHING;
  END IF;
  UPDATE users SET touched = touched + 1 WHERE id = u;
END $$;

CREATE PROCEDURE remove_watch(u int, ns int, what text) LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM watchlist WHERE user_id = u AND namespace = ns AND title = what;
  IF ns = 0 THEN
    DELETE FROM watchlist WHERE user_id = u AND namespace = 1 AND title = what;
  END IF;
  UPDATE users SET touched = touched + 1 WHERE id = u;
END $$;

-- Where the original aborts, nothing has been written yet: RETURN comes to the same.
CREATE PROCEDURE get_page_anonymous(ns int, what text) LANGUAGE plpgsql AS $$
DECLARE
  found_page page;
  text_id int;
BEGIN
  SELECT * INTO found_page FROM page WHERE namespace = ns AND title = what;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM * FROM page_restriction WHERE page = found_page.id;
  PERFORM * FROM ip_block WHERE address = '127.0.0.1';
  SELECT contents INTO text_id FROM revision WHERE page = found_page.id AND id = found_page.latest;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM * FROM contents WHERE id = text_id;
END $$;

CREATE PROCEDURE get_page_authenticated(u int, ns int, what text) LANGUAGE plpgsql AS $$
DECLARE
  found_page page;
  text_id int;
BEGIN
  PERFORM * FROM users WHERE id = u;
  PERFORM * FROM user_group WHERE user_id = u;
  SELECT * INTO found_page FROM page WHERE namespace = ns AND title = what;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM * FROM page_restriction WHERE page = found_page.id;
  PERFORM * FROM ip_block WHERE user_id = u;
  SELECT contents INTO text_id FROM revision WHERE page = found_page.id AND id = found_page.latest;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM * FROM contents WHERE id = text_id;
END $$;

CREATE PROCEDURE update_page(u int, ns int, what text) LANGUAGE plpgsql AS $$
DECLARE
  found_page page;
  text_id int;
  revision_id int;
  watcher int;
BEGIN
  SELECT * INTO found_page FROM page WHERE namespace = ns AND title = what;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM * FROM page_restriction WHERE page = found_page.id;
  PERFORM * FROM revision WHERE page = found_page.id AND id = found_page.latest;
  INSERT INTO contents (page, body) VALUES (found_page.id, 'more on ' || what) RETURNING id INTO text_id;
  INSERT INTO revision (page, contents, user_id) VALUES (found_page.id, text_id, u) RETURNING id INTO revision_id;
  UPDATE page SET latest = revision_id, touched = touched + 1 WHERE id = found_page.id;
  INSERT INTO recent_change VALUES (found_page.id, u, what);
  FOR watcher IN SELECT user_id FROM watchlist
      WHERE namespace = ns AND title = what AND user_id <> u ORDER BY user_id LOOP
    UPDATE watchlist SET notified = true WHERE user_id = watcher AND namespace = ns AND title = what;
  END LOOP;
  INSERT INTO logging VALUES (found_page.id, u);
  UPDATE users SET edits = edits + 1 WHERE id = u;
  UPDATE users SET touched = touched + 1 WHERE id = u;
END $$;

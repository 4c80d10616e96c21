CREATE TABLE users (id int PRIMARY KEY, email text NOT NULL, nick text NOT NULL);

CREATE PROCEDURE signup(i int, e text, n text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM users WHERE email = e;
  IF FOUND THEN RAISE EXCEPTION 'taken'; END IF;
  INSERT INTO users VALUES (i, e, n);
END $$;

CREATE PROCEDURE signup_wrong(i int, e text, n text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM users WHERE nick = n;
  IF FOUND THEN RAISE EXCEPTION 'taken'; END IF;
  INSERT INTO users VALUES (i, e, n);
END $$;

CREATE PROCEDURE rename_user(i int, e text) LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM users WHERE email = e) THEN
    UPDATE users SET email = e WHERE id = i;
  END IF;
END $$;

--@ rule one_account_per_email
SELECT NOT EXISTS (SELECT 1 FROM users a, users b WHERE a.id < b.id AND a.email = b.email);
--! signup one_account_per_email safe
--! signup_wrong one_account_per_email unsafe
--! rename_user one_account_per_email safe

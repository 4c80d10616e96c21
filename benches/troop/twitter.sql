-- Twitter: users follow each other and publish tweets. Who follows whom is kept in both directions.
CREATE TABLE users (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE tweet (id int PRIMARY KEY, author int NOT NULL, body text NOT NULL);
CREATE INDEX ON tweet (author);
CREATE TABLE follows (who int, whom int, PRIMARY KEY (who, whom));
CREATE TABLE followers (whom int, who int, PRIMARY KEY (whom, who));
INSERT INTO users SELECT id, 'user ' || id FROM (VALUES
  (48954574), (45096855), (7179295), (3110559), (26427248),
  (47327392), (42306731), (48280880), (20850125), (50910006)) AS v(id);
INSERT INTO follows VALUES
  (45096855, 48954574), (48954574, 45096855), (48954574, 7179295), (48954574, 3110559), (45096855, 26427248),
  (45096855, 47327392), (45096855, 42306731), (45096855, 48280880), (7179295, 20850125), (7179295, 50910006);
INSERT INTO followers SELECT whom, who FROM follows;
INSERT INTO tweet SELECT 1001000 + n * 8 + place, author, 'tweet ' || n
  FROM generate_series(0, 3) AS g(n), (VALUES
    (0, 48954574), (1, 45096855), (2, 7179295), (3, 3110559),
    (4, 26427248), (5, 47327392), (6, 42306731), (7, 48280880)) AS v(place, author);

CREATE PROCEDURE follow(a int, b int) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO follows VALUES (a, b) ON CONFLICT DO NOTHING;
  INSERT INTO followers VALUES (b, a) ON CONFLICT DO NOTHING;
END $$;

-- The client chooses the id of its tweet, as in the original.
CREATE PROCEDURE publish_tweet(tweet_id int, a int) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tweet VALUES (tweet_id, a, 'new');
END $$;

CREATE PROCEDURE get_timeline(a int) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM * FROM tweet WHERE author = a;
END $$;

CREATE PROCEDURE get_newsfeed(a int) LANGUAGE plpgsql AS $$
DECLARE
  followed int;
BEGIN
  FOR followed IN SELECT whom FROM follows WHERE who = a ORDER BY whom LOOP
    PERFORM * FROM tweet WHERE author = followed;
  END LOOP;
END $$;

CREATE PROCEDURE get_followers(a int) LANGUAGE plpgsql AS $$
DECLARE
  follower int;
BEGIN
  FOR follower IN SELECT who FROM followers WHERE whom = a ORDER BY who LOOP
    PERFORM * FROM users WHERE id = follower;
  END LOOP;
END $$;

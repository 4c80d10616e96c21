-- A social network: members, follows, posts, likes, groups, messages, notifications.
CREATE TYPE visibility AS ENUM ('public', 'friends', 'private');
CREATE TYPE note_kind AS ENUM ('like', 'follow', 'reply', 'message');
CREATE TABLE member (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    handle varchar(30) NOT NULL,
    display_name text NOT NULL,
    bio text,
    followers int NOT NULL DEFAULT 0,
    prefs jsonb NOT NULL DEFAULT '{"theme": "light"}',
    joined date NOT NULL DEFAULT '2024-01-01',
    banned boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX member_handle ON member (lower(handle));
CREATE TABLE follow (
    follower_id bigint NOT NULL REFERENCES member ON DELETE CASCADE,
    followed_id bigint NOT NULL REFERENCES member ON DELETE CASCADE,
    since timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (follower_id, followed_id),
    CONSTRAINT not_self CHECK (follower_id <> followed_id)
);
CREATE INDEX follow_back ON follow (followed_id);
CREATE TABLE block (
    blocker_id bigint REFERENCES member ON DELETE CASCADE,
    blocked_id bigint REFERENCES member ON DELETE CASCADE,
    PRIMARY KEY (blocker_id, blocked_id)
);
CREATE TABLE post (
    id bigserial PRIMARY KEY,
    author_id bigint NOT NULL REFERENCES member,
    reply_to bigint REFERENCES post ON DELETE SET NULL,
    body text NOT NULL CHECK (length(body) <= 500),
    visibility visibility NOT NULL DEFAULT 'public',
    tags text[] NOT NULL DEFAULT '{}',
    likes int NOT NULL DEFAULT 0 CHECK (likes >= 0),
    score numeric(10,4) GENERATED ALWAYS AS (likes * 1.5) STORED,
    deleted boolean NOT NULL DEFAULT false
);
CREATE INDEX post_author ON post (author_id, id DESC) WHERE NOT deleted;
CREATE TABLE likes (
    post_id bigint NOT NULL REFERENCES post ON DELETE CASCADE,
    member_id bigint NOT NULL REFERENCES member ON DELETE CASCADE,
    PRIMARY KEY (post_id, member_id)
);
CREATE TABLE hashtag (id serial PRIMARY KEY, tag text NOT NULL UNIQUE, uses bigint NOT NULL DEFAULT 0);
CREATE TABLE post_hashtag (
    post_id bigint REFERENCES post ON DELETE CASCADE,
    hashtag_id int REFERENCES hashtag,
    PRIMARY KEY (post_id, hashtag_id)
);
CREATE TABLE media (id uuid PRIMARY KEY, post_id bigint REFERENCES post ON DELETE CASCADE, url text NOT NULL, info jsonb);
CREATE TABLE circle (
    id serial PRIMARY KEY,
    name text NOT NULL UNIQUE,
    owner_id bigint NOT NULL REFERENCES member,
    size int NOT NULL DEFAULT 0,
    capacity int NOT NULL DEFAULT 2,
    CONSTRAINT fits CHECK (size <= capacity)
);
CREATE TABLE membership (
    circle_id int NOT NULL REFERENCES circle ON DELETE CASCADE,
    member_id bigint NOT NULL REFERENCES member ON DELETE CASCADE,
    admin boolean NOT NULL DEFAULT false,
    PRIMARY KEY (circle_id, member_id)
);
CREATE TABLE conversation (id serial PRIMARY KEY, title text, last_message bigint);
CREATE TABLE participant (
    conversation_id int REFERENCES conversation ON DELETE CASCADE,
    member_id bigint REFERENCES member,
    PRIMARY KEY (conversation_id, member_id)
);
CREATE TABLE message (
    id bigserial PRIMARY KEY,
    conversation_id int NOT NULL REFERENCES conversation ON DELETE CASCADE,
    sender_id bigint NOT NULL REFERENCES member,
    body text NOT NULL
);
ALTER TABLE conversation ADD CONSTRAINT last_is_message FOREIGN KEY (last_message) REFERENCES message
    DEFERRABLE INITIALLY DEFERRED;
CREATE TABLE notification (
    id bigserial PRIMARY KEY,
    member_id bigint NOT NULL REFERENCES member ON DELETE CASCADE,
    kind note_kind NOT NULL,
    payload jsonb NOT NULL,
    seen boolean NOT NULL DEFAULT false
);
CREATE INDEX unseen ON notification (member_id) WHERE NOT seen;
CREATE TABLE report (
    id serial PRIMARY KEY,
    post_id bigint NOT NULL REFERENCES post,
    reporter_id bigint NOT NULL REFERENCES member,
    reason text NOT NULL DEFAULT 'spam',
    UNIQUE (post_id, reporter_id)
);

CREATE VIEW timeline AS
    SELECT f.follower_id AS reader_id, p.id AS post_id, p.author_id, p.body
    FROM follow f JOIN post p ON p.author_id = f.followed_id
    WHERE NOT p.deleted AND p.visibility <> 'private'::visibility;
CREATE VIEW visible_post AS SELECT id, author_id, body, deleted FROM post WHERE NOT deleted WITH CASCADED CHECK OPTION;

CREATE FUNCTION count_followers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE member SET followers = followers + 1 WHERE id = NEW.followed_id;
        INSERT INTO notification (member_id, kind, payload)
        VALUES (NEW.followed_id, 'follow', jsonb_build_object('by', NEW.follower_id));
        RETURN NEW;
    END IF;
    UPDATE member SET followers = followers - 1 WHERE id = OLD.followed_id;
    RETURN OLD;
END $$;
CREATE TRIGGER followers_counted AFTER INSERT OR DELETE ON follow FOR EACH ROW EXECUTE FUNCTION count_followers();
CREATE FUNCTION like_post(p bigint, m bigint) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
    INSERT INTO likes VALUES (p, m);
    SELECT post.likes + 1 INTO n FROM post WHERE id = p;
    UPDATE post SET likes = n WHERE id = p;
    RETURN n;
END $$;
CREATE FUNCTION feed_size(m bigint) RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM timeline WHERE reader_id = m $$;

INSERT INTO member (handle, display_name, bio) VALUES ('Ann', 'Ann A.', NULL), ('bob', 'Bob', 'I''m Bob'), ('cy', 'Cy', E'tab\there');
INSERT INTO follow (follower_id, followed_id, since) VALUES (1, 2, '2024-05-05 10:00+00'), (3, 2, '2024-05-06 11:00+00');
INSERT INTO post (author_id, body, tags) VALUES (2, 'hello', '{greeting,"two words"}'), (2, 'secret', '{}'), (1, 'hi \o/', '{}');
UPDATE post SET visibility = 'private' WHERE id = 2;
UPDATE post SET reply_to = 1 WHERE id = 3;
INSERT INTO hashtag (tag, uses) VALUES ('greeting', 1);
INSERT INTO post_hashtag VALUES (1, 1);
INSERT INTO circle (name, owner_id, size) VALUES ('readers', 1, 1);
INSERT INTO membership VALUES (1, 1, true);
INSERT INTO conversation (title) VALUES ('a chat');
INSERT INTO participant VALUES (1, 1), (1, 2);
INSERT INTO message (conversation_id, sender_id, body) VALUES (1, 1, 'hey');
UPDATE conversation SET last_message = 1;

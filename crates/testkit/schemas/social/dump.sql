--
-- PostgreSQL database dump
--

\restrict JREP44Yfcoc68L8JSg2xfK9ymUJO1LqoMu0yrT7M3rwvgbC8dNPcl55noJghdHr

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: note_kind; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.note_kind AS ENUM (
    'like',
    'follow',
    'reply',
    'message'
);


--
-- Name: visibility; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.visibility AS ENUM (
    'public',
    'friends',
    'private'
);


--
-- Name: count_followers(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.count_followers() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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


--
-- Name: feed_size(bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.feed_size(m bigint) RETURNS bigint
    LANGUAGE sql
    AS $$ SELECT count(*) FROM timeline WHERE reader_id = m $$;


--
-- Name: like_post(bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.like_post(p bigint, m bigint) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE n int;
BEGIN
    INSERT INTO likes VALUES (p, m);
    SELECT post.likes + 1 INTO n FROM post WHERE id = p;
    UPDATE post SET likes = n WHERE id = p;
    RETURN n;
END $$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: block; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.block (
    blocker_id bigint NOT NULL,
    blocked_id bigint NOT NULL
);


--
-- Name: circle; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.circle (
    id integer NOT NULL,
    name text NOT NULL,
    owner_id bigint NOT NULL,
    size integer DEFAULT 0 NOT NULL,
    capacity integer DEFAULT 2 NOT NULL,
    CONSTRAINT fits CHECK ((size <= capacity))
);


--
-- Name: circle_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.circle_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: circle_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.circle_id_seq OWNED BY public.circle.id;


--
-- Name: conversation; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.conversation (
    id integer NOT NULL,
    title text,
    last_message bigint
);


--
-- Name: conversation_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.conversation_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: conversation_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.conversation_id_seq OWNED BY public.conversation.id;


--
-- Name: follow; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.follow (
    follower_id bigint NOT NULL,
    followed_id bigint NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT not_self CHECK ((follower_id <> followed_id))
);


--
-- Name: hashtag; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.hashtag (
    id integer NOT NULL,
    tag text NOT NULL,
    uses bigint DEFAULT 0 NOT NULL
);


--
-- Name: hashtag_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.hashtag_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: hashtag_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.hashtag_id_seq OWNED BY public.hashtag.id;


--
-- Name: likes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.likes (
    post_id bigint NOT NULL,
    member_id bigint NOT NULL
);


--
-- Name: media; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.media (
    id uuid NOT NULL,
    post_id bigint,
    url text NOT NULL,
    info jsonb
);


--
-- Name: member; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.member (
    id bigint NOT NULL,
    handle character varying(30) NOT NULL,
    display_name text NOT NULL,
    bio text,
    followers integer DEFAULT 0 NOT NULL,
    prefs jsonb DEFAULT '{"theme": "light"}'::jsonb NOT NULL,
    joined date DEFAULT '2024-01-01'::date NOT NULL,
    banned boolean DEFAULT false NOT NULL
);


--
-- Name: member_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.member ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.member_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: membership; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.membership (
    circle_id integer NOT NULL,
    member_id bigint NOT NULL,
    admin boolean DEFAULT false NOT NULL
);


--
-- Name: message; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.message (
    id bigint NOT NULL,
    conversation_id integer NOT NULL,
    sender_id bigint NOT NULL,
    body text NOT NULL
);


--
-- Name: message_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.message_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: message_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.message_id_seq OWNED BY public.message.id;


--
-- Name: notification; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.notification (
    id bigint NOT NULL,
    member_id bigint NOT NULL,
    kind public.note_kind NOT NULL,
    payload jsonb NOT NULL,
    seen boolean DEFAULT false NOT NULL
);


--
-- Name: notification_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.notification_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: notification_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.notification_id_seq OWNED BY public.notification.id;


--
-- Name: participant; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.participant (
    conversation_id integer NOT NULL,
    member_id bigint NOT NULL
);


--
-- Name: post; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.post (
    id bigint NOT NULL,
    author_id bigint NOT NULL,
    reply_to bigint,
    body text NOT NULL,
    visibility public.visibility DEFAULT 'public'::public.visibility NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    likes integer DEFAULT 0 NOT NULL,
    score numeric(10,4) GENERATED ALWAYS AS (((likes)::numeric * 1.5)) STORED,
    deleted boolean DEFAULT false NOT NULL,
    CONSTRAINT post_body_check CHECK ((length(body) <= 500)),
    CONSTRAINT post_likes_check CHECK ((likes >= 0))
);


--
-- Name: post_hashtag; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.post_hashtag (
    post_id bigint NOT NULL,
    hashtag_id integer NOT NULL
);


--
-- Name: post_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.post_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: post_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.post_id_seq OWNED BY public.post.id;


--
-- Name: report; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.report (
    id integer NOT NULL,
    post_id bigint NOT NULL,
    reporter_id bigint NOT NULL,
    reason text DEFAULT 'spam'::text NOT NULL
);


--
-- Name: report_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.report_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: report_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.report_id_seq OWNED BY public.report.id;


--
-- Name: timeline; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.timeline AS
 SELECT f.follower_id AS reader_id,
    p.id AS post_id,
    p.author_id,
    p.body
   FROM (public.follow f
     JOIN public.post p ON ((p.author_id = f.followed_id)))
  WHERE ((NOT p.deleted) AND (p.visibility <> 'private'::public.visibility));


--
-- Name: visible_post; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.visible_post AS
 SELECT post.id,
    post.author_id,
    post.body,
    post.deleted
   FROM public.post
  WHERE (NOT post.deleted)
  WITH CASCADED CHECK OPTION;


--
-- Name: circle id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.circle ALTER COLUMN id SET DEFAULT nextval('public.circle_id_seq'::regclass);


--
-- Name: conversation id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.conversation ALTER COLUMN id SET DEFAULT nextval('public.conversation_id_seq'::regclass);


--
-- Name: hashtag id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.hashtag ALTER COLUMN id SET DEFAULT nextval('public.hashtag_id_seq'::regclass);


--
-- Name: message id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.message ALTER COLUMN id SET DEFAULT nextval('public.message_id_seq'::regclass);


--
-- Name: notification id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.notification ALTER COLUMN id SET DEFAULT nextval('public.notification_id_seq'::regclass);


--
-- Name: post id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.post ALTER COLUMN id SET DEFAULT nextval('public.post_id_seq'::regclass);


--
-- Name: report id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.report ALTER COLUMN id SET DEFAULT nextval('public.report_id_seq'::regclass);


--
-- Data for Name: block; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.block (blocker_id, blocked_id) FROM stdin;
\.


--
-- Data for Name: circle; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.circle (id, name, owner_id, size, capacity) FROM stdin;
1	readers	1	1	2
\.


--
-- Data for Name: conversation; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.conversation (id, title, last_message) FROM stdin;
1	a chat	1
\.


--
-- Data for Name: follow; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.follow (follower_id, followed_id, since) FROM stdin;
1	2	2024-05-05 10:00:00+00
3	2	2024-05-06 11:00:00+00
\.


--
-- Data for Name: hashtag; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.hashtag (id, tag, uses) FROM stdin;
1	greeting	1
\.


--
-- Data for Name: likes; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.likes (post_id, member_id) FROM stdin;
\.


--
-- Data for Name: media; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.media (id, post_id, url, info) FROM stdin;
\.


--
-- Data for Name: member; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.member (id, handle, display_name, bio, followers, prefs, joined, banned) FROM stdin;
1	Ann	Ann A.	\N	0	{"theme": "light"}	2024-01-01	f
3	cy	Cy	tab\there	0	{"theme": "light"}	2024-01-01	f
2	bob	Bob	I'm Bob	2	{"theme": "light"}	2024-01-01	f
\.


--
-- Data for Name: membership; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.membership (circle_id, member_id, admin) FROM stdin;
1	1	t
\.


--
-- Data for Name: message; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.message (id, conversation_id, sender_id, body) FROM stdin;
1	1	1	hey
\.


--
-- Data for Name: notification; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.notification (id, member_id, kind, payload, seen) FROM stdin;
1	2	follow	{"by": 1}	f
2	2	follow	{"by": 3}	f
\.


--
-- Data for Name: participant; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.participant (conversation_id, member_id) FROM stdin;
1	1
1	2
\.


--
-- Data for Name: post; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.post (id, author_id, reply_to, body, visibility, tags, likes, deleted) FROM stdin;
1	2	\N	hello	public	{greeting,"two words"}	0	f
2	2	\N	secret	private	{}	0	f
3	1	1	hi \\o/	public	{}	0	f
\.


--
-- Data for Name: post_hashtag; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.post_hashtag (post_id, hashtag_id) FROM stdin;
1	1
\.


--
-- Data for Name: report; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.report (id, post_id, reporter_id, reason) FROM stdin;
\.


--
-- Name: circle_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.circle_id_seq', 1, true);


--
-- Name: conversation_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.conversation_id_seq', 1, true);


--
-- Name: hashtag_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.hashtag_id_seq', 1, true);


--
-- Name: member_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.member_id_seq', 3, true);


--
-- Name: message_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.message_id_seq', 1, true);


--
-- Name: notification_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.notification_id_seq', 2, true);


--
-- Name: post_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.post_id_seq', 3, true);


--
-- Name: report_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.report_id_seq', 1, false);


--
-- Name: block block_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.block
    ADD CONSTRAINT block_pkey PRIMARY KEY (blocker_id, blocked_id);


--
-- Name: circle circle_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.circle
    ADD CONSTRAINT circle_name_key UNIQUE (name);


--
-- Name: circle circle_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.circle
    ADD CONSTRAINT circle_pkey PRIMARY KEY (id);


--
-- Name: conversation conversation_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.conversation
    ADD CONSTRAINT conversation_pkey PRIMARY KEY (id);


--
-- Name: follow follow_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.follow
    ADD CONSTRAINT follow_pkey PRIMARY KEY (follower_id, followed_id);


--
-- Name: hashtag hashtag_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.hashtag
    ADD CONSTRAINT hashtag_pkey PRIMARY KEY (id);


--
-- Name: hashtag hashtag_tag_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.hashtag
    ADD CONSTRAINT hashtag_tag_key UNIQUE (tag);


--
-- Name: likes likes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.likes
    ADD CONSTRAINT likes_pkey PRIMARY KEY (post_id, member_id);


--
-- Name: media media_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.media
    ADD CONSTRAINT media_pkey PRIMARY KEY (id);


--
-- Name: member member_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.member
    ADD CONSTRAINT member_pkey PRIMARY KEY (id);


--
-- Name: membership membership_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.membership
    ADD CONSTRAINT membership_pkey PRIMARY KEY (circle_id, member_id);


--
-- Name: message message_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.message
    ADD CONSTRAINT message_pkey PRIMARY KEY (id);


--
-- Name: notification notification_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.notification
    ADD CONSTRAINT notification_pkey PRIMARY KEY (id);


--
-- Name: participant participant_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.participant
    ADD CONSTRAINT participant_pkey PRIMARY KEY (conversation_id, member_id);


--
-- Name: post_hashtag post_hashtag_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.post_hashtag
    ADD CONSTRAINT post_hashtag_pkey PRIMARY KEY (post_id, hashtag_id);


--
-- Name: post post_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.post
    ADD CONSTRAINT post_pkey PRIMARY KEY (id);


--
-- Name: report report_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.report
    ADD CONSTRAINT report_pkey PRIMARY KEY (id);


--
-- Name: report report_post_id_reporter_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.report
    ADD CONSTRAINT report_post_id_reporter_id_key UNIQUE (post_id, reporter_id);


--
-- Name: follow_back; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX follow_back ON public.follow USING btree (followed_id);


--
-- Name: member_handle; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX member_handle ON public.member USING btree (lower((handle)::text));


--
-- Name: post_author; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX post_author ON public.post USING btree (author_id, id DESC) WHERE (NOT deleted);


--
-- Name: unseen; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX unseen ON public.notification USING btree (member_id) WHERE (NOT seen);


--
-- Name: follow followers_counted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER followers_counted AFTER INSERT OR DELETE ON public.follow FOR EACH ROW EXECUTE FUNCTION public.count_followers();


--
-- Name: block block_blocked_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.block
    ADD CONSTRAINT block_blocked_id_fkey FOREIGN KEY (blocked_id) REFERENCES public.member(id) ON DELETE CASCADE;


--
-- Name: block block_blocker_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.block
    ADD CONSTRAINT block_blocker_id_fkey FOREIGN KEY (blocker_id) REFERENCES public.member(id) ON DELETE CASCADE;


--
-- Name: circle circle_owner_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.circle
    ADD CONSTRAINT circle_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.member(id);


--
-- Name: follow follow_followed_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.follow
    ADD CONSTRAINT follow_followed_id_fkey FOREIGN KEY (followed_id) REFERENCES public.member(id) ON DELETE CASCADE;


--
-- Name: follow follow_follower_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.follow
    ADD CONSTRAINT follow_follower_id_fkey FOREIGN KEY (follower_id) REFERENCES public.member(id) ON DELETE CASCADE;


--
-- Name: conversation last_is_message; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.conversation
    ADD CONSTRAINT last_is_message FOREIGN KEY (last_message) REFERENCES public.message(id) DEFERRABLE INITIALLY DEFERRED;


--
-- Name: likes likes_member_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.likes
    ADD CONSTRAINT likes_member_id_fkey FOREIGN KEY (member_id) REFERENCES public.member(id) ON DELETE CASCADE;


--
-- Name: likes likes_post_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.likes
    ADD CONSTRAINT likes_post_id_fkey FOREIGN KEY (post_id) REFERENCES public.post(id) ON DELETE CASCADE;


--
-- Name: media media_post_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.media
    ADD CONSTRAINT media_post_id_fkey FOREIGN KEY (post_id) REFERENCES public.post(id) ON DELETE CASCADE;


--
-- Name: membership membership_circle_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.membership
    ADD CONSTRAINT membership_circle_id_fkey FOREIGN KEY (circle_id) REFERENCES public.circle(id) ON DELETE CASCADE;


--
-- Name: membership membership_member_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.membership
    ADD CONSTRAINT membership_member_id_fkey FOREIGN KEY (member_id) REFERENCES public.member(id) ON DELETE CASCADE;


--
-- Name: message message_conversation_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.message
    ADD CONSTRAINT message_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES public.conversation(id) ON DELETE CASCADE;


--
-- Name: message message_sender_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.message
    ADD CONSTRAINT message_sender_id_fkey FOREIGN KEY (sender_id) REFERENCES public.member(id);


--
-- Name: notification notification_member_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.notification
    ADD CONSTRAINT notification_member_id_fkey FOREIGN KEY (member_id) REFERENCES public.member(id) ON DELETE CASCADE;


--
-- Name: participant participant_conversation_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.participant
    ADD CONSTRAINT participant_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES public.conversation(id) ON DELETE CASCADE;


--
-- Name: participant participant_member_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.participant
    ADD CONSTRAINT participant_member_id_fkey FOREIGN KEY (member_id) REFERENCES public.member(id);


--
-- Name: post post_author_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.post
    ADD CONSTRAINT post_author_id_fkey FOREIGN KEY (author_id) REFERENCES public.member(id);


--
-- Name: post_hashtag post_hashtag_hashtag_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.post_hashtag
    ADD CONSTRAINT post_hashtag_hashtag_id_fkey FOREIGN KEY (hashtag_id) REFERENCES public.hashtag(id);


--
-- Name: post_hashtag post_hashtag_post_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.post_hashtag
    ADD CONSTRAINT post_hashtag_post_id_fkey FOREIGN KEY (post_id) REFERENCES public.post(id) ON DELETE CASCADE;


--
-- Name: post post_reply_to_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.post
    ADD CONSTRAINT post_reply_to_fkey FOREIGN KEY (reply_to) REFERENCES public.post(id) ON DELETE SET NULL;


--
-- Name: report report_post_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.report
    ADD CONSTRAINT report_post_id_fkey FOREIGN KEY (post_id) REFERENCES public.post(id);


--
-- Name: report report_reporter_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.report
    ADD CONSTRAINT report_reporter_id_fkey FOREIGN KEY (reporter_id) REFERENCES public.member(id);


--
-- PostgreSQL database dump complete
--

\unrestrict JREP44Yfcoc68L8JSg2xfK9ymUJO1LqoMu0yrT7M3rwvgbC8dNPcl55noJghdHr


# The same from structure.sql, as PostgreSQL dumps it.
# file: app/models/models.rb
class User < ApplicationRecord; has_many :posts, dependent: :delete_all; end
class Post < ApplicationRecord; belongs_to :user; belongs_to :topic, optional: true; end
class Topic < ApplicationRecord; end
# file: db/structure.sql
\restrict abc
SET statement_timeout = 0;
CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA public;
CREATE TABLE public.users (
    id bigint NOT NULL,
    email public.citext DEFAULT ''::character varying NOT NULL
);
CREATE SEQUENCE public.users_id_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1;
CREATE TABLE public.topics (id bigint NOT NULL);
CREATE TABLE public.posts (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    topic_id bigint,
    slug character varying(255),
    CONSTRAINT topic_there CHECK ((topic_id IS NOT NULL))
);
ALTER TABLE ONLY public.posts ADD CONSTRAINT posts_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX index_posts_on_slug ON public.posts USING btree (slug, user_id) WHERE (slug IS NOT NULL);
CREATE TRIGGER cleanup BEFORE DELETE ON public.users FOR EACH ROW EXECUTE FUNCTION public.cleanup();
ALTER TABLE ONLY public.posts
    ADD CONSTRAINT fk_rails_1 FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.posts
    ADD CONSTRAINT fk_rails_2 FOREIGN KEY (topic_id) REFERENCES public.topics(id);
COPY public.users (id, email) FROM stdin;
1	a@b; c'
\.
INSERT INTO schema_migrations (version) VALUES ('1');

-- Two members like a post at the same moment: one like is lost in the counter.
\ir dump.sql

--@ thread ann
SELECT public.like_post(1, 1);

--@ thread cy
SELECT public.like_post(1, 3);

--@ thread bob
BEGIN;
INSERT INTO public.message (conversation_id, sender_id, body) VALUES (1, 2, 'hello');
UPDATE public.conversation SET last_message = 2 WHERE id = 1;
COMMIT;

--@ final counted
SELECT p.likes = (SELECT count(*) FROM public.likes l WHERE l.post_id = p.id) FROM public.post p WHERE p.id = 1;

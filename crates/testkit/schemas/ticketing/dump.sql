--
-- PostgreSQL database dump
--

\restrict BQoIwHzYK9ru9do3NKAd6Uz5FTsDpZ5quV6bYIglBxY9QFL2g4QwvLXVg83dXCB

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
-- Name: box; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA box;


--
-- Name: seat_kind; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.seat_kind AS ENUM (
    'stalls',
    'circle',
    'box'
);


--
-- Name: buy(bigint, bigint); Type: PROCEDURE; Schema: box; Owner: -
--

CREATE PROCEDURE box.buy(IN who bigint, IN what bigint)
    LANGUAGE plpgsql
    AS $$
DECLARE t record;
BEGIN
    SELECT * INTO t FROM box.ticket WHERE id = what;
    IF t.sold_to IS NOT NULL THEN
        RAISE EXCEPTION 'sold already';
    END IF;
    UPDATE box.ticket SET sold_to = who WHERE id = what;
    INSERT INTO box.sale (ticket_id, client_id, amount) VALUES (what, who, 10);
END $$;


--
-- Name: journal_sale(); Type: FUNCTION; Schema: box; Owner: -
--

CREATE FUNCTION box.journal_sale() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO box.journal (line) VALUES ('sold ' || NEW.ticket_id);
    RETURN NULL;
END $$;


--
-- Name: price_of(integer, public.seat_kind); Type: FUNCTION; Schema: box; Owner: -
--

CREATE FUNCTION box.price_of(show integer, seat public.seat_kind) RETURNS numeric
    LANGUAGE sql
    AS $$
    SELECT amount FROM public.price p WHERE p.show_id = show AND p.kind = seat
$$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: client; Type: TABLE; Schema: box; Owner: -
--

CREATE TABLE box.client (
    id bigint NOT NULL,
    email text NOT NULL,
    phone character varying(30),
    CONSTRAINT reachable CHECK (((email <> ''::text) OR (phone IS NOT NULL)))
);


--
-- Name: client_id_seq; Type: SEQUENCE; Schema: box; Owner: -
--

CREATE SEQUENCE box.client_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: client_id_seq; Type: SEQUENCE OWNED BY; Schema: box; Owner: -
--

ALTER SEQUENCE box.client_id_seq OWNED BY box.client.id;


--
-- Name: hold; Type: TABLE; Schema: box; Owner: -
--

CREATE TABLE box.hold (
    id bigint NOT NULL,
    client_id bigint NOT NULL,
    show_id integer NOT NULL,
    expires timestamp with time zone,
    released boolean DEFAULT false NOT NULL
);


--
-- Name: hold_id_seq; Type: SEQUENCE; Schema: box; Owner: -
--

CREATE SEQUENCE box.hold_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: hold_id_seq; Type: SEQUENCE OWNED BY; Schema: box; Owner: -
--

ALTER SEQUENCE box.hold_id_seq OWNED BY box.hold.id;


--
-- Name: journal; Type: TABLE; Schema: box; Owner: -
--

CREATE TABLE box.journal (
    id bigint NOT NULL,
    line text NOT NULL
);


--
-- Name: journal_id_seq; Type: SEQUENCE; Schema: box; Owner: -
--

CREATE SEQUENCE box.journal_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: journal_id_seq; Type: SEQUENCE OWNED BY; Schema: box; Owner: -
--

ALTER SEQUENCE box.journal_id_seq OWNED BY box.journal.id;


--
-- Name: ticket; Type: TABLE; Schema: box; Owner: -
--

CREATE TABLE box.ticket (
    id bigint NOT NULL,
    show_id integer NOT NULL,
    hall_id integer NOT NULL,
    "row" smallint NOT NULL,
    number smallint NOT NULL,
    hold_id bigint,
    sold_to bigint,
    void boolean DEFAULT false NOT NULL
);


--
-- Name: open_ticket; Type: VIEW; Schema: box; Owner: -
--

CREATE VIEW box.open_ticket AS
 SELECT ticket.id,
    ticket.show_id,
    ticket.hall_id,
    ticket."row",
    ticket.number,
    ticket.hold_id
   FROM box.ticket
  WHERE ((ticket.sold_to IS NULL) AND (NOT ticket.void));


--
-- Name: refund; Type: TABLE; Schema: box; Owner: -
--

CREATE TABLE box.refund (
    sale_id bigint NOT NULL,
    reason text DEFAULT 'asked'::text NOT NULL
);


--
-- Name: sale; Type: TABLE; Schema: box; Owner: -
--

CREATE TABLE box.sale (
    id bigint NOT NULL,
    ticket_id bigint NOT NULL,
    client_id bigint NOT NULL,
    amount numeric(8,2) NOT NULL,
    fee numeric(8,2) GENERATED ALWAYS AS (round((amount * 0.1), 2)) STORED
);


--
-- Name: sale_id_seq; Type: SEQUENCE; Schema: box; Owner: -
--

ALTER TABLE box.sale ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME box.sale_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: event; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.event (
    id integer NOT NULL,
    title text NOT NULL,
    description text,
    meta jsonb DEFAULT '{}'::jsonb NOT NULL
);


--
-- Name: show; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.show (
    id integer NOT NULL,
    event_id integer NOT NULL,
    hall_id integer NOT NULL,
    starts timestamp without time zone NOT NULL,
    duration interval DEFAULT '02:00:00'::interval NOT NULL,
    on_sale boolean DEFAULT true NOT NULL
);


--
-- Name: sold; Type: VIEW; Schema: box; Owner: -
--

CREATE VIEW box.sold AS
 SELECT s.id AS show_id,
    e.title,
    count(t.id) AS tickets
   FROM ((public.show s
     JOIN public.event e ON ((e.id = s.event_id)))
     LEFT JOIN box.ticket t ON (((t.show_id = s.id) AND (t.sold_to IS NOT NULL) AND (NOT t.void))))
  GROUP BY s.id, e.title;


--
-- Name: ticket_id_seq; Type: SEQUENCE; Schema: box; Owner: -
--

CREATE SEQUENCE box.ticket_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: ticket_id_seq; Type: SEQUENCE OWNED BY; Schema: box; Owner: -
--

ALTER SEQUENCE box.ticket_id_seq OWNED BY box.ticket.id;


--
-- Name: event_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.event_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: event_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.event_id_seq OWNED BY public.event.id;


--
-- Name: event_performer; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.event_performer (
    event_id integer NOT NULL,
    performer_id integer NOT NULL,
    billing integer
);


--
-- Name: hall; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.hall (
    id integer NOT NULL,
    venue_id integer NOT NULL,
    name text NOT NULL
);


--
-- Name: hall_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.hall ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.hall_id_seq
    START WITH 10
    INCREMENT BY 10
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: performer; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.performer (
    id integer NOT NULL,
    name text NOT NULL,
    links text[]
);


--
-- Name: performer_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.performer_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: performer_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.performer_id_seq OWNED BY public.performer.id;


--
-- Name: price; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.price (
    show_id integer NOT NULL,
    kind public.seat_kind NOT NULL,
    amount numeric(8,2) NOT NULL,
    CONSTRAINT price_amount_check CHECK ((amount > (0)::numeric))
);


--
-- Name: seat; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.seat (
    hall_id integer NOT NULL,
    "row" smallint NOT NULL,
    number smallint NOT NULL,
    kind public.seat_kind DEFAULT 'stalls'::public.seat_kind NOT NULL
);


--
-- Name: show_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.show_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: show_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.show_id_seq OWNED BY public.show.id;


--
-- Name: venue; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.venue (
    id integer NOT NULL,
    name text NOT NULL,
    city text
);


--
-- Name: client id; Type: DEFAULT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.client ALTER COLUMN id SET DEFAULT nextval('box.client_id_seq'::regclass);


--
-- Name: hold id; Type: DEFAULT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.hold ALTER COLUMN id SET DEFAULT nextval('box.hold_id_seq'::regclass);


--
-- Name: journal id; Type: DEFAULT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.journal ALTER COLUMN id SET DEFAULT nextval('box.journal_id_seq'::regclass);


--
-- Name: ticket id; Type: DEFAULT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.ticket ALTER COLUMN id SET DEFAULT nextval('box.ticket_id_seq'::regclass);


--
-- Name: event id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.event ALTER COLUMN id SET DEFAULT nextval('public.event_id_seq'::regclass);


--
-- Name: performer id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.performer ALTER COLUMN id SET DEFAULT nextval('public.performer_id_seq'::regclass);


--
-- Name: show id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.show ALTER COLUMN id SET DEFAULT nextval('public.show_id_seq'::regclass);


--
-- Data for Name: client; Type: TABLE DATA; Schema: box; Owner: -
--

COPY box.client (id, email, phone) FROM stdin;
1	ann@x	\N
2	bob@x	\N
\.


--
-- Data for Name: hold; Type: TABLE DATA; Schema: box; Owner: -
--

COPY box.hold (id, client_id, show_id, expires, released) FROM stdin;
\.


--
-- Data for Name: journal; Type: TABLE DATA; Schema: box; Owner: -
--

COPY box.journal (id, line) FROM stdin;
\.


--
-- Data for Name: refund; Type: TABLE DATA; Schema: box; Owner: -
--

COPY box.refund (sale_id, reason) FROM stdin;
\.


--
-- Data for Name: sale; Type: TABLE DATA; Schema: box; Owner: -
--

COPY box.sale (id, ticket_id, client_id, amount) FROM stdin;
\.


--
-- Data for Name: ticket; Type: TABLE DATA; Schema: box; Owner: -
--

COPY box.ticket (id, show_id, hall_id, "row", number, hold_id, sold_to, void) FROM stdin;
1	1	10	1	1	\N	\N	f
2	1	10	1	2	\N	\N	f
3	2	20	1	1	\N	\N	f
\.


--
-- Data for Name: event; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.event (id, title, description, meta) FROM stdin;
1	Gala	\N	{}
2	Gig	\N	{}
\.


--
-- Data for Name: event_performer; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.event_performer (event_id, performer_id, billing) FROM stdin;
1	1	1
2	2	1
\.


--
-- Data for Name: hall; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.hall (id, venue_id, name) FROM stdin;
10	1	Main
20	2	Cellar
\.


--
-- Data for Name: performer; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.performer (id, name, links) FROM stdin;
1	Tenor	{http://a,http://b}
2	Band	\N
\.


--
-- Data for Name: price; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.price (show_id, kind, amount) FROM stdin;
1	stalls	55.50
2	box	12.00
\.


--
-- Data for Name: seat; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.seat (hall_id, "row", number, kind) FROM stdin;
10	1	1	stalls
10	1	2	stalls
10	1	3	stalls
10	2	1	stalls
10	2	2	stalls
10	2	3	stalls
20	1	1	box
\.


--
-- Data for Name: show; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.show (id, event_id, hall_id, starts, duration, on_sale) FROM stdin;
1	1	10	2026-05-01 20:00:00	02:00:00	t
2	2	20	2026-05-02 22:30:00	02:00:00	t
\.


--
-- Data for Name: venue; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.venue (id, name, city) FROM stdin;
1	Opera	Vienna
2	Club	\N
\.


--
-- Name: client_id_seq; Type: SEQUENCE SET; Schema: box; Owner: -
--

SELECT pg_catalog.setval('box.client_id_seq', 2, true);


--
-- Name: hold_id_seq; Type: SEQUENCE SET; Schema: box; Owner: -
--

SELECT pg_catalog.setval('box.hold_id_seq', 1, false);


--
-- Name: journal_id_seq; Type: SEQUENCE SET; Schema: box; Owner: -
--

SELECT pg_catalog.setval('box.journal_id_seq', 1, false);


--
-- Name: sale_id_seq; Type: SEQUENCE SET; Schema: box; Owner: -
--

SELECT pg_catalog.setval('box.sale_id_seq', 1, false);


--
-- Name: ticket_id_seq; Type: SEQUENCE SET; Schema: box; Owner: -
--

SELECT pg_catalog.setval('box.ticket_id_seq', 3, true);


--
-- Name: event_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.event_id_seq', 2, true);


--
-- Name: hall_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.hall_id_seq', 20, true);


--
-- Name: performer_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.performer_id_seq', 2, true);


--
-- Name: show_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.show_id_seq', 2, true);


--
-- Name: client client_pkey; Type: CONSTRAINT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.client
    ADD CONSTRAINT client_pkey PRIMARY KEY (id);


--
-- Name: hold hold_pkey; Type: CONSTRAINT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.hold
    ADD CONSTRAINT hold_pkey PRIMARY KEY (id);


--
-- Name: journal journal_pkey; Type: CONSTRAINT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.journal
    ADD CONSTRAINT journal_pkey PRIMARY KEY (id);


--
-- Name: refund refund_pkey; Type: CONSTRAINT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.refund
    ADD CONSTRAINT refund_pkey PRIMARY KEY (sale_id);


--
-- Name: sale sale_pkey; Type: CONSTRAINT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.sale
    ADD CONSTRAINT sale_pkey PRIMARY KEY (id);


--
-- Name: sale sale_ticket_id_key; Type: CONSTRAINT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.sale
    ADD CONSTRAINT sale_ticket_id_key UNIQUE (ticket_id);


--
-- Name: ticket ticket_pkey; Type: CONSTRAINT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.ticket
    ADD CONSTRAINT ticket_pkey PRIMARY KEY (id);


--
-- Name: event_performer event_performer_event_id_billing_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.event_performer
    ADD CONSTRAINT event_performer_event_id_billing_key UNIQUE (event_id, billing) DEFERRABLE;


--
-- Name: event_performer event_performer_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.event_performer
    ADD CONSTRAINT event_performer_pkey PRIMARY KEY (event_id, performer_id);


--
-- Name: event event_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (id);


--
-- Name: hall hall_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.hall
    ADD CONSTRAINT hall_pkey PRIMARY KEY (id);


--
-- Name: hall hall_venue_id_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.hall
    ADD CONSTRAINT hall_venue_id_name_key UNIQUE (venue_id, name);


--
-- Name: show one_show_at_a_time; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.show
    ADD CONSTRAINT one_show_at_a_time UNIQUE (hall_id, starts);


--
-- Name: performer performer_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.performer
    ADD CONSTRAINT performer_pkey PRIMARY KEY (id);


--
-- Name: price price_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.price
    ADD CONSTRAINT price_pkey PRIMARY KEY (show_id, kind);


--
-- Name: seat seat_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.seat
    ADD CONSTRAINT seat_pkey PRIMARY KEY (hall_id, "row", number);


--
-- Name: show show_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.show
    ADD CONSTRAINT show_pkey PRIMARY KEY (id);


--
-- Name: venue venue_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.venue
    ADD CONSTRAINT venue_pkey PRIMARY KEY (id);


--
-- Name: client_email; Type: INDEX; Schema: box; Owner: -
--

CREATE UNIQUE INDEX client_email ON box.client USING btree (lower(email));


--
-- Name: ticket_once; Type: INDEX; Schema: box; Owner: -
--

CREATE UNIQUE INDEX ticket_once ON box.ticket USING btree (show_id, hall_id, "row", number) WHERE (NOT void);


--
-- Name: sale sale_journal; Type: TRIGGER; Schema: box; Owner: -
--

CREATE TRIGGER sale_journal AFTER INSERT ON box.sale FOR EACH ROW EXECUTE FUNCTION box.journal_sale();


--
-- Name: hold hold_client_id_fkey; Type: FK CONSTRAINT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.hold
    ADD CONSTRAINT hold_client_id_fkey FOREIGN KEY (client_id) REFERENCES box.client(id) ON DELETE CASCADE;


--
-- Name: hold hold_show_id_fkey; Type: FK CONSTRAINT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.hold
    ADD CONSTRAINT hold_show_id_fkey FOREIGN KEY (show_id) REFERENCES public.show(id);


--
-- Name: refund refund_sale_id_fkey; Type: FK CONSTRAINT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.refund
    ADD CONSTRAINT refund_sale_id_fkey FOREIGN KEY (sale_id) REFERENCES box.sale(id);


--
-- Name: sale sale_client_id_fkey; Type: FK CONSTRAINT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.sale
    ADD CONSTRAINT sale_client_id_fkey FOREIGN KEY (client_id) REFERENCES box.client(id);


--
-- Name: sale sale_ticket_id_fkey; Type: FK CONSTRAINT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.sale
    ADD CONSTRAINT sale_ticket_id_fkey FOREIGN KEY (ticket_id) REFERENCES box.ticket(id);


--
-- Name: ticket ticket_hall_id_row_number_fkey; Type: FK CONSTRAINT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.ticket
    ADD CONSTRAINT ticket_hall_id_row_number_fkey FOREIGN KEY (hall_id, "row", number) REFERENCES public.seat(hall_id, "row", number) MATCH FULL;


--
-- Name: ticket ticket_hold_id_fkey; Type: FK CONSTRAINT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.ticket
    ADD CONSTRAINT ticket_hold_id_fkey FOREIGN KEY (hold_id) REFERENCES box.hold(id) ON DELETE SET NULL;


--
-- Name: ticket ticket_show_id_fkey; Type: FK CONSTRAINT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.ticket
    ADD CONSTRAINT ticket_show_id_fkey FOREIGN KEY (show_id) REFERENCES public.show(id);


--
-- Name: ticket ticket_sold_to_fkey; Type: FK CONSTRAINT; Schema: box; Owner: -
--

ALTER TABLE ONLY box.ticket
    ADD CONSTRAINT ticket_sold_to_fkey FOREIGN KEY (sold_to) REFERENCES box.client(id);


--
-- Name: event_performer event_performer_event_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.event_performer
    ADD CONSTRAINT event_performer_event_id_fkey FOREIGN KEY (event_id) REFERENCES public.event(id) ON DELETE CASCADE;


--
-- Name: event_performer event_performer_performer_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.event_performer
    ADD CONSTRAINT event_performer_performer_id_fkey FOREIGN KEY (performer_id) REFERENCES public.performer(id);


--
-- Name: hall hall_venue_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.hall
    ADD CONSTRAINT hall_venue_id_fkey FOREIGN KEY (venue_id) REFERENCES public.venue(id) ON UPDATE CASCADE ON DELETE RESTRICT;


--
-- Name: price price_show_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.price
    ADD CONSTRAINT price_show_id_fkey FOREIGN KEY (show_id) REFERENCES public.show(id) ON DELETE CASCADE;


--
-- Name: seat seat_hall_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.seat
    ADD CONSTRAINT seat_hall_id_fkey FOREIGN KEY (hall_id) REFERENCES public.hall(id);


--
-- Name: show show_event_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.show
    ADD CONSTRAINT show_event_id_fkey FOREIGN KEY (event_id) REFERENCES public.event(id);


--
-- Name: show show_hall_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.show
    ADD CONSTRAINT show_hall_id_fkey FOREIGN KEY (hall_id) REFERENCES public.hall(id);


--
-- PostgreSQL database dump complete
--

\unrestrict BQoIwHzYK9ru9do3NKAd6Uz5FTsDpZ5quV6bYIglBxY9QFL2g4QwvLXVg83dXCB


--
-- PostgreSQL database dump
--

\restrict 7AtNPfyH3EGihHeJyMBJehTXNP7vYrPGDHCUAxEtAfaJ49AHgGyg2PhUTQduLdJ

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
-- Name: order_status; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.order_status AS ENUM (
    'cart',
    'placed',
    'paid',
    'shipped',
    'cancelled'
);


--
-- Name: payment_method; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.payment_method AS ENUM (
    'card',
    'invoice',
    'voucher'
);


--
-- Name: positive_amount; Type: DOMAIN; Schema: public; Owner: -
--

CREATE DOMAIN public.positive_amount AS numeric(12,2)
	CONSTRAINT positive_amount_check CHECK ((VALUE >= (0)::numeric));


--
-- Name: log_order(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.log_order() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO audit (what, row_id) VALUES (TG_OP || ' order', NEW.number::text);
    RETURN NEW;
END $$;


--
-- Name: order_sum(bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.order_sum(o bigint) RETURNS numeric
    LANGUAGE sql STABLE
    AS $$
    SELECT coalesce(sum(amount), 0) FROM order_line WHERE order_id = o
$$;


--
-- Name: reserve(integer, integer); Type: PROCEDURE; Schema: public; Owner: -
--

CREATE PROCEDURE public.reserve(IN prod integer, IN wanted integer)
    LANGUAGE plpgsql
    AS $$
DECLARE free int;
BEGIN
    SELECT on_hand - reserved INTO free FROM stock WHERE warehouse_id = 1 AND product_id = prod;
    IF free < wanted THEN
        RAISE EXCEPTION 'only % left', free;
    END IF;
    UPDATE stock SET reserved = reserved + wanted WHERE warehouse_id = 1 AND product_id = prod;
END $$;


--
-- Name: set_price(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.set_price() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.price IS NULL THEN
        SELECT p.price INTO NEW.price FROM product p WHERE p.id = NEW.product_id;
    END IF;
    RETURN NEW;
END $$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: product; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.product (
    id integer NOT NULL,
    sku character varying(20) NOT NULL,
    name text NOT NULL,
    price public.positive_amount NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    attributes jsonb,
    search_name text GENERATED ALWAYS AS (lower(name)) STORED,
    active boolean DEFAULT true NOT NULL
);


--
-- Name: active_product; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.active_product AS
 SELECT product.id,
    product.sku,
    product.name,
    product.price
   FROM public.product
  WHERE product.active;


--
-- Name: address; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.address (
    id integer NOT NULL,
    customer_id bigint NOT NULL,
    country text NOT NULL,
    street text NOT NULL,
    is_default boolean DEFAULT false NOT NULL
);


--
-- Name: address_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.address_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: address_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.address_id_seq OWNED BY public.address.id;


--
-- Name: audit; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.audit (
    id bigint NOT NULL,
    what text NOT NULL,
    row_id text,
    at timestamp with time zone DEFAULT now()
);


--
-- Name: TABLE audit; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.audit IS 'who did what';


--
-- Name: audit_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: audit_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.audit_id_seq OWNED BY public.audit.id;


--
-- Name: stock; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.stock (
    warehouse_id smallint NOT NULL,
    product_id integer NOT NULL,
    on_hand integer NOT NULL,
    reserved integer DEFAULT 0 NOT NULL,
    CONSTRAINT not_overreserved CHECK (((reserved >= 0) AND (reserved <= on_hand))),
    CONSTRAINT stock_on_hand_check CHECK ((on_hand >= 0))
);


--
-- Name: available; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.available AS
 SELECT s.product_id,
    sum((s.on_hand - s.reserved)) AS free
   FROM public.stock s
  GROUP BY s.product_id;


--
-- Name: category; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.category (
    id integer NOT NULL,
    parent_id integer,
    name text NOT NULL
);


--
-- Name: category_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.category_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: category_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.category_id_seq OWNED BY public.category.id;


--
-- Name: country; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.country (
    code text NOT NULL,
    name text NOT NULL,
    vat numeric(4,2) DEFAULT 19.00 NOT NULL
);


--
-- Name: coupon; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.coupon (
    code text NOT NULL,
    percent integer,
    amount numeric(12,2),
    uses_left integer DEFAULT 1 NOT NULL,
    valid_until date,
    CONSTRAINT coupon_percent_check CHECK (((percent >= 1) AND (percent <= 100))),
    CONSTRAINT coupon_uses_left_check CHECK ((uses_left >= 0)),
    CONSTRAINT one_kind CHECK (((percent IS NULL) <> (amount IS NULL)))
);


--
-- Name: customer; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.customer (
    id bigint NOT NULL,
    email text NOT NULL,
    name text NOT NULL,
    credit numeric(12,2) DEFAULT 0 NOT NULL,
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT customer_credit_check CHECK ((credit >= (0)::numeric))
);


--
-- Name: customer_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.customer ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.customer_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: order_line; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.order_line (
    order_id bigint NOT NULL,
    "position" integer NOT NULL,
    product_id integer NOT NULL,
    quantity integer NOT NULL,
    price numeric(12,2) NOT NULL,
    amount numeric(14,2) GENERATED ALWAYS AS (((quantity)::numeric * price)) STORED,
    CONSTRAINT order_line_quantity_check CHECK ((quantity > 0))
);


--
-- Name: order_number; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.order_number
    START WITH 1000
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: orders; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.orders (
    id bigint NOT NULL,
    number bigint DEFAULT nextval('public.order_number'::regclass) NOT NULL,
    customer_id bigint NOT NULL,
    address_id integer,
    coupon text,
    status public.order_status DEFAULT 'cart'::public.order_status NOT NULL,
    total numeric(12,2) DEFAULT 0 NOT NULL,
    placed_at timestamp without time zone
);


--
-- Name: order_total; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.order_total AS
 SELECT o.id,
    o.number,
    COALESCE(sum(l.amount), (0)::numeric) AS total,
    count(l."position") AS lines
   FROM (public.orders o
     LEFT JOIN public.order_line l ON ((l.order_id = o.id)))
  GROUP BY o.id, o.number;


--
-- Name: orders_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.orders_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: orders_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.orders_id_seq OWNED BY public.orders.id;


--
-- Name: payment; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.payment (
    id uuid NOT NULL,
    order_id bigint NOT NULL,
    method public.payment_method NOT NULL,
    amount public.positive_amount NOT NULL,
    reference text
);


--
-- Name: product_category; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.product_category (
    product_id integer NOT NULL,
    category_id integer NOT NULL
);


--
-- Name: product_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.product_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: product_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.product_id_seq OWNED BY public.product.id;


--
-- Name: review; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.review (
    product_id integer NOT NULL,
    customer_id bigint NOT NULL,
    stars smallint NOT NULL,
    body text,
    CONSTRAINT review_stars_check CHECK (((stars >= 1) AND (stars <= 5)))
);


--
-- Name: shipment; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.shipment (
    id integer NOT NULL,
    order_id bigint NOT NULL,
    warehouse_id smallint NOT NULL,
    shipped_on date
);


--
-- Name: shipment_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.shipment_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: shipment_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.shipment_id_seq OWNED BY public.shipment.id;


--
-- Name: warehouse; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.warehouse (
    id smallint NOT NULL,
    name text NOT NULL,
    country text
);


--
-- Name: address id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.address ALTER COLUMN id SET DEFAULT nextval('public.address_id_seq'::regclass);


--
-- Name: audit id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit ALTER COLUMN id SET DEFAULT nextval('public.audit_id_seq'::regclass);


--
-- Name: category id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.category ALTER COLUMN id SET DEFAULT nextval('public.category_id_seq'::regclass);


--
-- Name: orders id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders ALTER COLUMN id SET DEFAULT nextval('public.orders_id_seq'::regclass);


--
-- Name: product id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.product ALTER COLUMN id SET DEFAULT nextval('public.product_id_seq'::regclass);


--
-- Name: shipment id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.shipment ALTER COLUMN id SET DEFAULT nextval('public.shipment_id_seq'::regclass);


--
-- Data for Name: address; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.address (id, customer_id, country, street, is_default) FROM stdin;
1	1	DE	Hauptstr. 1	t
2	2	FR	Rue 2	t
\.


--
-- Data for Name: audit; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.audit (id, what, row_id, at) FROM stdin;
1	INSERT order	1000	2026-11-16 03:04:33.85354+00
2	INSERT order	1001	2026-11-16 03:04:33.85354+00
\.


--
-- Data for Name: category; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.category (id, parent_id, name) FROM stdin;
2	1	Books
1	\N	All
\.


--
-- Data for Name: country; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.country (code, name, vat) FROM stdin;
DE	Germany	19.00
FR	France	20.00
IS	Iceland\twith a tab	19.00
\.


--
-- Data for Name: coupon; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.coupon (code, percent, amount, uses_left, valid_until) FROM stdin;
TEN	10	\N	1	2030-01-01
FIVER	\N	5.00	3	\N
\.


--
-- Data for Name: customer; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.customer (id, email, name, credit, settings, created_at, deleted_at) FROM stdin;
1	Ann@example.com	Ann	100.00	{}	2026-11-16 03:04:33.797377+00	\N
2	bob@example.com	Bob	20.50	{}	2026-11-16 03:04:33.797377+00	\N
\.


--
-- Data for Name: order_line; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.order_line (order_id, "position", product_id, quantity, price) FROM stdin;
1	1	1	2	12.50
2	1	2	1	40.00
\.


--
-- Data for Name: orders; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.orders (id, number, customer_id, address_id, coupon, status, total, placed_at) FROM stdin;
1	1000	1	1	\N	cart	0.00	\N
2	1001	2	2	\N	placed	0.00	\N
\.


--
-- Data for Name: payment; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.payment (id, order_id, method, amount, reference) FROM stdin;
6f1b0a3e-27a5-4c5e-8b0a-0e0f9d0c0b0a	2	card	40.00	\N
\.


--
-- Data for Name: product; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.product (id, sku, name, price, tags, attributes, active) FROM stdin;
1	B-1	A Book	12.50	{paper,new}	{"isbn": null, "pages": 200}	t
2	L-1	Lamp	40.00	{}	\N	t
3	X-1	Old \\ thing	1.00	{"with space","a,b"}	[]	f
\.


--
-- Data for Name: product_category; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.product_category (product_id, category_id) FROM stdin;
1	2
\.


--
-- Data for Name: review; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.review (product_id, customer_id, stars, body) FROM stdin;
1	1	5	good\nvery good
\.


--
-- Data for Name: shipment; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.shipment (id, order_id, warehouse_id, shipped_on) FROM stdin;
\.


--
-- Data for Name: stock; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.stock (warehouse_id, product_id, on_hand, reserved) FROM stdin;
1	1	5	1
1	2	1	0
2	1	3	0
\.


--
-- Data for Name: warehouse; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.warehouse (id, name, country) FROM stdin;
1	North	DE
2	South	FR
\.


--
-- Name: address_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.address_id_seq', 2, true);


--
-- Name: audit_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.audit_id_seq', 2, true);


--
-- Name: category_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.category_id_seq', 2, true);


--
-- Name: customer_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.customer_id_seq', 2, true);


--
-- Name: order_number; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.order_number', 1001, true);


--
-- Name: orders_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.orders_id_seq', 2, true);


--
-- Name: product_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.product_id_seq', 3, true);


--
-- Name: shipment_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.shipment_id_seq', 1, false);


--
-- Name: address address_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.address
    ADD CONSTRAINT address_pkey PRIMARY KEY (id);


--
-- Name: audit audit_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);


--
-- Name: category category_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.category
    ADD CONSTRAINT category_pkey PRIMARY KEY (id);


--
-- Name: country country_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.country
    ADD CONSTRAINT country_name_key UNIQUE (name);


--
-- Name: country country_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.country
    ADD CONSTRAINT country_pkey PRIMARY KEY (code);


--
-- Name: coupon coupon_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.coupon
    ADD CONSTRAINT coupon_pkey PRIMARY KEY (code);


--
-- Name: customer customer_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.customer
    ADD CONSTRAINT customer_pkey PRIMARY KEY (id);


--
-- Name: order_line order_line_order_id_product_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.order_line
    ADD CONSTRAINT order_line_order_id_product_id_key UNIQUE (order_id, product_id);


--
-- Name: order_line order_line_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.order_line
    ADD CONSTRAINT order_line_pkey PRIMARY KEY (order_id, "position");


--
-- Name: orders orders_number_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_number_key UNIQUE (number);


--
-- Name: orders orders_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);


--
-- Name: payment payment_order_id_reference_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.payment
    ADD CONSTRAINT payment_order_id_reference_key UNIQUE (order_id, reference);


--
-- Name: payment payment_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.payment
    ADD CONSTRAINT payment_pkey PRIMARY KEY (id);


--
-- Name: product_category product_category_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.product_category
    ADD CONSTRAINT product_category_pkey PRIMARY KEY (product_id, category_id);


--
-- Name: product product_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.product
    ADD CONSTRAINT product_pkey PRIMARY KEY (id);


--
-- Name: product product_sku_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.product
    ADD CONSTRAINT product_sku_key UNIQUE (sku);


--
-- Name: review review_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.review
    ADD CONSTRAINT review_pkey PRIMARY KEY (product_id, customer_id);


--
-- Name: shipment shipment_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.shipment
    ADD CONSTRAINT shipment_pkey PRIMARY KEY (id);


--
-- Name: stock stock_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.stock
    ADD CONSTRAINT stock_pkey PRIMARY KEY (warehouse_id, product_id);


--
-- Name: warehouse warehouse_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.warehouse
    ADD CONSTRAINT warehouse_pkey PRIMARY KEY (id);


--
-- Name: address_customer_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX address_customer_id_idx ON public.address USING btree (customer_id);


--
-- Name: address_default; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX address_default ON public.address USING btree (customer_id) WHERE is_default;


--
-- Name: customer_email; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX customer_email ON public.customer USING btree (lower(email)) WHERE (deleted_at IS NULL);


--
-- Name: one_cart; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX one_cart ON public.orders USING btree (customer_id) WHERE (status = 'cart'::public.order_status);


--
-- Name: product_active; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX product_active ON public.product USING btree (price DESC NULLS LAST) WHERE active;


--
-- Name: product_search; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX product_search ON public.product USING btree (search_name);


--
-- Name: order_line line_price; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER line_price BEFORE INSERT ON public.order_line FOR EACH ROW EXECUTE FUNCTION public.set_price();


--
-- Name: orders order_logged; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER order_logged AFTER INSERT OR UPDATE OF status ON public.orders FOR EACH ROW EXECUTE FUNCTION public.log_order();


--
-- Name: address address_country_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.address
    ADD CONSTRAINT address_country_fkey FOREIGN KEY (country) REFERENCES public.country(code);


--
-- Name: address address_customer_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.address
    ADD CONSTRAINT address_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES public.customer(id) ON DELETE CASCADE;


--
-- Name: category category_parent_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.category
    ADD CONSTRAINT category_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES public.category(id) DEFERRABLE INITIALLY DEFERRED;


--
-- Name: order_line order_line_order_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.order_line
    ADD CONSTRAINT order_line_order_id_fkey FOREIGN KEY (order_id) REFERENCES public.orders(id) ON DELETE CASCADE;


--
-- Name: order_line order_line_product_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.order_line
    ADD CONSTRAINT order_line_product_id_fkey FOREIGN KEY (product_id) REFERENCES public.product(id);


--
-- Name: orders orders_address_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_address_id_fkey FOREIGN KEY (address_id) REFERENCES public.address(id) ON DELETE SET NULL;


--
-- Name: orders orders_coupon_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_coupon_fkey FOREIGN KEY (coupon) REFERENCES public.coupon(code);


--
-- Name: orders orders_customer_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES public.customer(id);


--
-- Name: payment payment_order_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.payment
    ADD CONSTRAINT payment_order_id_fkey FOREIGN KEY (order_id) REFERENCES public.orders(id);


--
-- Name: product_category product_category_category_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.product_category
    ADD CONSTRAINT product_category_category_id_fkey FOREIGN KEY (category_id) REFERENCES public.category(id) ON DELETE CASCADE;


--
-- Name: product_category product_category_product_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.product_category
    ADD CONSTRAINT product_category_product_id_fkey FOREIGN KEY (product_id) REFERENCES public.product(id) ON DELETE CASCADE;


--
-- Name: review review_customer_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.review
    ADD CONSTRAINT review_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES public.customer(id) ON DELETE CASCADE;


--
-- Name: review review_product_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.review
    ADD CONSTRAINT review_product_id_fkey FOREIGN KEY (product_id) REFERENCES public.product(id);


--
-- Name: shipment shipment_order_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.shipment
    ADD CONSTRAINT shipment_order_id_fkey FOREIGN KEY (order_id) REFERENCES public.orders(id);


--
-- Name: shipment shipment_warehouse_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.shipment
    ADD CONSTRAINT shipment_warehouse_id_fkey FOREIGN KEY (warehouse_id) REFERENCES public.warehouse(id);


--
-- Name: stock stock_product_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.stock
    ADD CONSTRAINT stock_product_id_fkey FOREIGN KEY (product_id) REFERENCES public.product(id);


--
-- Name: stock stock_warehouse_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.stock
    ADD CONSTRAINT stock_warehouse_id_fkey FOREIGN KEY (warehouse_id) REFERENCES public.warehouse(id);


--
-- Name: warehouse warehouse_country_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.warehouse
    ADD CONSTRAINT warehouse_country_fkey FOREIGN KEY (country) REFERENCES public.country(code);


--
-- PostgreSQL database dump complete
--

\unrestrict 7AtNPfyH3EGihHeJyMBJehTXNP7vYrPGDHCUAxEtAfaJ49AHgGyg2PhUTQduLdJ


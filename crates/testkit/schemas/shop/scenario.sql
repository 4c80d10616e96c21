-- Two customers want the last lamp; one uses a coupon twice.
\ir dump.sql

--@ thread ann
CALL public.reserve(2, 1);
--@ expect error P0001
--@ expect error 23514

--@ thread bob
CALL public.reserve(2, 1);
--@ expect error P0001
--@ expect error 23514

--@ thread desk
UPDATE public.coupon SET uses_left = uses_left - 1 WHERE code = 'TEN' AND uses_left > 0;

--@ invariant never_overreserved
SELECT bool_and(reserved <= on_hand) FROM public.stock;

--@ final coupon_used_once
SELECT uses_left = 0 FROM public.coupon WHERE code = 'TEN';

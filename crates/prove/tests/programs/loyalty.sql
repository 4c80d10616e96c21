CREATE TABLE member (id int PRIMARY KEY, points int);

-- NULL is not less than anything: nothing is raised, and NULL - cost stays NULL; but a member without points gets some from nowhere.
CREATE PROCEDURE spend(m int, cost int) LANGUAGE plpgsql AS $$
DECLARE pts int;
BEGIN
  IF cost < 0 THEN RAISE EXCEPTION 'no'; END IF;
  SELECT points INTO pts FROM member WHERE id = m;
  IF pts < cost THEN RAISE EXCEPTION 'not enough'; END IF;
  UPDATE member SET points = COALESCE(points, 0) - cost WHERE id = m;
END $$;

CREATE PROCEDURE spend_right(m int, cost int) LANGUAGE plpgsql AS $$
DECLARE pts int;
BEGIN
  IF cost < 0 THEN RAISE EXCEPTION 'no'; END IF;
  SELECT points INTO pts FROM member WHERE id = m;
  IF COALESCE(pts, 0) < cost THEN RAISE EXCEPTION 'not enough'; END IF;
  UPDATE member SET points = COALESCE(points, 0) - cost WHERE id = m;
END $$;

--@ rule no_debt
SELECT points IS NULL OR points >= 0 FROM member;
--! spend no_debt unsafe
--! spend_right no_debt safe

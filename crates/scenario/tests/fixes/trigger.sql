-- A rule in a trigger: at most two players in a team. It reads what others have not committed yet.
CREATE TABLE team (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE player (team_id int NOT NULL REFERENCES team, name text NOT NULL);
INSERT INTO team VALUES (1, 'red');
INSERT INTO player VALUES (1, 'zoe');

CREATE FUNCTION at_most_two() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  SELECT count(*) INTO n FROM player WHERE team_id = NEW.team_id;
  IF n >= 2 THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER rule BEFORE INSERT ON player FOR EACH ROW EXECUTE FUNCTION at_most_two();

--@ thread a
INSERT INTO player VALUES (1, 'ann');
--@ thread b
INSERT INTO player VALUES (1, 'ben');

--@ invariant small_teams
SELECT count(*) <= 2 FROM player WHERE team_id = 1;

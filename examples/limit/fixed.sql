-- The member's row is locked before her loans are counted: one counter at a time per member.
CREATE TABLE member (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE loan (member_id int NOT NULL REFERENCES member, book text NOT NULL);
INSERT INTO member VALUES (1, 'ida');
INSERT INTO loan VALUES (1, 'Emma'), (1, 'Ulysses');

CREATE PROCEDURE borrow(who int, title text) LANGUAGE plpgsql AS $$
DECLARE borrowed int;
BEGIN
  PERFORM id FROM member WHERE id = who FOR UPDATE;
  SELECT count(*) INTO borrowed FROM loan WHERE member_id = who;
  IF borrowed < 3 THEN
    INSERT INTO loan VALUES (who, title);
  END IF;
END $$;

--@ thread desk
CALL borrow(1, 'Middlemarch');

--@ thread phone
CALL borrow(1, 'Persuasion');

--@ invariant at_most_three
SELECT NOT EXISTS (SELECT member_id FROM loan GROUP BY member_id HAVING count(*) > 3);

-- TrOOP's client courseware-1, written by benches/src/troop.
\ir courseware.sql

--@ thread s1
CALL enroll(1, 1);
CALL get_enrollments();
CALL enroll(1, 2);

--@ thread s2
CALL enroll(2, 1);
CALL get_enrollments();
CALL delete_course(2);

--@ thread s3
CALL enroll(2, 1);
CALL close_course(1);
CALL delete_course(1);

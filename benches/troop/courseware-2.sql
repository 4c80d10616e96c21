-- TrOOP's client courseware-2, written by benches/src/troop.
\ir courseware.sql

--@ thread s1
CALL get_enrollments();
CALL enroll(1, 1);
CALL get_enrollments();

--@ thread s2
CALL get_enrollments();
CALL enroll(2, 1);
CALL get_enrollments();

--@ thread s3
CALL get_enrollments();
CALL delete_course(1);
CALL get_enrollments();

-- TrOOP's client courseware-4, written by benches/src/troop.
\ir courseware.sql

--@ thread s1
CALL open_course(3);
CALL enroll(2, 3);
CALL get_enrollments();

--@ thread s2
CALL delete_course(3);
CALL enroll(0, 3);
CALL get_enrollments();

--@ thread s3
CALL close_course(3);
CALL enroll(4, 3);
CALL get_enrollments();

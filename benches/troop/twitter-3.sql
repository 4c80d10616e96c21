-- TrOOP's client twitter-3, written by benches/src/troop.
\ir twitter.sql

--@ thread s1
CALL follow(48280880, 48954574);
CALL get_timeline(48280880);
CALL publish_tweet(103, 48280880);

--@ thread s2
CALL follow(48280880, 48954574);
CALL get_timeline(48280880);
CALL publish_tweet(203, 48280880);

--@ thread s3
CALL follow(48280880, 48954574);
CALL get_timeline(48280880);
CALL publish_tweet(303, 48280880);

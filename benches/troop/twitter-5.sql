-- TrOOP's client twitter-5, written by benches/src/troop.
\ir twitter.sql

--@ thread s1
CALL publish_tweet(101, 26427248);
CALL publish_tweet(102, 7179295);
CALL publish_tweet(103, 26427248);

--@ thread s2
CALL publish_tweet(201, 7179295);
CALL publish_tweet(202, 26427248);
CALL publish_tweet(203, 7179295);

--@ thread s3
CALL get_timeline(7179295);
CALL get_timeline(26427248);
CALL get_newsfeed(48954574);

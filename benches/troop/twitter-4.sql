-- TrOOP's client twitter-4, written by benches/src/troop.
\ir twitter.sql

--@ thread s1
CALL publish_tweet(101, 48954574);
CALL publish_tweet(102, 48954574);
CALL publish_tweet(103, 48954574);

--@ thread s2
CALL publish_tweet(201, 48954574);
CALL publish_tweet(202, 48954574);
CALL publish_tweet(203, 48954574);

--@ thread s3
CALL get_newsfeed(48954574);
CALL get_newsfeed(48954574);
CALL get_newsfeed(48954574);

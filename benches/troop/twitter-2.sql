-- TrOOP's client twitter-2, written by benches/src/troop.
\ir twitter.sql

--@ thread s1
CALL follow(48280880, 48954574);
CALL get_timeline(7179295);
CALL publish_tweet(103, 48954574);

--@ thread s2
CALL publish_tweet(201, 47327392);
CALL get_followers(45096855);
CALL follow(45096855, 20850125);

--@ thread s3
CALL follow(7179295, 26427248);
CALL get_newsfeed(3110559);
CALL publish_tweet(303, 50910006);

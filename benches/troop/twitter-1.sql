-- TrOOP's client twitter-1, written by benches/src/troop.
\ir twitter.sql

--@ thread s1
CALL publish_tweet(101, 48954574);
CALL get_timeline(7179295);
CALL get_timeline(3110559);

--@ thread s2
CALL follow(7179295, 45096855);
CALL get_timeline(3110559);
CALL get_followers(45096855);

--@ thread s3
CALL follow(7179295, 26427248);
CALL get_followers(26427248);
CALL get_newsfeed(7179295);

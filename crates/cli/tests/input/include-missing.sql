\ir parts/nothing.sql

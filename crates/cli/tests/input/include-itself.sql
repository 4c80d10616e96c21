\ir include-itself.sql

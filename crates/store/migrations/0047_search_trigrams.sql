-- Indexes for searches on SQLite are made anew, in steps, while the program runs: they take less room and time. Those of
-- PostgreSQL are kept by the server and never followed.
update search_indexes set follows = false;

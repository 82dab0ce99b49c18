-- Whether new contacts get into an index a moment later, instead of by a trigger. On SQLite alone; indexes of earlier
-- versions are brought to it when the program runs.
alter table search_indexes add column follows {bool} not null default false;

-- What filters look at, of all contacts of projects whose contacts some process keeps as columns in memory: a process that
-- has just been started reads this instead of every contact.

-- How often contacts were removed while changes are put into the log: parts of columns that were read before have what is
-- gone, and are not saved.
alter table contact_followers add column removals {int} not null default 0;
-- When a process last began to save columns.
alter table contact_followers add column saved_at {int} not null default 0;

-- Parts of the contacts, by id: each begins with an id, the first one with that of zeros, and ends before the next.
create table contact_column_parts (
  project_id {int} not null,
  first_id {id} not null,
  -- Up to where the log had been read, of which the part is true. Null where nothing is stored.
  position {int},
  primary key (project_id, first_id)
) {strict};

-- The columns of the parts. One without a name has the ids of the contacts.
create table contact_columns (
  project_id {int} not null,
  first_id {id} not null,
  aspect {text} not null,
  bytes {bytes} not null,
  primary key (project_id, first_id, aspect)
) {strict};

-- How long things are kept.

-- The periods of a project that are shorter than the instance's, in days by kind.
alter table projects add column retention {json};

-- Up to when the instance has seen time pass, as far as the removal of what is old goes by it: one row. `rested_ms` is how
-- much time was seen to pass since more was believed than was seen.
create table retention_clock (
  id {int} not null primary key,
  seen_at {int} not null,
  rested_ms {int} not null
) {strict};

-- How large the database was on a day (UTC, in days since 1970).
create table database_sizes (
  day {int} not null primary key,
  bytes {int} not null
) {strict};

-- How many events of each name happened in each hour, on each day (both UTC, counted from 1970) and in each block of 32
-- days: counters of hours that are over, added up. See `audience/event_counts/sums.rs`.
create table event_hour_sums (
  project_id {int} not null,
  hour {int} not null,
  name {text} not null,
  value {int} not null,
  primary key (project_id, hour, name)
) {clustered};

create table event_day_sums (
  project_id {int} not null,
  day {int} not null,
  name {text} not null,
  value {int} not null,
  primary key (project_id, day, name)
) {clustered};

create table event_block_sums (
  project_id {int} not null,
  block {int} not null,
  name {text} not null,
  value {int} not null,
  primary key (project_id, block, name)
) {clustered};

-- One row where events were counted by day alone before this step. Hours are known from the second midnight after it on:
-- processes of the version before may have counted by day alone until then.
create table events_by_day (
  id {int} primary key
) {strict};

insert into events_by_day (id) select 1 where exists (select 1 from projects);

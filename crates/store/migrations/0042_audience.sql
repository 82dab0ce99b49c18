-- The contacts whose subscription a bulk operation flipped, a row for each step: 16 bytes of the contact's id and 8 of the
-- time, for each contact. They are kept as long as the job. See `audience/bulk.rs`.
create table job_flips (
  project_id {int} not null,
  job_id {id} not null,
  position {int} not null,
  content {bytes} not null,
  primary key (project_id, job_id, position)
) {strict};

-- How many members a segment had on each day (UTC, counted from 1970). See `audience/segment/history.rs`.
create table segment_days (
  project_id {int} not null,
  segment_id {id} not null,
  day {int} not null,
  member_count {int} not null,
  primary key (project_id, segment_id, day)
) {clustered};

create index segment_days_day on segment_days (project_id, day);

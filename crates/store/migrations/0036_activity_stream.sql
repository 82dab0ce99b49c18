-- The feed as it happens, for those who follow it.

-- The projects whose feed somebody follows, or did lately.
create table activity_streams (
  project_id {int} not null primary key,
  -- Whether entries are put into the log.
  is_on {bool} not null,
  -- The place of the newest entries in the log that have one.
  position {int} not null,
  -- Up to which place the log was removed.
  removed_to {int} not null,
  -- When somebody followed last.
  used_at {int} not null
) {strict};

-- The entries of each transaction, up to a hundred in a row. Rows get their places after they were committed.
create table activity_log (
  project_id {int} not null,
  id {id} not null,
  position {int},
  placed_at {int},
  entries {bytes} not null,
  primary key (project_id, id)
) {strict};

create unique index activity_log_places on activity_log (project_id, position) where position is not null;
create index activity_log_new on activity_log (project_id, id) where position is null;

-- How many executions go on when is counted by workflow.
drop index workflow_executions_due;
create index workflow_executions_due on workflow_executions (project_id, bulk, due_at, workflow_id)
  where due_at is not null;

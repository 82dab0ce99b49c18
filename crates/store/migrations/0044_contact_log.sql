-- The contacts that changed, for processes that keep columns of them in memory.

-- The projects whose contacts some process follows, or did lately.
create table contact_followers (
  project_id {int} not null primary key,
  -- Whether changes are put into the log.
  is_on {bool} not null,
  -- The position of the newest row of the log that has one.
  position {int} not null,
  -- Up to which position the log was removed.
  removed_to {int} not null,
  -- When somebody followed last.
  used_at {int} not null
) {strict};

-- The ids of the contacts that a transaction changed, 16 bytes each, up to a hundred in a row. Rows get their positions
-- after they were committed.
create table contact_log (
  project_id {int} not null,
  id {id} not null,
  position {int},
  placed_at {int},
  contacts {bytes} not null,
  primary key (project_id, id)
) {strict};

create unique index contact_log_positions on contact_log (project_id, position) where position is not null;
create index contact_log_new on contact_log (project_id, id) where position is null;

-- Segments, who is in them, and the indexes of events that filters look at.

create table segments (
  project_id {int} not null,
  id {id} not null,
  name {text} not null,
  description {text},
  type {text} not null,
  condition {json},
  track_membership {bool} not null,
  member_count {int} not null,
  created_at {int} not null,
  updated_at {int} not null,
  primary key (project_id, id)
) {strict};

-- The members of static segments and of dynamic ones that are tracked. `exited_at` is null for a member; a contact that
-- left keeps its row, and loses `exited_at` when it enters again.
create table segment_members (
  project_id {int} not null,
  segment_id {id} not null,
  contact_id {id} not null,
  entered_at {int} not null,
  exited_at {int},
  primary key (project_id, segment_id, contact_id)
) {clustered};

create index segment_members_contact on segment_members (project_id, contact_id);

-- A filter asks whether a contact has an event of a name, and since when: both indexes answer without the row. The id
-- is the time.
drop index events_contact;
drop index events_name;
create index events_contact on events (project_id, contact_id, name, id);
create index events_name on events (project_id, name, id, contact_id);

-- Segments, who is in them, what keeps them current, and the indexes of events that filters look at.

-- `member_count` is the sum of the stored members, `counted` what a count by the condition found; store/segment says
-- which is shown, and what `settled`, `due_at` and `revision` are.

create table segments (
  project_id {int} not null,
  id {id} not null,
  name {text} not null,
  description {text},
  type {text} not null,
  condition {json},
  track_membership {bool} not null,
  member_count {int} not null,
  counted {int} not null default 0,
  settled {bool} not null default false,
  due_at {int},
  revision {int} not null default 1,
  created_at {int} not null,
  updated_at {int} not null,
  primary key (project_id, id)
) {strict};

create index segments_due on segments (project_id, due_at) where due_at is not null;

-- The members of static segments and of dynamic ones that are tracked. `exited_at` is null for a member; a contact that
-- left keeps its row, and loses `exited_at` when it enters again. `reported` is whether it was a member at the time of the
-- last report about the segment.
create table segment_members (
  project_id {int} not null,
  segment_id {id} not null,
  contact_id {id} not null,
  entered_at {int} not null,
  exited_at {int},
  reported {bool} not null default false,
  primary key (project_id, segment_id, contact_id)
) {clustered};

create index segment_members_contact on segment_members (project_id, contact_id);
create index segment_members_listed on segment_members (project_id, segment_id, entered_at, contact_id) where exited_at is null;
create index segment_members_news on segment_members (project_id, segment_id, contact_id) where reported <> (exited_at is null);

-- Segments that were removed and whose memberships are still there.
create table segment_removals (
  project_id {int} not null,
  segment_id {id} not null,
  primary key (project_id, segment_id)
) {clustered};

-- One row per project with segments: whether any are tracked, a number that grows with every change to them, and up to
-- when the passing of time was followed. Whoever changes segments or judges contacts holds it.
create table segment_upkeep (
  project_id {int} primary key,
  tracks {bool} not null,
  version {int} not null,
  swept_to {int} not null
) {strict};

create index segment_upkeep_tracking on segment_upkeep (project_id) where tracks;

-- The contacts to judge anew, as often as they changed.
create table contact_changes (
  project_id {int} not null,
  id {id} not null,
  contact_id {id} not null,
  primary key (project_id, id)
) {clustered};

-- When contacts are to be judged again because a date of theirs leaves a window.
create table segment_timers (
  project_id {int} not null,
  contact_id {id} not null,
  due_at {int} not null,
  primary key (project_id, contact_id)
) {clustered};

create index segment_timers_due on segment_timers (project_id, due_at, contact_id);

-- A filter asks whether a contact has an event of a name, and since when: both indexes answer without the row. The id
-- is the time.
drop index events_contact;
drop index events_name;
create index events_contact on events (project_id, contact_id, name, id);
create index events_name on events (project_id, name, id, contact_id);

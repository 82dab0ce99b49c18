-- The names that a project's events have: how many there may be is bounded.

create table event_names (
  project_id {int} not null,
  name {text} not null,
  created_at {int} not null,
  primary key (project_id, name)
) {clustered};

insert into event_names (project_id, name, created_at)
  select distinct project_id, name, 0 from counters where kind = 'event';

-- Values that are the same for all recipients of a request, kept once with what they are sent.

alter table contents add column shared {json};

-- How many bytes the captured mails of a project have, beside how many they are.

insert into counters (project_id, kind, name, shard, value)
  select project_id, 'mailbox_bytes', '', 0, sum(size) from mailbox group by project_id;

-- What nobody is sent any more is removed: `created_at` is moved on, once a day at most, when a content is used again.

create index contents_age on contents (project_id, created_at);
create index campaigns_content on campaigns (project_id, content_hash);

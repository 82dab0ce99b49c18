-- The names that a project's events have: how many there may be is bounded, but for those of the service's own events.
-- (`like` would not tell `segment.` from `Segment.` on SQLite.)

create table event_names (
  project_id {int} not null,
  name {text} not null,
  created_at {int} not null,
  primary key (project_id, name)
) {clustered};

insert into event_names (project_id, name, created_at)
  select project_id, name, 0 from counters where kind = 'event'
    and name not in ('contact.subscribed', 'contact.unsubscribed') and substr(name, 1, 6) <> 'email.'
    and not (substr(name, 1, 8) = 'segment.'
      and (substr(name, length(name) - 5) = '.entry' or substr(name, length(name) - 4) = '.exit'))
  group by project_id, name having sum(value) > 0;

-- How many bytes the captured mails of a project have, beside how many they are.

insert into counters (project_id, kind, name, shard, value)
  select project_id, 'mailbox_bytes', '', 0, sum(size) from mailbox group by project_id;

-- Values that are the same for all recipients of a request, kept once with what they are sent. Last, since everybody who
-- sends waits from here to the end of the step.

alter table contents add column shared {json};

-- The feed of everything that happens in a project.

-- What the mail of an event came from: the campaign or the workflow, and the template. Null for other events.
alter table events add column origin_id {id};
alter table events add column template_id {id};

update events set
  origin_id = (select coalesce(m.campaign_id, m.workflow_id) from emails m
    where m.project_id = events.project_id and m.id = events.email_id),
  template_id = (select m.template_id from emails m
    where m.project_id = events.project_id and m.id = events.email_id)
where email_id is not null;

create index events_origin on events (project_id, origin_id, name, id) where origin_id is not null;
create index events_template on events (project_id, template_id, name, id) where template_id is not null;

create index workflow_executions_ended on workflow_executions (project_id, completed_at, id)
  where completed_at is not null;
create index workflow_executions_ended_of on workflow_executions (project_id, workflow_id, completed_at, id)
  where completed_at is not null;
drop index campaigns_sent;
create index campaigns_sent on campaigns (project_id, sent_at, id) where sent_at is not null;

-- What happened on a day (UTC, in days since 1970), by quarters of an hour: see `insight/rollup/`.
create table rollup_days (
  project_id {int} not null,
  day {int} not null,
  figures {bytes} not null,
  primary key (project_id, day)
) {strict};

-- What happened before it was counted. The number of a quarter has seven digits from 1998 to 2255.
insert into counters (project_id, kind, name, shard, value)
select project_id, 'quarter', (created_at / 900000) || ' ' || metric, 0, count(*) from (
  select project_id, created_at, 'emails' as metric from emails
  union all select project_id, created_at, 'sent' from emails where sent_at is not null
  union all select project_id, created_at, 'delivered' from emails where delivered_at is not null
  union all select project_id, created_at, 'opened' from emails where opened_at is not null
  union all select project_id, created_at, 'clicked' from emails where clicked_at is not null
  union all select project_id, created_at, 'bounced' from emails where bounced_at is not null
  union all select project_id, created_at, 'complained' from emails where complained_at is not null
  union all select project_id, created_at, 'unsubscribed' from emails where unsubscribed_at is not null
  union all select project_id, created_at, 'received' from inbound_mails
  union all select project_id, created_at, 'events' from events
  union all select project_id, started_at, 'started' from workflow_executions
) as happened group by project_id, created_at / 900000, metric;

-- Campaigns and their ledger: a campaign's audience is frozen into one `emails` row per contact, and every one of them
-- is accounted for.

-- `frozen_to` is the last contact that was frozen, `frozen_at` tells that all are. `next_at` is when the campaign has to
-- be looked at: null when there is nothing more to do for it. `lease_until` keeps other processes off meanwhile.
create table campaigns (
  project_id {int} not null,
  id {id} not null,
  name {text} not null,
  description {text},
  subject {text} not null,
  body {text} not null,
  from_address {text} not null,
  from_name {text},
  reply_to {text},
  type {text} not null,
  status {text} not null,
  audience_type {text} not null,
  segment_id {id},
  condition {json},
  scheduled_for {int},
  recipients {int} not null,
  search {text} not null,
  sent_at {int},
  paused_at {int},
  content_hash {bytes},
  frozen_to {id},
  frozen_at {int},
  finished_at {int},
  balance {json},
  retry {json},
  note {text},
  next_at {int},
  lease_until {int} not null,
  lease_holder {int} not null,
  created_at {int} not null,
  updated_at {int} not null,
  primary key (project_id, id)
) {strict};

create index campaigns_next on campaigns (project_id, next_at) where next_at is not null;
create index campaigns_segment on campaigns (project_id, segment_id) where segment_id is not null;

-- Addresses that no campaign writes to: they refused mail for good, or complained. Subscribing again lifts it.
create table suppressions (
  project_id {int} not null,
  email {text} not null,
  reason {text} not null,
  created_at {int} not null,
  primary key (project_id, email)
) {clustered};

-- `settlement` is where a campaign's mail stands in its ledger, null for mails of no campaign; `reason` is why it is not
-- sent. `former` is a salted hash of the address it was sent to, where the contact left that address while the campaign
-- was being sent.
alter table emails add column settlement {text};
alter table emails add column reason {text};
alter table emails add column unsubscribed_at {int};
alter table emails add column former {bytes};

-- A campaign's mails are claimed by campaign, so that those of one that is paused never stand in the way.
drop index emails_queue;
create index emails_queue on emails (project_id, lane, due_at) where due_at is not null and campaign_id is null;
create index emails_campaign_due on emails (project_id, campaign_id, due_at)
  where due_at is not null and campaign_id is not null;
create unique index emails_campaign_contact on emails (project_id, campaign_id, contact_id) where campaign_id is not null;
create index emails_settlement on emails (project_id, campaign_id, settlement, reason, id) where campaign_id is not null;
create index emails_former on emails (project_id, campaign_id, former) where former is not null;

-- The states that lists ask for and that few of a project's mails are in. The terms stand apart because SQLite finds the
-- one of a query among them.
drop index emails_trouble;
create index emails_status on emails (project_id, status, id)
  where status = 'PENDING' or status = 'SENDING' or status = 'BOUNCED' or status = 'COMPLAINED' or status = 'FAILED'
  or status = 'IN_DOUBT' or status = 'SKIPPED';

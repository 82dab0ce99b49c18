-- Addresses and rules that keep mail from being sent.

-- `email_id` is the mail that bounced or was complained about, `expires_at` when the entry ends by itself. Up to here the
-- table has no row that expires, so the index is empty when it is built.
alter table suppressions add column email_id {id};
alter table suppressions add column expires_at {int};
create index suppressions_expiry on suppressions (project_id, expires_at) where expires_at is not null;

create table suppression_rules (
  project_id {int} not null,
  id {id} not null,
  name {text} not null,
  kind {text} not null,
  pattern {text} not null,
  enabled {bool} not null,
  created_at {int} not null,
  updated_at {int} not null,
  primary key (project_id, id)
) {clustered};

-- What kept a mail from being sent, and the mails that were kept, so that they are listed without an index over all
-- mails.
alter table emails add column suppression {json};

create table suppressed_emails (
  project_id {int} not null,
  email_id {id} not null,
  primary key (project_id, email_id)
) {clustered};

-- Bounces of mailboxes that are full, since the last sign that mail arrives there.
create table soft_bounces (
  project_id {int} not null,
  email {text} not null,
  first_at {int} not null,
  last_at {int} not null,
  bounces {int} not null,
  days {int} not null,
  primary key (project_id, email)
) {clustered};

create index soft_bounces_age on soft_bounces (project_id, last_at);

-- Addresses that get no mail of any project.
create table instance_suppressions (
  email {text} primary key,
  reason {text} not null,
  created_at {int} not null,
  expires_at {int}
) {strict};

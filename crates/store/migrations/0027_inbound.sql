-- Mail that comes in for sender domains.

-- Whether answers to a project's mails come back to an address that names the mail.
alter table projects add column reply_tracking {bool} not null default false;

-- A mail that came in, one row for each recipient. `contact_id` is who wrote it, null where that is no contact.
-- `in_reply_to` is the mail of the project that it answers. `raw_hash` is that of the message.
create table inbound_mails (
  project_id {int} not null,
  id {id} not null,
  contact_id {id},
  recipient {text} not null,
  recipients {json} not null,
  from_address {text} not null,
  from_name {text},
  from_header {text} not null,
  subject {text} not null,
  message_id {text} not null,
  in_reply_to {id},
  is_automatic {bool} not null,
  body_text {text},
  body_html {text},
  attachments {json} not null,
  verdicts {json} not null,
  raw_hash {bytes} not null,
  size {int} not null,
  created_at {int} not null,
  primary key (project_id, id)
) {strict};

create index inbound_mails_contact on inbound_mails (project_id, contact_id, id);
create index inbound_mails_raw on inbound_mails (project_id, raw_hash);

-- The messages as they came, by the SHA-256 of each, for as long as they are kept.
create table inbound_raw (
  project_id {int} not null,
  hash {bytes} not null,
  raw {bytes} not null,
  created_at {int} not null,
  primary key (project_id, hash)
) {strict};

create index inbound_raw_age on inbound_raw (project_id, created_at);

-- How many mails came in on a day (UTC, in days since 1970).
create table inbound_days (
  project_id {int} not null,
  day {int} not null,
  mails {int} not null,
  primary key (project_id, day)
) {strict};

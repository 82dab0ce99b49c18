-- The ids that a service gave mails which it took, so that its news finds them. Kept for some days.
create table provider_mails (
  provider_id {text} primary key,
  project {int} not null,
  email_id {id} not null,
  created_at {int} not null
) {strict};
create index provider_mails_age on provider_mails (created_at);

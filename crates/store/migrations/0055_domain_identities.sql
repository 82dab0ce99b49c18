-- Sender domains as identities of Amazon SES, for each transport that registers them: who put what SES signs with, what SES
-- said last, and when it is to be asked. `tokens` are those of Easy DKIM, separated by spaces.
create table domain_identities (
  project_id {int} not null,
  domain_id {id} not null,
  transport {text} not null,
  holder {text} not null,
  way {text},
  selector {text},
  status {text} not null,
  tokens {text} not null,
  hosted_zone {text},
  error {text},
  checked_at {int},
  due_at {int},
  primary key (project_id, domain_id, transport)
) {strict};
create index domain_identities_due on domain_identities (project_id, due_at) where due_at is not null;

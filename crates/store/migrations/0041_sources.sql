-- What templates and campaigns are made from, and what they said before. `owner_id` is a template or a campaign.

-- `number` is the version that is current. There is a row since the first save after this step.
create table mail_sources (
  project_id {int} not null,
  owner_id {id} not null,
  mjml {text},
  document {text},
  number {int} not null,
  saved_at {int} not null,
  actor_type {text} not null,
  actor_id {id},
  primary key (project_id, owner_id)
) {strict};

-- The texts of versions are in `version_texts`, by their hash. `size` is that of the HTML, `bytes` that of all texts.
create table mail_versions (
  project_id {int} not null,
  owner_id {id} not null,
  number {int} not null,
  subject {text} not null,
  from_address {text} not null,
  from_name {text},
  reply_to {text},
  body_hash {bytes} not null,
  mjml_hash {bytes},
  document_hash {bytes},
  size {int} not null,
  bytes {int} not null,
  actor_type {text},
  actor_id {id},
  saved_at {int} not null,
  primary key (project_id, owner_id, number)
) {clustered};

create table version_texts (
  project_id {int} not null,
  owner_id {id} not null,
  hash {bytes} not null,
  content {text} not null,
  primary key (project_id, owner_id, hash)
) {strict};

-- What keys and people asked of projects, without what they sent. `code` is that of the error; `address` is there where
-- the instance keeps it.
create table request_log (
  project_id {int} not null,
  id {id} not null,
  key_id {id},
  user_id {id},
  method {text} not null,
  route {text} not null,
  path {text} not null,
  status {int} not null,
  code {text},
  micros {int} not null,
  request_id {text} not null,
  address {text},
  primary key (project_id, id)
) {clustered};

create index request_log_keys on request_log (project_id, key_id, id) where key_id is not null;
create index request_log_codes on request_log (project_id, code, id) where code is not null;
create index request_log_names on request_log (project_id, request_id);

-- How many errors of a minute (since 1970) are not in the log.
create table request_log_gaps (
  project_id {int} not null,
  minute {int} not null,
  left_out {int} not null,
  primary key (project_id, minute)
) {clustered};

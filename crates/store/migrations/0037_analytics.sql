-- What became of the mails of a day (UTC, in days since 1970), by domain of the recipients: see `insight/domains.rs`.
create table domain_days (
  project_id {int} not null,
  day {int} not null,
  figures {bytes} not null,
  primary key (project_id, day)
) {strict};

-- The months (UTC) in which contacts opened mails: see `insight/cohorts.rs`.
create table contact_months (
  project_id {int} not null,
  contact_id {id} not null,
  month {int} not null,
  primary key (project_id, contact_id, month)
) {clustered};

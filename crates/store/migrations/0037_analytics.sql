-- What became of the mails of a day (UTC, in days since 1970), by domain of the recipients: see `insight/domains.rs`.
create table domain_days (
  project_id {int} not null,
  day {int} not null,
  figures {bytes} not null,
  primary key (project_id, day)
) {strict};

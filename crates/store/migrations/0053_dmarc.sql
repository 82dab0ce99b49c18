-- Aggregate reports about the mail of sender domains (RFC 7489): which came in, so that none counts twice, and the sums of
-- what they say by day (UTC, in days since 1970), source and outcome. See `feedback/dmarc.rs`.
create table dmarc_reports (
  project_id {int} not null,
  domain_id {id} not null,
  reporter {text} not null,
  report_id {text} not null,
  day {int} not null,
  begin_at {int} not null,
  end_at {int} not null,
  policy {text} not null,
  records {int} not null,
  messages {int} not null,
  created_at {int} not null,
  primary key (project_id, domain_id, reporter, report_id)
) {clustered};

create index dmarc_reports_by_domain on dmarc_reports (project_id, domain_id, day);
create index dmarc_reports_by_day on dmarc_reports (project_id, day);

-- An empty `source` stands for those beyond the bound of a day.
create table dmarc_sums (
  project_id {int} not null,
  domain_id {id} not null,
  day {int} not null,
  source {text} not null,
  header_from {text} not null,
  disposition {text} not null,
  dkim {bool} not null,
  spf {bool} not null,
  ours {bool} not null,
  messages {int} not null,
  primary key (project_id, domain_id, day, source, header_from, disposition, dkim, spf, ours)
) {clustered};

create index dmarc_sums_by_day on dmarc_sums (project_id, day);

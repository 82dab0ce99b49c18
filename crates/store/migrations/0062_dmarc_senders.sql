-- Reports of DMARC by who is proved to have sent them: `sender` is the organisational domain of the mail's author where
-- DKIM or SPF vouches for it, and empty where nothing does. Anybody can invent reports, and these must take no room
-- from others, nor the names of others' reports. Of the reports until now nothing is known. See `feedback/dmarc/`.
create table dmarc_reports_of_senders (
  project_id {int} not null,
  domain_id {id} not null,
  sender {text} not null,
  reporter {text} not null,
  report_id {text} not null,
  day {int} not null,
  begin_at {int} not null,
  end_at {int} not null,
  policy {text} not null,
  records {int} not null,
  messages {int} not null,
  created_at {int} not null,
  primary key (project_id, domain_id, sender, reporter, report_id)
) {clustered};

insert into dmarc_reports_of_senders (project_id, domain_id, sender, reporter, report_id, day, begin_at, end_at, policy,
  records, messages, created_at)
select project_id, domain_id, '', reporter, report_id, day, begin_at, end_at, policy, records, messages, created_at
from dmarc_reports;

drop table dmarc_reports;
alter table dmarc_reports_of_senders rename to dmarc_reports;
create index dmarc_reports_by_domain on dmarc_reports (project_id, domain_id, day);
create index dmarc_reports_by_day on dmarc_reports (project_id, day);

-- An empty `source` stands for those beyond the bound of a day.
create table dmarc_sums_of_senders (
  project_id {int} not null,
  domain_id {id} not null,
  day {int} not null,
  sender {text} not null,
  source {text} not null,
  header_from {text} not null,
  disposition {text} not null,
  dkim {bool} not null,
  spf {bool} not null,
  ours {bool} not null,
  messages {int} not null,
  primary key (project_id, domain_id, day, sender, source, header_from, disposition, dkim, spf, ours)
) {clustered};

insert into dmarc_sums_of_senders (project_id, domain_id, day, sender, source, header_from, disposition, dkim, spf, ours,
  messages)
select project_id, domain_id, day, '', source, header_from, disposition, dkim, spf, ours, messages from dmarc_sums;

drop table dmarc_sums;
alter table dmarc_sums_of_senders rename to dmarc_sums;
create index dmarc_sums_by_day on dmarc_sums (project_id, day);

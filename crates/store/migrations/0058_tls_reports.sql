-- Reports about TLS that are sent to other domains (RFC 8460). Days are those of UTC, in days since 1970.

-- The domains that mail was brought to on a day, and when the report of each is due; null once it was looked after.
create table tls_reports (
  day {int} not null,
  domain {text} not null,
  due_at {int},
  primary key (day, domain)
) {clustered};
create index tls_reports_due on tls_reports (due_at) where due_at is not null;

-- The policies about TLS that were found of a domain on a day. Lines and mail servers have a line each.
create table tls_report_policies (
  day {int} not null,
  domain {text} not null,
  policy {text} not null,
  kind {text} not null,
  lines {text} not null,
  servers {text} not null,
  primary key (day, domain, policy)
) {clustered};

-- How many connections came to what. An empty `result` stands for success.
create table tls_report_sessions (
  day {int} not null,
  domain {text} not null,
  policy {text} not null,
  result {text} not null,
  host {text} not null,
  receiver {text} not null,
  source {text} not null,
  reason {text} not null,
  sessions {int} not null,
  primary key (day, domain, policy, result, host, receiver, source)
) {clustered};

-- Reports on their way to a URL: `due_at` is null while one is under way.
create table tls_report_posts (
  day {int} not null,
  domain {text} not null,
  url {text} not null,
  report {bytes} not null,
  due_at {int},
  begun_at {int} not null,
  attempts {int} not null,
  first_at {int} not null,
  primary key (day, domain, url)
) {strict};
create index tls_report_posts_due on tls_report_posts (due_at) where due_at is not null;

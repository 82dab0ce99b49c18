-- What domains say about TLS of their mail servers (MTA-STS), kept as long as they say.
create table tls_policies (
  domain {text} primary key,
  version {text} not null,
  policy {text} not null,
  fetched_at {int} not null,
  expires_at {int} not null
) {strict};
create index tls_policies_age on tls_policies (expires_at);

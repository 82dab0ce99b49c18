-- What all processes know together of whoever runs the mail servers that mail is brought to: the pace of each of our
-- source addresses there, as JSON.
create table delivery_sites (
  source {text} not null,
  site {text} not null,
  pace {text} not null,
  updated_at {int} not null,
  primary key (source, site)
) {strict};
create index delivery_sites_updated on delivery_sites (updated_at);

-- Domains that the operator lets projects add, with the names below them, although they look like one that is kept out.
create table allowed_domains (
  name {text} primary key,
  created_at {int} not null
) {clustered};

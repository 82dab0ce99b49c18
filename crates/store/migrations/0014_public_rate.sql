-- Requests with a project's public key, which are counted apart from those with its secret keys.
create table public_rate_windows (
  project_id {int} primary key,
  started_at {int} not null,
  used {int} not null
) {strict};

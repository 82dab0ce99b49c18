-- Accounts: sessions, members, keys with names and scopes. Users, sessions, memberships and keys are global.

-- A project whose number is retired was reset or deleted: its rows are wiped in steps, the next time at `wipe_at`, and
-- what outlives a reset moves to the number in `successor`.
alter table projects add column retired_at {int};
alter table projects add column wipe_at {int};
alter table projects add column successor {int};

create index projects_retired on projects (wipe_at) where retired_at is not null;
create index projects_name on projects (name, number);

alter table users add column name {text};

create table sessions (
  id {id} primary key,
  user_id {id} not null references users (id) on delete cascade,
  created_at {int} not null,
  expires_at {int} not null
) {strict};

create index sessions_user on sessions (user_id);
create index sessions_expiry on sessions (expires_at);

-- Failed logins of a window, by the hash of whom they are counted against.
create table login_attempts (
  key {bytes} primary key,
  started_at {int} not null,
  failures {int} not null
) {strict};

create index login_attempts_start on login_attempts (started_at);

-- Where accounts signed in from, by the hash of the client's address: failures of others do not lock these out.
create table login_clients (
  user_id {id} not null references users (id) on delete cascade,
  client {bytes} not null,
  seen_at {int} not null,
  primary key (user_id, client)
) {strict};

create index login_clients_seen on login_clients (seen_at);

create table invitations (
  id {id} primary key,
  project_id {int} not null references projects (number) on delete cascade,
  email {text} not null,
  role {text} not null,
  token_hash {bytes} not null unique,
  invited_by {text} not null,
  created_at {int} not null,
  expires_at {int} not null,
  unique (project_id, email)
) {strict};

create index invitations_email on invitations (email);
create index invitations_expiry on invitations (expires_at);

-- A key without a name belongs to the project's own pair. `scopes` is null for those: they open everything.
alter table api_keys add column name {text};
alter table api_keys add column scopes {text};
alter table api_keys add column hint {text};
alter table api_keys add column last_used_at {int};

-- Why projects were disabled, and for how long.
create table suspensions (
  project_id {int} not null references projects (number) on delete cascade,
  id {id} not null,
  reason {text} not null,
  started_at {int} not null,
  ended_at {int},
  primary key (project_id, id)
) {strict};

-- Tenant table: only ever appended to.
create table audit (
  project_id {int} not null,
  id {id} not null,
  actor_type {text} not null,
  actor_id {id},
  actor_name {text},
  action {text} not null,
  target {text},
  details {json} not null,
  created_at {int} not null,
  primary key (project_id, id)
) {strict};

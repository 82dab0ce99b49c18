-- Signing in beyond a password: proofs of an address, second factors, accounts at providers. All of it is global.

-- Links that were sent to an address, by the hash of what they carry. Used ones stay until they expire, because they
-- count against how many are sent.
create table proofs (
  id {id} primary key,
  user_id {id} not null references users (id) on delete cascade,
  purpose {text} not null,
  email {text} not null,
  token_hash {bytes} not null unique,
  created_at {int} not null,
  expires_at {int} not null,
  used_at {int}
) {strict};

create index proofs_user on proofs (user_id, purpose, created_at);
create index proofs_expiry on proofs (expires_at);

-- Addresses whose password is to be reset. A worker looks for their accounts, so that whoever asks learns nothing from
-- the time that the answer takes.
create table reset_requests (
  id {id} primary key,
  email {text} not null
) {strict};

-- `seed` is encrypted. `last_step` is the time step of the last code that was accepted: no code counts twice.
create table totp (
  user_id {id} primary key references users (id) on delete cascade,
  seed {bytes} not null,
  created_at {int} not null,
  confirmed_at {int},
  last_step {int} not null
) {strict};

create table recovery_codes (
  user_id {id} not null references users (id) on delete cascade,
  hash {bytes} not null,
  primary key (user_id, hash)
) {strict};

-- Accounts at providers that people sign in with.
create table identities (
  provider {text} not null,
  subject {text} not null,
  user_id {id} not null references users (id) on delete cascade,
  created_at {int} not null,
  primary key (provider, subject)
) {strict};

create index identities_user on identities (user_id);

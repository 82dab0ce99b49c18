-- Projects, users and keys: small, global.

create table projects (
  number {serial},
  id {id} not null unique,
  name {text} not null,
  language {text} not null,
  tracking {text} not null,
  sending_per_second {int},
  disabled_at {int},
  created_at {int} not null,
  updated_at {int} not null
) {strict};

create table users (
  id {id} primary key,
  email {text} not null unique,
  password_hash {text},
  email_verified_at {int},
  created_at {int} not null,
  updated_at {int} not null
) {strict};

create table memberships (
  project_id {int} not null references projects (number) on delete cascade,
  user_id {id} not null references users (id) on delete cascade,
  role {text} not null,
  created_at {int} not null,
  primary key (project_id, user_id)
) {strict};

create index memberships_user on memberships (user_id);

-- A key is looked up by the hash of its token; `token` holds public keys only, which are no secret.
create table api_keys (
  hash {bytes} primary key,
  id {id} not null unique,
  project_id {int} not null references projects (number) on delete cascade,
  kind {text} not null,
  token {text},
  created_at {int} not null,
  revoked_at {int}
) {strict};

create index api_keys_project on api_keys (project_id);

-- Tenant tables: every key and every index begins with project_id.

create table contacts (
  {seq}
  project_id {int} not null,
  id {id} not null,
  email {text} not null,
  subscribed {bool} not null,
  data {json} not null,
  revision {int} not null,
  created_at {int} not null,
  updated_at {int} not null,
  unique (project_id, id),
  unique (project_id, email)
) {strict};

create index contacts_subscribed on contacts (project_id, subscribed, id);

create table contact_fields (
  project_id {int} not null,
  name {text} not null,
  type {text} not null,
  created_at {int} not null,
  primary key (project_id, name)
) {clustered};

-- Sums kept in the transaction that changes what they count. A writer adds to its own shard, so that writers do not
-- wait for each other's rows; a reader sums the shards.
create table counters (
  project_id {int} not null,
  kind {text} not null,
  name {text} not null,
  shard {int} not null,
  value {int} not null,
  primary key (project_id, kind, name, shard)
) {clustered};

create table events (
  project_id {int} not null,
  id {id} not null,
  name {text} not null,
  contact_id {id},
  email_id {id},
  data {json},
  created_at {int} not null,
  primary key (project_id, id)
) {clustered};

create index events_contact on events (project_id, contact_id, id);
create index events_name on events (project_id, name, id);

create table idempotency_keys (
  project_id {int} not null,
  key {text} not null,
  method {text} not null,
  path {text} not null,
  status_code {int},
  created_at {int} not null,
  expires_at {int} not null,
  primary key (project_id, key)
) {clustered};

create index idempotency_keys_expiry on idempotency_keys (project_id, expires_at);

create table rate_windows (
  project_id {int} primary key,
  started_at {int} not null,
  used {int} not null
) {strict};

create table throttles (
  project_id {int} primary key,
  millitokens {int} not null,
  refilled_at {int} not null
) {strict};

create table templates (
  project_id {int} not null,
  id {id} not null,
  name {text} not null,
  description {text},
  subject {text} not null,
  body {text} not null,
  from_address {text} not null,
  from_name {text},
  reply_to {text},
  type {text} not null,
  search {text} not null,
  created_at {int} not null,
  updated_at {int} not null,
  primary key (project_id, id)
) {strict};

create table domains (
  project_id {int} not null,
  id {id} not null,
  name {text} not null,
  verified {bool} not null,
  vouched {bool} not null,
  selector {text} not null,
  key_type {text} not null,
  public_key {text} not null,
  private_key {bytes} not null,
  last_check {json} not null,
  check_at {int} not null,
  created_at {int} not null,
  updated_at {int} not null,
  primary key (project_id, id),
  unique (project_id, name)
) {strict};

create index domains_check on domains (project_id, check_at);

-- What mails say, stored once for all recipients that are sent the same. `hash` is the SHA-256 of the content.
create table contents (
  project_id {int} not null,
  hash {bytes} not null,
  subject {text} not null,
  body {text} not null,
  headers {json} not null,
  attachments {json} not null,
  created_at {int} not null,
  primary key (project_id, hash)
) {strict};

create table attachments (
  project_id {int} not null,
  hash {bytes} not null,
  content {bytes} not null,
  created_at {int} not null,
  primary key (project_id, hash)
) {strict};

-- One row per recipient: outbox, ledger and delivery log at once. `due_at` is null in terminal states; a claim moves
-- it into the future, which is the lease.
create table emails (
  project_id {int} not null,
  id {id} not null,
  contact_id {id} not null,
  recipient {text} not null,
  recipient_name {text},
  from_address {text} not null,
  from_name {text},
  reply_to {text},
  subject {text} not null,
  content_hash {bytes} not null,
  variables {json} not null,
  source {text} not null,
  type {text} not null,
  lane {int} not null,
  template_id {id},
  campaign_id {id},
  status {text} not null,
  due_at {int},
  claim {int} not null,
  attempts {int} not null,
  in_doubt {int} not null,
  log {json} not null,
  message_id {text} not null,
  error {text},
  opens {int} not null,
  clicks {int} not null,
  deadline_at {int} not null,
  sent_at {int},
  delivered_at {int},
  opened_at {int},
  clicked_at {int},
  bounced_at {int},
  complained_at {int},
  created_at {int} not null,
  updated_at {int} not null,
  primary key (project_id, id)
) {strict};

create index emails_queue on emails (project_id, lane, due_at) where due_at is not null;
create index emails_contact on emails (project_id, contact_id, id);
create index emails_trouble on emails (project_id, status, id) where status in ('BOUNCED', 'COMPLAINED', 'FAILED', 'IN_DOUBT');

create table mailbox (
  project_id {int} not null,
  id {id} not null,
  contact_id {id} not null,
  sender {text} not null,
  recipient {text} not null,
  subject {text} not null,
  raw {bytes} not null,
  size {int} not null,
  created_at {int} not null,
  primary key (project_id, id)
) {strict};

create index mailbox_contact on mailbox (project_id, contact_id);

-- Trigram indexes on the addresses of large projects; `filled_to` is how far the building of one has come.
create table search_indexes (
  project_id {int} primary key,
  filled_to {int} not null,
  ready {bool} not null,
  created_at {int} not null
) {strict};

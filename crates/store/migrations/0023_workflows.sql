-- Workflows, their versions, and the ways of contacts through them.

-- What the owner edits: `trigger_type`, `trigger_config`, `goal` and `graph`, with the number of its `steps`. `version` is
-- the number of the version in force, null until there is one; `is_draft` tells that what is edited differs from it.
-- `versions` counts those that there were. `next_at` is when a schedule starts the workflow next.
create table workflows (
  project_id {int} not null,
  id {id} not null,
  name {text} not null,
  description {text},
  enabled {bool} not null,
  allow_reentry {bool} not null,
  trigger_type {text} not null,
  trigger_config {json},
  goal {json},
  graph {json} not null,
  steps {int} not null,
  version {int},
  versions {int} not null,
  is_draft {bool} not null,
  next_at {int},
  search {text} not null,
  created_at {int} not null,
  updated_at {int} not null,
  primary key (project_id, id)
) {strict};

create index workflows_next on workflows (project_id, next_at) where next_at is not null;

-- What was in force. A version never changes. One that nobody went through goes some time after it was replaced, unless
-- it is `kept`, because executions were moved away that tell of it.
create table workflow_versions (
  project_id {int} not null,
  workflow_id {id} not null,
  number {int} not null,
  trigger_type {text} not null,
  trigger_config {json},
  goal {json},
  graph {json} not null,
  kept {bool} not null,
  created_at {int} not null,
  replaced_at {int},
  primary key (project_id, workflow_id, number)
) {strict};

-- When a workflow was enabled, and which event began executions then; null if none did. `ended_at` is null for the time
-- that lasts.
create table workflow_periods (
  project_id {int} not null,
  workflow_id {id} not null,
  began_at {int} not null,
  ended_at {int},
  event {text},
  primary key (project_id, workflow_id, began_at)
) {clustered};

-- The events that workflows are told of. `enrols`: the version in force begins an execution with it. Otherwise executions
-- of the version wait for it; an event without a name is any change of the contact.
create table workflow_listeners (
  project_id {int} not null,
  event {text} not null,
  workflow_id {id} not null,
  number {int} not null,
  enrols {bool} not null,
  has_filter {bool} not null,
  primary key (project_id, event, workflow_id, number, enrols)
) {clustered};

create index workflow_listeners_workflow on workflow_listeners (project_id, workflow_id);

-- What workflows refer to, as they are edited and in force: templates, segments, fields and events.
create table workflow_references (
  project_id {int} not null,
  kind {text} not null,
  name {text} not null,
  workflow_id {id} not null,
  primary key (project_id, kind, name, workflow_id)
) {clustered};

create index workflow_references_workflow on workflow_references (project_id, workflow_id);

-- The ways of contacts. `place` is the step that an execution stands at, `log` what its steps did, in short (see
-- store/automation/log.rs). `due_at` is when there is something to do, null when nothing is until something happens. An
-- execution is over when it has `completed_at`. `bulk` tells that it was enrolled with many others.
create table workflow_executions (
  project_id {int} not null,
  id {id} not null,
  workflow_id {id} not null,
  contact_id {id} not null,
  source_event_id {id},
  version {int} not null,
  place {int},
  due_at {int},
  started_at {int} not null,
  completed_at {int},
  bulk {bool} not null,
  converted {bool} not null,
  status {text} not null,
  exit_reason {text},
  log {text} not null,
  context {json},
  primary key (project_id, id)
) {strict};

create unique index workflow_executions_active on workflow_executions (project_id, contact_id, workflow_id)
  where completed_at is null;
create index workflow_executions_contact on workflow_executions (project_id, contact_id, workflow_id, id);
create index workflow_executions_due on workflow_executions (project_id, bulk, due_at) where due_at is not null;
create index workflow_executions_status on workflow_executions (project_id, workflow_id, status, id);

-- What a step told that is too long for the log; `entry` is its place in the log.
create table workflow_outputs (
  project_id {int} not null,
  execution_id {id} not null,
  entry {int} not null,
  output {json} not null,
  primary key (project_id, execution_id, entry)
) {strict};

-- What happened to a contact that its executions are told of: an event, or the answer to the request of a WEBHOOK step.
-- Without either, the contact changed.
create table workflow_signals (
  project_id {int} not null,
  id {id} not null,
  contact_id {id} not null,
  event_id {id},
  event {text},
  data {json},
  execution_id {id},
  answer {json},
  created_at {int} not null,
  primary key (project_id, id)
) {strict};

create index workflow_signals_contact on workflow_signals (project_id, contact_id, id);

-- Requests of WEBHOOK steps that have no answer yet. `due_at` is when one is made, or until when its lease lasts; `claim`
-- counts the leases, `doubts` those that ended without an outcome. `host` is the part of the address by which requests
-- take turns, `status` what the last attempt was answered with, null if it was not.
create table workflow_requests (
  project_id {int} not null,
  id {id} not null,
  workflow_id {id} not null,
  execution_id {id} not null,
  contact_id {id} not null,
  place {int} not null,
  host {text} not null,
  request {json} not null,
  due_at {int} not null,
  claim {int} not null,
  attempts {int} not null,
  doubts {int} not null,
  is_open {bool} not null,
  status {int},
  error {text},
  created_at {int} not null,
  primary key (project_id, id)
) {strict};

create index workflow_requests_due on workflow_requests (project_id, due_at);
create index workflow_requests_host on workflow_requests (project_id, host, due_at);
create index workflow_requests_execution on workflow_requests (project_id, execution_id);

-- The events that would have begun executions and did not: with each, which workflows refused the contact, and why.
create table workflow_refusals (
  project_id {int} not null,
  event_id {id} not null,
  contact_id {id} not null,
  refused {json} not null,
  primary key (project_id, event_id)
) {strict};

create index workflow_refusals_contact on workflow_refusals (project_id, contact_id, event_id);

-- The keys that the data of events has had, with the type of the first value.
create table event_fields (
  project_id {int} not null,
  event {text} not null,
  name {text} not null,
  type {text} not null,
  created_at {int} not null,
  primary key (project_id, event, name)
) {clustered};

-- The workflow, step and execution that made a mail.
alter table emails add column workflow_id {id};
alter table emails add column step_id {id};
alter table emails add column execution_id {id};

-- Dates without an offset are in the project's zone. A contact gets at most `marketing_cap` marketing mails in
-- `marketing_cap_hours`; null for as many as there are. `webhook_secret` is what the secret that requests are signed with
-- is derived with, not the secret itself.
alter table projects add column timezone {text};
alter table projects add column marketing_cap {int};
alter table projects add column marketing_cap_hours {int};
alter table projects add column webhook_secret {bytes};

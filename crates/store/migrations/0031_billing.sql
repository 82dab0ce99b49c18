-- What projects pay, and what they are limited to.

-- `customer` and `subscription` are ids of the payment service; `subscription` is null without one that is active.
-- `checkout_at` and `checkout_id` are those of the checkout that they came from. `notices` are the bits of the limits
-- of which members were told in `notice_month`.
create table billing_accounts (
  project_id {int} not null primary key,
  customer {text},
  subscription {text},
  currency {text},
  checkout_at {int},
  checkout_id {text},
  limit_workflows {int},
  limit_campaigns {int},
  limit_transactional {int},
  limit_inbound {int},
  notice_month {int} not null default 0,
  notices {int} not null default 0,
  updated_at {int} not null
) {strict};

create index billing_accounts_customer on billing_accounts (customer) where customer is not null;
create index billing_accounts_subscribed on billing_accounts (project_id) where subscription is not null;

-- How many units of a month are in batches.
create table billing_metered (
  project_id {int} not null,
  month {int} not null,
  units {int} not null,
  primary key (project_id, month)
) {strict};

-- Mails about limits that members are to be sent. `category` is null for the allowance that all categories share.
create table billing_notices (
  project_id {int} not null,
  id {id} not null,
  month {int} not null,
  category {text},
  reached {bool} not null,
  used {int} not null,
  most {int} not null,
  primary key (project_id, id)
) {strict};

-- What is to be reported to the payment service, and what was. `happened_at` is the time that is reported. `due_at` is
-- null once it was reported.
create table meter_batches (
  id {id} not null primary key,
  customer {text} not null,
  units {int} not null,
  happened_at {int} not null,
  created_at {int} not null,
  due_at {int},
  tries {int} not null,
  error {text}
) {strict};

create index meter_batches_due on meter_batches (due_at) where due_at is not null;
create index meter_batches_age on meter_batches (created_at);

-- The customers that events of the payment service were about. Events of one wait for each other at its row.
create table payment_customers (
  customer {text} not null primary key,
  touched_at {int} not null
) {strict};

-- The events that were applied.
create table payment_events (
  id {text} not null primary key,
  received_at {int} not null
) {strict};

create index payment_events_age on payment_events (received_at);

-- Subscriptions that ended. One stays ended.
create table payment_ends (
  subscription {text} not null primary key,
  ended_at {int} not null
) {strict};

create index payment_ends_age on payment_ends (ended_at);

-- Invoices of which a payment failed or succeeded. One that was paid stays paid.
create table payment_invoices (
  id {text} not null primary key,
  customer {text} not null,
  failed {bool} not null,
  paid {bool} not null,
  updated_at {int} not null
) {strict};

create index payment_invoices_customer on payment_invoices (customer);
create index payment_invoices_paid on payment_invoices (updated_at) where paid;

-- What people subscribe to. One with `removed_at` is gone; the rows about it go in the background.
create table topics (
  project_id {int} not null,
  id {id} not null,
  name {text} not null,
  description {text},
  visibility {text} not null,
  default_subscribed {bool} not null,
  double_opt_in {bool} not null,
  position {int} not null,
  created_at {int} not null,
  updated_at {int} not null,
  removed_at {int},
  primary key (project_id, id)
) {strict};

-- What contacts chose. Who has no row for a topic is in it if that is its default.
create table topic_choices (
  project_id {int} not null,
  topic_id {id} not null,
  contact_id {id} not null,
  subscribed {bool} not null,
  updated_at {int} not null,
  primary key (project_id, topic_id, contact_id)
) {strict};

create index topic_choices_contact on topic_choices (project_id, contact_id);

-- Who was asked to confirm, and has not. `topic_id` is the topic, or all zeros for the subscription as a whole. `due_at`
-- is when the mail that asks is to be made; null once it was.
create table confirmations (
  project_id {int} not null,
  topic_id {id} not null,
  contact_id {id} not null,
  requested_at {int} not null,
  due_at {int},
  mailed_at {int},
  primary key (project_id, topic_id, contact_id)
) {strict};

create index confirmations_contact on confirmations (project_id, contact_id);
create index confirmations_due on confirmations (project_id, due_at) where due_at is not null;

-- The evidence of consent: what changed, and how that is known. `topic` is the topic's name at the time.
create table consents (
  project_id {int} not null,
  contact_id {id} not null,
  id {id} not null,
  what {text} not null,
  way {text} not null,
  topic_id {id},
  topic {text},
  email_id {id},
  language {text},
  address {text},
  created_at {int} not null,
  primary key (project_id, contact_id, id)
) {strict};

-- The topic that mails belong to.
alter table templates add column topic_id {id};
alter table campaigns add column topic_id {id};
alter table emails add column topic_id {id};

-- Whether contacts whom somebody else subscribes have to confirm, with what template they are asked, and whether the
-- evidence keeps the address of the client.
alter table projects add column double_opt_in {bool} not null default false;
alter table projects add column confirmation_template_id {id};
alter table projects add column consent_keeps_address {bool} not null default false;

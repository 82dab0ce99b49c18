-- What becomes of mails after they left.

-- Whether mails are tracked, where that is not left to the project.
alter table templates add column tracking {bool};
alter table campaigns add column tracking {bool};

-- The same for the mails of a content. `links` are the links of its body, in their order; null where it has none.
alter table contents add column tracking {bool};
alter table contents add column links {json};

-- The links of contents that are gone, since a link works for longer than a content is kept.
create table content_links (
  project_id {int} not null,
  hash {bytes} not null,
  links {json} not null,
  created_at {int} not null,
  primary key (project_id, hash)
) {strict};

create index content_links_age on content_links (project_id, created_at);

-- `links` are the targets that values of a mail made. `opens` and `clicks`, and the times, are those of people;
-- `machine_opens` and `machine_clicks` are those of machines. `bounce_class` is that of the last report that a mail did not
-- arrive.
alter table emails add column links {json};
alter table emails add column last_opened_at {int};
alter table emails add column last_clicked_at {int};
alter table emails add column bounce_class {text};
alter table emails add column machine_opens {int} not null default 0;
alter table emails add column machine_clicks {int} not null default 0;

-- Opens and clicks as they came in. `link` is the number of the link, null for an open; `url` is where it led, where who
-- told of it said so. `class` says who it was, null
-- until that is judged; `due_at` is when it is judged, for the first time or again.
create table hits (
  project_id {int} not null,
  email_id {id} not null,
  id {id} not null,
  link {int},
  at {int} not null,
  agent {text} not null,
  address {text} not null,
  url {text},
  class {text},
  reason {text},
  due_at {int},
  primary key (project_id, email_id, id)
) {clustered};

create index hits_due on hits (project_id, due_at) where due_at is not null;

-- News that were told by somebody who may tell them again, by the hash of what the source calls them. `news` and
-- `due_at` are there while their mail is being handed over.
create table news_receipts (
  project_id {int} not null,
  key {bytes} not null,
  email_id {id} not null,
  news {json},
  due_at {int},
  created_at {int} not null,
  primary key (project_id, key)
) {strict};

create index news_receipts_due on news_receipts (project_id, due_at) where due_at is not null;
create index news_receipts_mail on news_receipts (project_id, email_id);
create index news_receipts_age on news_receipts (project_id, created_at);

-- What is added to the targets of tracked links: `source`, `medium` and `campaign` of UTM parameters.
alter table projects add column utm {json};

-- Which projects have a sender domain: what comes in from outside names the domain and no project. `receives` tells that
-- its MX record points here.
create table domain_names (
  name {text} not null,
  project_id {int} not null,
  receives {bool} not null default false,
  primary key (name, project_id)
) {strict};

create index domain_names_project on domain_names (project_id);

insert into domain_names (name, project_id) select name, project_id from domains;

-- Lists of machines' networks as their owners publish them, by the address of the list and the part of it: what a command
-- fetched last. `networks` is separated by spaces.
create table published_networks (
  list {text} not null primary key,
  networks {text} not null,
  fetched_at {int} not null
) {strict};

-- What receivers said that no rule knows, without what differs from mail to mail, and how often: the table of rules can
-- grow by it.
create table unknown_bounces (
  said {text} not null primary key,
  times {int} not null,
  first_at {int} not null,
  last_at {int} not null
) {strict};

create index unknown_bounces_age on unknown_bounces (last_at);

-- Domains that this service registered itself with an account of Amazon SES, for each transport that registers them. They are
-- of no project, since several can have the name, and outlive all of them. What an account had before is not here.
-- `signs_with` is what SES was told last: the selector of a key, or the tokens of Easy DKIM, separated by spaces. `due_at` is
-- when it is looked whether anybody has the domain still; null while nobody has removed it.
create table ses_identities (
  transport {text} not null,
  name {text} not null,
  signs_with {text} not null,
  due_at {int},
  attempts {int} not null,
  denied {bool} not null,
  primary key (transport, name)
) {clustered};
create index ses_identities_name on ses_identities (name);
create index ses_identities_due on ses_identities (due_at) where due_at is not null;
-- Why the last request about a domain came to nothing, by its name; `error` has the sentence.
alter table domain_identities add column trouble {text};

-- The addresses that contacts had before: whoever is erased is erased under them, too.
create table former_addresses (
  project_id {int} not null,
  contact_id {id} not null,
  email {text} not null,
  changed_at {int} not null,
  primary key (project_id, contact_id, email)
) {clustered};

create index former_addresses_email on former_addresses (project_id, email);

-- The former addresses of the person, while the erasure is under way.
alter table erasures add column formerly {json};

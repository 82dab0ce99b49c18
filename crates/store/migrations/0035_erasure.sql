-- The erasure of people.
-- A receipt, which is also where the work stands. `email` and `contact_id` are there while it is under way and null
-- afterwards: what stays are hashes of both, keyed with `projects.erasure_key`. `stage` and `place` say what is looked at
-- next, `counts` how many records went. `due_at` is when the next step is due, null when the erasure is complete.
create table erasures (
  project_id {int} not null,
  id {id} not null,
  address_hash {bytes} not null,
  contact_hash {bytes},
  email {text},
  contact_id {id},
  keep_out {bool} not null,
  actor_type {text} not null,
  actor_id {id},
  status {text} not null,
  stage {text} not null,
  place {text} not null,
  counts {json} not null,
  due_at {int},
  requested_at {int} not null,
  completed_at {int},
  primary key (project_id, id)
) {strict};
create index erasures_due on erasures (project_id, due_at) where due_at is not null;
create index erasures_contact on erasures (project_id, contact_hash) where contact_hash is not null;
create index erasures_address on erasures (project_id, address_hash);

-- What has to be known of addresses that were erased: whether they are kept out, and whether the owner had complained, so
-- that they get no mail. `erasure_id` is the erasure under way; while there is one the address is kept out.
create table erased_addresses (
  project_id {int} not null,
  hash {bytes} not null,
  kept_out {bool} not null,
  complained {bool} not null,
  erasure_id {id},
  primary key (project_id, hash)
) {clustered};

-- The key of these hashes; null until somebody is erased.
alter table projects add column erasure_key {bytes};

-- The contact whose mails alone have it; null when several contacts' have it, or a campaign's, or when nobody knows.
alter table contents add column sole_contact {id};
alter table attachments add column sole_contact {id};
alter table content_links add column sole_contact {id};

-- What is found by an address.
create index inbound_mails_from on inbound_mails (project_id, lower(from_address));
create index audit_target on audit (project_id, target) where target is not null;
create index emails_elsewhere on emails (project_id, recipient) where campaign_id is null and source <> 'TRANSACTIONAL';

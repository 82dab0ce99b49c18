-- The name that `bootstrap` made a project with: it marks what is the operator's own, whatever the project is called by
-- now. Until here such a project is known by the key that the operator made in the moment it was created.
alter table projects add column bootstrap_name {text};

update projects set bootstrap_name = name where exists (
  select 1 from audit a where a.project_id = projects.number and a.actor_type = 'operator'
  and a.action = 'key.created' and a.created_at = projects.created_at
);

-- Whether an event with the public key may subscribe a contact again that is not subscribed.
alter table projects add column public_key_may_resubscribe {bool} not null default true;

-- Whether the contact's id was answered to somebody with the public key, whom it must open nothing. Of contacts from
-- before nobody knows.
alter table contacts add column id_told {bool} not null default true;

-- Keys of sender domains beside the one that proves them: a second of the other kind that signs too, those that wait to
-- replace one, and those that were replaced, whose records should stay a while.
create table domain_keys (
  project_id {int} not null,
  domain_id {id} not null,
  selector {text} not null,
  key_type {text} not null,
  public_key {text} not null,
  private_key {bytes} not null,
  role {text} not null,
  created_at {int} not null,
  remove_after {int},
  primary key (project_id, domain_id, selector)
) {strict};
alter table domains add column key_created_at {int} not null default 0;
update domains set key_created_at = created_at;

-- Who deleted which project: all that is left of one. Global, because the project has no number any more.
create table deletions (
  id {id} primary key,
  name {text} not null,
  actor_type {text} not null,
  actor_id {id},
  actor_name {text},
  deleted_at {int} not null
) {strict};

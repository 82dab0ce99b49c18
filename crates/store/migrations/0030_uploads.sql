-- Pictures that people upload for their mails. Their bytes are objects in a store of files.

-- Found by the hash of their bytes, which is their name.
create table uploads (
  project_id {int} not null,
  hash {bytes} not null,
  id {id} not null,
  type {text} not null,
  size {int} not null,
  width {int} not null,
  height {int} not null,
  frames {int} not null,
  file_name {text} not null,
  -- the object with the bytes; no two rows ever have the same
  object {text} not null,
  actor_type {text} not null,
  actor_id {id},
  created_at {int} not null,
  primary key (project_id, hash)
) {strict};
create unique index uploads_listed on uploads (project_id, id);

-- What the pictures of a project take.
create table upload_usage (
  project_id {int} not null primary key,
  pictures {int} not null,
  bytes {int} not null
) {strict};

-- Objects that are to be removed from the store when their time comes. The rows outlive their project.
create table upload_removals (
  object {text} not null primary key,
  -- the id that the project had
  owner {id} not null,
  due_at {int} not null,
  -- whether somebody began to remove it, so that no picture may refer to it any more
  claimed {bool} not null
) {strict};
create index upload_removals_due on upload_removals (due_at);
create index upload_removals_owner on upload_removals (owner);

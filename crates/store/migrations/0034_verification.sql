-- What jobs found out about addresses, in the order of the job. `flags` has a bit for each flag, `reasons` is an array of
-- texts, `meant` the address that was probably meant.
create table verification_results (
  project_id {int} not null,
  job_id {id} not null,
  position {int} not null,
  email {text} not null,
  flags {int} not null,
  reasons {json} not null,
  meant {text},
  primary key (project_id, job_id, position)
) {clustered};

create index verification_results_of on verification_results (project_id, lower(email));

-- Lists of domains as others publish them: what a command fetched last. `domains` has one on each line.
create table published_domains (
  list {text} not null primary key,
  url {text} not null,
  domains {text} not null,
  fetched_at {int} not null
) {strict};

-- Long work, done in steps. `due_at` is null once a job is finished; a claim moves it into the future, which is the
-- lease. `progress` is where the work stands: it is written in the transaction that does a step.
create table jobs (
  project_id {int} not null,
  id {id} not null,
  kind {text} not null,
  state {text} not null,
  progress {json} not null,
  percent {int} not null,
  due_at {int},
  claim {int} not null,
  attempts {int} not null,
  failed_reason {text},
  created_at {int} not null,
  updated_at {int} not null,
  primary key (project_id, id)
) {clustered};

create index jobs_queue on jobs (project_id, id) where due_at is not null;

-- What a job works on, apart from the row that every step writes. Gone when the job is finished.
create table job_inputs (
  project_id {int} not null,
  job_id {id} not null,
  content {bytes} not null,
  primary key (project_id, job_id)
) {strict};

-- What a job could not do, in its order.
create table job_failures (
  project_id {int} not null,
  job_id {id} not null,
  position {int} not null,
  detail {json} not null,
  primary key (project_id, job_id, position)
) {clustered};

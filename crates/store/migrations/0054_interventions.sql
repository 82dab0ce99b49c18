-- What operators, and projects for their own mail, want done with mail that waits.
create table interventions (
  id {id} primary key,
  kind {text} not null,
  project {int},
  domain {text},
  site {text},
  transport {text},
  reason {text},
  created_by {text} not null,
  created_at {int} not null,
  ended_at {int}
) {strict};
create index interventions_project on interventions (project, id);
-- The projects with mail that an intervention has wait.
create table intervention_projects (
  intervention_id {id} not null,
  project {int} not null,
  primary key (intervention_id, project)
) {strict};
-- The intervention that a mail waits for.
alter table emails add column paused_by {id};
create index emails_paused on emails (project_id, paused_by, id) where paused_by is not null and due_at is not null;

-- Who offered a member the project. The member owns it by accepting, and not before.
alter table memberships add column offered_by {id};

-- Whether the member came of its own accord. Of those from before nobody knows.
alter table memberships add column accepted {bool} not null default true;

-- Owners who left a project while it was disabled: it counts against them for as long as it is.
create table departures (
  project_id {int} not null references projects (number) on delete cascade,
  user_id {id} not null references users (id) on delete cascade,
  primary key (project_id, user_id)
) {strict};

create index departures_user on departures (user_id);

-- Events are counted by day, in counters of the kind 'event_day'. Those from before this step are counted by the upkeep,
-- oldest first: a project that has a row here has events that are not counted yet, which begin after `counted_to`. They end
-- when this step was applied; later ones are counted as they come.

create table event_days (
  project_id {int} primary key,
  counted_to {id}
) {strict};

insert into event_days (project_id) select number from projects;

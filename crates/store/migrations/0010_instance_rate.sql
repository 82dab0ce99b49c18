-- The token bucket of the instance as a whole: one row, shared by all processes.
create table instance_rate (
  id {int} primary key,
  millitokens {int} not null,
  refilled_at {int} not null
) {strict};

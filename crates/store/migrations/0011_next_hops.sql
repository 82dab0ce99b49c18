-- What was learnt of a next hop, for the next start and for `mailwright doctor`. Global: all projects share it.
create table next_hops (
  name {text} primary key,
  connections {int},
  trouble {text},
  detail {text},
  updated_at {int} not null
) {strict};

-- The date in a mail: that of its first hand-over, which every further one repeats.
alter table emails add column first_attempt_at {int};

-- How far each new source address, and each new sender domain, has come in its warm-up: what left today and in this hour,
-- as JSON. All processes share the rows, so that they keep the volume of a day together.
create table warm_ups (
  subject {text} primary key,
  progress {text} not null,
  updated_at {int} not null
) {strict};
create index warm_ups_updated on warm_ups (updated_at);

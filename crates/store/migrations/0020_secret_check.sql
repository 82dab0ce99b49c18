-- What shows whether a secret is the one that this database is used with, also where no domain has a key yet. One row.
create table secret_check (
  id {int} primary key,
  sealed {bytes} not null
) {strict};

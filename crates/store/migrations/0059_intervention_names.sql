-- The name of whoever made an intervention at the time: a user's address, or a key's name. None of earlier ones.
alter table interventions add column created_name {text};

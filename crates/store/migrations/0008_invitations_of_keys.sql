-- Invitations that a key made are withdrawn when it is revoked.
alter table invitations add column key_id {id};

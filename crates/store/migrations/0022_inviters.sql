-- Invitations end with the rights of the member who made them.
alter table invitations add column inviter_id {id};
update invitations set inviter_id = (select u.id from users u where u.email = invitations.invited_by)
where key_id is null;

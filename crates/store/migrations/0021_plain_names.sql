-- Columns and counters by the names that the API and the documents use.
alter table emails rename column settlement to recipient_state;
alter table suspensions rename column forgiven to baseline;
alter table projects rename column wipe_at to purge_at;
update counters set kind = 'delivery_stats' where kind = 'reception';
update counters set kind = 'address_revisions' where kind = 'moves';

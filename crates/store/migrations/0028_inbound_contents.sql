-- The text and HTML of mail that comes in are stored once for a message, not once for each of its recipients.

create table inbound_contents (
  project_id {int} not null,
  hash {bytes} not null,
  body_text {text},
  body_html {text},
  primary key (project_id, hash)
) {strict};

insert into inbound_contents (project_id, hash, body_text, body_html)
select project_id, raw_hash, body_text, body_html from inbound_mails m
where not exists (select 1 from inbound_mails o
  where o.project_id = m.project_id and o.raw_hash = m.raw_hash and o.id < m.id);

alter table inbound_mails drop column body_text;
alter table inbound_mails drop column body_html;

-- How many bytes came in on the day.
alter table inbound_days add column bytes {int} not null default 0;

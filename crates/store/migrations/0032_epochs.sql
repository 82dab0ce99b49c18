-- Backups and restores: what may have been handed over after a backup was made is held, and not sent again by itself.

-- The instance's restores. `lost_from` is when the backup was made, as far as is known, and `raised_at` when it was
-- restored: what happened between is lost. `held_at` is when everything that may have been handed over was held.
create table epochs (
  number {int} primary key,
  lost_from {int},
  raised_at {int} not null,
  held_at {int}
) {strict};

-- When backups were made. `is_copy` is set in the copy itself, which is not served before it is restored.
create table backup_marks (
  made_at {int} primary key,
  program {text} not null,
  is_copy {bool} not null
) {strict};

-- Mails that a restore holds for a decision.
create table held_emails (
  project_id {int} not null,
  email_id {id} not null,
  campaign_id {id},
  primary key (project_id, email_id)
) {clustered};

create index held_emails_campaign on held_emails (project_id, campaign_id, email_id) where campaign_id is not null;

-- Since when mails that a campaign makes are held: it was not frozen, or due, when the backup was made.
alter table campaigns add column held_from {int};

-- Set while every contact is still to be judged by a segment for a reason that is older than a restore: the contacts that
-- are found to have joined or left may have been found before.
alter table segments add column lost_until {int};

-- What an execution does is held as long as it may have been done before `lost_until`; it is `behind` by so many
-- milliseconds what it did then.
alter table workflow_executions add column lost_until {int};
alter table workflow_executions add column behind {int};

-- Suspensions that are judged, the setting-up of projects, and sessions that can be told apart.

-- How a project's mail had been received when it was enabled again: what a person has looked at is not held against it
-- once more.
alter table suspensions add column forgiven {json};

create index campaigns_sent on campaigns (project_id, sent_at) where sent_at is not null;

-- What signed in, as it calls itself, and when it was last seen.
alter table sessions add column client {text};
alter table sessions add column used_at {int};

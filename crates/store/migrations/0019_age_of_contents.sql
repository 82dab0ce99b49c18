-- What nobody is sent any more is removed: `created_at` is moved on, once a day at most, when a content is used again.
-- A database whose step 15 is from before these were apart from it has them.

create index if not exists contents_age on contents (project_id, created_at);
create index if not exists campaigns_content on campaigns (project_id, content_hash);

-- When a check first found the key of a domain: whoever added it controls it, or did then. What a disabled project proved to
-- be its own is not added again by others, even after its record is gone.
alter table domains add column proven_at {int};
update domains set proven_at = updated_at where verified and not vouched and last_check <> {json 'null'};
-- projects that are disabled are few
create index projects_disabled on projects (disabled_at) where disabled_at is not null and retired_at is null;

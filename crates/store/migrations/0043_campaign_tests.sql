-- When a campaign was last sent as a test.
alter table campaigns add column tested_at {int};

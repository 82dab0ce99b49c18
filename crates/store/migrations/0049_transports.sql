-- The transport that the content of a mail was last written to: one that may have sent it is the only one that may send it
-- again.
alter table emails add column transport {text};

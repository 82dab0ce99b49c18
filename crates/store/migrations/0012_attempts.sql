-- How long a mail has waited between its attempts, in milliseconds: the pauses that were planned, added up. It is given
-- up when they would exceed what the operator allows. `deadline_at` is read by the versions before alone.
alter table emails add column waited_ms {int} not null default 0;

-- The claim under which the next hop took a mail, so that a second hand-over is told from the outcome of the first that
-- is written once more.
alter table emails add column sent_claim {int};

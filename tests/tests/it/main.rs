//! The black-box tests: the program as its users meet it, over HTTP, SMTP and the command line, on both engines. They are
//! one program, because linking one takes seconds.

mod accounts;
mod bounds;
mod bulk;
mod campaigns;
mod contacts;
mod custom_data;
mod delivery;
mod domains;
mod edge;
mod emails;
mod events;
mod feedback;
mod idempotency;
mod inbound;
mod invariants;
mod keeping_time;
mod locks;
mod mailbox;
mod middleware;
mod modules;
mod moved_time;
mod pages;
mod program;
mod refusals;
mod segments;
mod send;
mod signin;
mod slow_reads;
mod subscription;
mod suppressions;
mod templates;
mod topics;
mod track;
mod tracking;
mod workflows;

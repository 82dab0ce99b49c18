//! One SQL text for two engines: the named fragments, and what each engine makes of them.
//!
//! A text is expanded once in the life of a process. A difference that no fragment covers, such as another kind of
//! index or a hint for one planner, asks `is_postgres`. `tests/tests/it/invariants.rs` lists the files that may, each
//! with its reason.
//!
//! | fragment | PostgreSQL | SQLite |
//! |---|---|---|
//! | `$1` | `$1` | `?1` |
//! | `{rows r: a int, b text}` | `unnest($1::bigint[], $2::text[]) as r(a, b)` | `(select ?1 as a, ?2 as b) as r` |
//! | the same, if the tables are divided by project and it begins with `project_id int` | one statement for each project: `r.project_id` becomes `$1` | |
//! | the same, if nothing is joined to it | | nothing: `r.a` becomes `?1`, because `update ... from` is slow on SQLite |
//! | `{in $2}` | `= any($2)` | `in rarray(?2)` |
//! | `{json $4}` | `$4::jsonb` | `jsonb(?4)` |
//! | `{json_out c}` | `c` | `json(c)` |
//! | `{json_or_raw c}` | `c` | `json(c)`, and text that is no JSON unchanged: one row must not fail a query of many |
//! | `{json_of c $2}` | the member of an object of that name, as text of JSON | the same |
//! | `{json_last c}` | the last element of an array, as JSON | the same; nothing of what is no array |
//! | `{json_bytes c}` | the length of `c` as text | the length of `c` as it is stored |
//! | `{contains c $2}` | `strpos(c, $2) > 0` | `instr(c, ?2) > 0` |
//! | `{json_contains c $2}` | the same with `c::text` | the same with `json(c)` |
//! | `{for_update}`, `{for_no_key_update}`, `{for_share}`, `{for_key_share}` | the lock | nothing: we are the only writer |
//! | `{skip_locked}` | `for update skip locked` | |
//! | `{log_and} r.a {numbered}` | the log of a mail and one more attempt, a JSON object, with its number | the same |
//! | `{shard}` | `pg_backend_pid() % 16` | `0` |
//! | DDL: `{int} {text} {bool} {id} {json} {bytes}` | types | types |
//! | DDL: `{serial}`, `{seq}`, `{strict}`, `{clustered}` | see [`Dialect::fragment`] | |
//!
//! PostgreSQL may have its tables divided by project over several servers (the extension Citus). The server says so
//! ([`Texts::is_divided`]), and nothing else in the program tells the two apart.

mod fragments;
mod rows;
mod texts;

pub(crate) use self::fragments::Dialect;
pub use self::texts::Sql;
pub(crate) use self::texts::{FLAVOUR, Texts, is_counted};

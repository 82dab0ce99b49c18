//! How statements are told that are about a part.

use std::sync::Arc;

use super::*;

fn part() -> Part {
    let divided =
        ["contacts", "emails", "counters", "domains"].map(|table| (table.to_owned(), format!("{table}_7")));
    let names = divided.into_iter().chain([("projects".to_owned(), "projects_1".to_owned())]);
    let server = Server { group: 1, host: "one".to_owned(), port: 5432 };
    Part::new(7, server, names.collect())
}

fn locate(text: &'static str) -> Located {
    part().locate(&Texts::new(crate::database::dialect::Dialect::Postgres), &Sql::Fixed(text))
}

#[track_caller]
fn is_here(text: &'static str, expected: &str) {
    assert_eq!(locate(text), Located::Here(expected.into()));
}

#[track_caller]
fn is_on_the_coordinator(text: &'static str, expected: &str) {
    assert_eq!(locate(text), Located::Coordinator(expected.into()));
}

#[track_caller]
fn is_elsewhere(text: &'static str) {
    assert_eq!(locate(text), Located::Elsewhere);
}

#[test]
fn statements_name_the_parts() {
    is_here("select 1", "select 1");
    is_here("select pg_advisory_xact_lock($1)", "select pg_advisory_xact_lock($1)");
    is_here(
        "insert into counters (project_id, n) select r.project_id, 1 from {rows r: project_id int} where true \
         on conflict (project_id) do update set n = counters.n + excluded.n returning 'counters'",
        "insert into counters_7 (project_id, n) select r.project_id, 1 from unnest($1::bigint[]) as r(project_id) \
         where true on conflict (project_id) do update set n = counters_7.n + excluded.n returning 'counters'",
    );
    is_here(
        "update emails as e set a = c.domains from contacts c where e.contact_id = c.id and c.emails is distinct from e.x",
        "update emails_7 as e set a = c.domains from contacts_7 c where e.contact_id = c.id and c.emails is distinct from e.x",
    );
    is_here(
        "select contacts, domains from domains where contacts is distinct from domains for update skip locked",
        "select contacts, domains from domains_7 where contacts is distinct from domains for update skip locked",
    );
    is_here(
        "with picked as (select id from emails for no key update) delete from emails e using picked \
         where e.id = picked.id",
        "with picked as (select id from emails_7 for no key update) delete from emails_7 e using picked \
         where e.id = picked.id",
    );
    is_here(
        "with recursive walk (id, n) as not materialized (select id, 1 from emails) \
         select w.id from walk w left join lateral (select 1 from contacts) on true",
        "with recursive walk (id, n) as not materialized (select id, 1 from emails_7) \
         select w.id from walk w left join lateral (select 1 from contacts_7) on true",
    );
    is_here(
        "delete from emails using (values (1)) as r(one) where exists (select 1 from counters where (emails.id = 1)) \
         and id in (select id from contacts join emails using (contacts))",
        "delete from emails_7 using (values (1)) as r(one) where exists (select 1 from counters_7 where (emails_7.id = 1)) \
         and id in (select id from contacts_7 join emails_7 using (contacts))",
    );
    is_here("select extract(epoch from now()) from emails", "select extract(epoch from now()) from emails_7");
}

#[test]
fn tables_of_the_instance_are_read_on_the_coordinator() {
    is_on_the_coordinator(
        "select k.hash from api_keys k join projects p on p.number = k.project_id where projects.number = 1",
        "select k.hash from api_keys k join projects_1 p on p.number = k.project_id where projects_1.number = 1",
    );
    is_on_the_coordinator(
        "select 1 from projects where disabled is distinct from name",
        "select 1 from projects_1 where disabled is distinct from name",
    );
}

#[test]
fn what_is_about_both_runs_elsewhere() {
    is_elsewhere("select 1 from domain_names n join domains d on d.name = n.name");
    is_elsewhere("select 1 from projects where number = $1 for no key update");
    is_elsewhere("update projects set name = $1");
    is_elsewhere("insert into provider_mails (id) values ($1)");
    is_elsewhere("with gone as (delete from projects returning 1) select 1 from gone");
    // its part is not known
    is_elsewhere("select 1 from topics where project_id = $1");
    is_elsewhere("with emails as (select 1) select 1 from emails");
}

#[test]
fn a_text_is_expanded_once() {
    let (part, texts) = (part(), Texts::new(crate::database::dialect::Dialect::Postgres));
    let sql = Sql::Fixed("select 1 from emails");
    let (Located::Here(one), Located::Here(other)) = (part.locate(&texts, &sql), part.locate(&texts, &sql))
    else {
        panic!("it is here");
    };
    assert!(Arc::ptr_eq(&one, &other));
}

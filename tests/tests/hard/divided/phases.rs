//! What changes rows of the instance, which the coordinator has, and rows of a project, which a worker has, does both or
//! neither, also when the connection between the two breaks in the middle.

use mailwright_testkit::{App, Engine, json};
use mailwright_tests::as_project;
use std::collections::BTreeSet;

use super::away::put_proxy_before;
use super::{Placed, ask, on_two_workers};

/// Domains that are added while the connection breaks at one point.
const DOMAINS: usize = 4;

/// Adds domains, and returns the statuses of the answers.
async fn add_domains(app: &App, project: &Placed, prefix: &str) -> Vec<u16> {
    let mut statuses = Vec::new();
    for n in 0..DOMAINS {
        let body = json!({"domain": format!("{prefix}{n}.test")});
        let added = as_project(app, &project.project, "POST", "/domains").json(&body).send().await;
        statuses.push(added.status);
    }
    statuses
}

/// The names of domains in a table's rows of a project.
async fn names(app: &App, project: &Placed, table: &str) -> BTreeSet<String> {
    let query = format!("select name from {table} where project_id = {}", project.number);
    ask(app, &query).await.into_iter().flatten().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster of Citus: make test-citus"]
async fn rows_of_the_instance_and_of_a_project_are_written_together() {
    let mut app = App::builder(Engine::Postgres).start().await;
    let [_, far] = on_two_workers(&app).await;
    let proxy = put_proxy_before(&mut app, &far.worker).await;

    proxy.break_after(Some("PREPARE TRANSACTION"));
    let undecided = add_domains(&app, &far, "undecided").await;
    proxy.break_after(Some("COMMIT PREPARED"));
    let decided = add_domains(&app, &far, "decided").await;
    proxy.break_after(None);
    assert_eq!(undecided, [503; DOMAINS], "the worker did not say that it can commit");
    assert_eq!(decided, [201; DOMAINS], "the worker had said that it can commit");

    // as Citus does by itself, a minute later
    ask(&app, "select recover_prepared_transactions()").await;
    let [routed, kept] = [names(&app, &far, "domain_names").await, names(&app, &far, "domains").await];
    assert_eq!(routed, kept, "the coordinator and the worker know the same domains");
    for (prefix, expected) in [("undecided", 0), ("decided", DOMAINS)] {
        assert_eq!(kept.iter().filter(|name| name.starts_with(prefix)).count(), expected, "{kept:?}");
    }
    // nothing half-done is in the way
    assert_eq!(add_domains(&app, &far, "undecided").await, [201; DOMAINS]);
}

//! The tables of projects are divided over the servers of a Citus cluster: nothing is lost and nothing is done twice while
//! two processes write the same, while a server is away or a connection breaks, and while parts move from one server to
//! another.
//!
//! These tests need such a cluster: `make test-citus`. Without one they fail.

mod addresses;
mod away;
mod isolated;
mod moved;
mod phases;
mod sending;
mod unreached;

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, AppBuilder, Engine, Project, json};
use std::time::Duration;

/// Connections to the receiving server.
const CONNECTIONS: usize = 8;
/// Events that are tracked one after the other.
const EVENTS: usize = 10;
/// Projects that are made at most until two are on different servers.
const TRIES: usize = 16;

/// A server that holds parts of the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Worker {
    /// Its number in the cluster.
    node: i64,
    host: String,
    port: u16,
}

impl Worker {
    /// A server by the first three columns of a row.
    fn of(row: &[String]) -> Self {
        Self {
            node: row[0].parse().expect("the number of a server"),
            host: row[1].clone(),
            port: row[2].parse().expect("a port"),
        }
    }
}

/// A project, and the server that its rows are on.
#[derive(Clone, Debug)]
struct Placed {
    project: Project,
    /// Its number, by which tables are divided.
    number: i64,
    worker: Worker,
}

/// The program with a receiving server that takes everything, a little slowly, so that mails are always on the wire.
async fn delivering() -> (AppBuilder, ScriptedServer) {
    let server = ScriptedServer::start(|_, _| Answer::Delay(Duration::from_millis(5))).await;
    let app = App::builder(Engine::Postgres)
        .smtp(server.port)
        .env("MAILWRIGHT_DELIVERY_CONNECTIONS", CONNECTIONS.to_string());
    (app, server)
}

/// The rows that a query finds, in a database whose tables are divided. Fails in any other.
async fn ask(app: &App, query: &str) -> Vec<Vec<String>> {
    let extension = app.ask("select extversion from pg_extension where extname = 'citus'").await;
    assert!(!extension.is_empty(), "MAILWRIGHT_TEST_POSTGRES names no cluster of Citus: make test-citus");
    app.ask(query).await
}

/// Finds out where the rows of a project are.
async fn place(app: &App, project: &Project) -> Placed {
    let query = format!(
        "select n.nodeid, n.nodename, n.nodeport, j.number from projects j join pg_dist_placement p \
         on p.shardid = get_shard_id_for_distribution_column('contacts', j.number) \
         join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary' where j.id = '{}'",
        project.id
    );
    let rows = ask(app, &query).await;
    let [row] = &rows[..] else { panic!("the rows of a project are on one server, not {rows:?}") };
    let number = row[3].parse().expect("the number of a project");
    Placed { project: project.clone(), number, worker: Worker::of(row) }
}

/// Two projects whose rows are on different servers.
async fn on_two_workers(app: &App) -> [Placed; 2] {
    let first = place(app, &app.bootstrap("First", "first.test").await).await;
    for n in 0..TRIES {
        let other = app.bootstrap(&format!("Other {n}"), &format!("other{n}.test")).await;
        let other = place(app, &other).await;
        if other.worker != first.worker {
            return [first, other];
        }
    }
    panic!("{TRIES} projects are on one server: does the cluster have two that hold parts?");
}

/// Tracks events of a project, each of which has to be acknowledged.
async fn track(app: &App, placed: &Placed, event: &str) {
    for number in 0..EVENTS {
        let body = json!({"email": format!("visitor{number}@example.com"), "event": event});
        let request = app.request("POST", "/v1/track").bearer(&placed.project.public_key);
        let answer = request.json(&body).send().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

//! A backup that was made in the middle of campaigns and of workflows is restored after the service went on for a while
//! and was killed. Nobody gets a mail twice by that, what may have been sent is held and listed, and it leaves only when
//! the operator says so.

mod campaigns;
mod copies;
mod later;
mod workflows;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Rows, Value};

/// A server that takes everything.
async fn receiver() -> ScriptedServer {
    ScriptedServer::builder().without_contents().start(|_, _| Answer::Accept).await
}

async fn start(engine: Engine, server: &ScriptedServer, per_second: usize) -> App {
    App::builder(engine)
        .smtp(server.port)
        .env("MAILWRIGHT_SENDING_PER_SECOND", per_second.to_string())
        .start()
        .await
}

/// Makes contacts with these addresses, whose data name a part.
async fn make_contacts(app: &App, part: &str, addresses: &[String]) {
    let mut csv = "email,part\n".to_owned();
    for address in addresses {
        writeln!(csv, "{address},{part}").expect("writing to a string");
    }
    let file = tempfile::NamedTempFile::with_suffix(".csv").expect("a file");
    std::fs::write(file.path(), csv).expect("the file is written");
    app.run(&["import", "--project", app.project_id(), &file.path().display().to_string()]).await;
}

/// The rows of a table.
fn table(rows: &Rows, name: &str) -> Vec<Value> {
    rows[name].iter().map(|row| serde_json::from_str(row).expect("a row")).collect()
}

/// The mails that wait in a backup, or were on the wire: how many to each address.
fn unsettled(rows: &Rows) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for mail in table(rows, "emails").iter().filter(|mail| !mail["due_at"].is_null()) {
        *found.entry(mailwright_tests::text(&mail["recipient"]).to_owned()).or_default() += 1;
    }
    found
}

/// The mails that are held, as the operator lists them: how many to each address.
async fn held(app: &App) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for line in app.run(&["restore", "--list", "--json"]).await.lines() {
        let mail: Value = serde_json::from_str(line).expect("a line of JSON");
        *found.entry(mailwright_tests::text(&mail["to"]).to_owned()).or_default() += 1;
    }
    found
}

/// How many mails each address got, in order.
fn copies(server: &ScriptedServer) -> BTreeMap<String, usize> {
    let copies: HashMap<String, usize> = server.copies();
    copies.into_iter().collect()
}

/// Adds up what addresses got.
fn sum(one: &BTreeMap<String, usize>, other: &BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let all: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let of = |counts: &BTreeMap<String, usize>, address| counts.get(address).copied().unwrap_or_default();
    all.into_iter().map(|address| (address.clone(), of(one, address) + of(other, address))).collect()
}

/// The mails in doubt, as the project sees them: how many to each address.
async fn doubted(app: &App) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for mail in app.list_all("/emails?status=IN_DOUBT").await {
        *found.entry(mailwright_tests::text(&mail["to"]).to_owned()).or_default() += 1;
    }
    found
}

/// Waits until what is held, which is what is in doubt here, is as it should be.
async fn until_held(app: &App, is_right: impl Fn(&BTreeMap<String, usize>) -> bool) {
    let (since, mut found) = (Instant::now(), BTreeMap::new());
    while since.elapsed() < Duration::from_secs(30) {
        found = doubted(app).await;
        if is_right(&found) {
            return;
        }
    }
    panic!("what is held is not what it should be: {found:?}");
}

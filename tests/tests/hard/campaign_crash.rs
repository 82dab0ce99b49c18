//! `kill -9` at random moments, many times, while a campaign is under way: at the end its ledger balances, and what the
//! receiving server got is what the ledger says. No mail is handed over twice, except after a decision to do so.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines, json};
use mailwright_tests::random::{Random, hash};
use mailwright_tests::{items, read, sized, text};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Connections to the receiving server, for each process.
const CONNECTIONS: usize = 24;

/// What becomes of a mail, decided by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ItemResult {
    Taken,
    Greylisted,
    UnknownRecipient,
    RefusedContent,
    DroppedBefore,
    BrokenInContent,
    BrokenAfterContent,
    StalledBefore,
    StalledAfter,
}

impl ItemResult {
    fn of(to: &str) -> Self {
        match hash(to) % 1_000 {
            0..620 => Self::Taken,
            620..740 => Self::Greylisted,
            740..815 => Self::UnknownRecipient,
            815..875 => Self::RefusedContent,
            875..915 => Self::DroppedBefore,
            915..955 => Self::BrokenInContent,
            955..998 => Self::BrokenAfterContent,
            // a connection waits a second for each of these
            998 => Self::StalledBefore,
            _ => Self::StalledAfter,
        }
    }

    fn answer(self, attempt: u32) -> Answer {
        match (self, attempt) {
            (Self::Greylisted, 1) => Answer::RefuseRcpt(451, "4.7.1 greylisted"),
            (Self::UnknownRecipient, _) => Answer::RefuseRcpt(550, "5.1.1 unknown"),
            (Self::RefusedContent, _) => Answer::RefuseData(554, "5.7.1 refused"),
            (Self::DroppedBefore, 1) => Answer::DropAtRcpt,
            (Self::BrokenInContent, 1) => Answer::DropMidData,
            (Self::BrokenAfterContent, _) => Answer::DropAfterDot,
            (Self::StalledBefore, 1) => Answer::StallForever,
            (Self::StalledAfter, _) => Answer::StallAfterDot,
            _ => Answer::Accept,
        }
    }

    /// Whether the receiving server itself leaves the outcome in doubt. A small content is with the kernel in one piece,
    /// so that a break in the middle looks to the sender like one after the end.
    fn casts_doubt(self) -> bool {
        matches!(self, Self::BrokenInContent | Self::BrokenAfterContent | Self::StalledAfter)
    }
}

/// A receiving server, which takes everything once it is mended.
async fn receiver() -> (ScriptedServer, Arc<AtomicBool>) {
    let mended = Arc::new(AtomicBool::new(false));
    let is_mended = Arc::clone(&mended);
    let answer = move |to: &str, attempt: u32| {
        if is_mended.load(Ordering::Relaxed) { Answer::Accept } else { ItemResult::of(to).answer(attempt) }
    };
    (ScriptedServer::builder().without_contents().start(answer).await, mended)
}

/// Contacts of the audience.
fn recipients() -> usize {
    sized(3_000, 100_000)
}

/// How often the program is killed at least; it is killed until the campaign is over.
fn kills_at_least() -> usize {
    sized(9, 30)
}

/// Seconds over which a campaign is spread at least, so that it lasts as long as the first kills.
fn spread() -> usize {
    sized(8, 30)
}

/// A server that takes at least as long for the campaign as the first kills take.
async fn start(engine: Engine, server: &ScriptedServer, recipients: usize) -> App {
    let per_second = (recipients / spread()).max(1);
    App::builder(engine)
        .smtp(server.port)
        .env("MAILWRIGHT_DELIVERY_CONNECTIONS", CONNECTIONS.to_string())
        // much of the mail is meant to come back
        .env("MAILWRIGHT_AUTO_PROJECT_DISABLE", "false")
        .env("MAILWRIGHT_DELIVERY_REPLY_TIMEOUT_MS", "1000")
        .env("MAILWRIGHT_DELIVERY_FINAL_REPLY_TIMEOUT_MS", "1000")
        .env("MAILWRIGHT_SENDING_PER_SECOND", per_second.to_string())
        .start()
        .await
}

fn address(number: usize) -> String {
    format!("mail{number}@example.com")
}

/// Makes the contacts, each address one.
async fn make_contacts(app: &App, count: usize) {
    let mut csv = "email,number\n".to_owned();
    for number in 0..count {
        writeln!(csv, "{},{number}", address(number)).expect("writing to a string");
    }
    let file = tempfile::NamedTempFile::with_suffix(".csv").expect("a file");
    std::fs::write(file.path(), csv).expect("the file is written");
    let said = app.run(&["import", "--project", app.project_id(), &file.path().display().to_string()]).await;
    assert!(said.contains(&format!("{count} contacts created")), "{said}");
}

/// Makes a campaign to everybody and sends it; returns its path.
async fn launch(app: &App) -> String {
    let body = json!({
        "name": "Crash", "subject": "Number {{number}}", "body": "<p>Hello {{number}}</p>", "from": app.from(),
        "audienceType": "ALL",
    });
    let created = app.post("/campaigns").json(&body).send().await.assert_status(201).json();
    let path = format!("/campaigns/{}", text(&created["data"]["id"]));
    app.post(&format!("{path}/send")).json(&json!({})).send().await.assert_status(200);
    path
}

async fn finished(app: &App, path: &str, recipients: usize) {
    let patience = Duration::from_secs(60 + recipients as u64 / 50);
    app.eventually_within(patience, "the campaign is over", async || {
        (read(app, path).await["status"] == "SENT").then_some(())
    })
    .await;
}

/// When the program is killed next. The first kills hit the freezing of the audience; the many after it come quickly, and
/// those that a slow machine needs until the end come now and then.
fn pause(random: &mut Random, kill: usize) -> Duration {
    match kill {
        0..3 => random.millis(60),
        _ if kill < kills_at_least() => Duration::from_millis(100) + random.millis(700),
        _ => Duration::from_millis(500) + random.millis(3_000),
    }
}

async fn is_over(app: &App, path: &str) -> bool {
    read(app, path).await["status"] == "SENT"
}

both_engines! {
    async fn a_campaign_that_is_killed_again_and_again_balances(engine: Engine) {
        let mut random = Random::from_environment();
        let count = recipients();
        let (server, mended) = receiver().await;
        let mut app = start(engine, &server, count).await;
        make_contacts(&app, count).await;
        let began = Instant::now();
        let path = launch(&app).await;
        let mut kills = 0;
        while kills < kills_at_least() || !is_over(&app, &path).await {
            tokio::time::sleep(pause(&mut random, kills)).await;
            app.kill();
            kills += 1;
            tokio::time::sleep(random.millis(50)).await;
            app.restart().await;
        }
        finished(&app, &path, count).await;
        check(&app, &path, &server, count, kills, began).await;
        decide(&app, &path, &server, &mended, count).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_a_campaign_and_one_of_them_dies_for_good() {
    let mut random = Random::from_environment();
    let count = recipients();
    let (server, mended) = receiver().await;
    let mut one = start(Engine::Postgres, &server, count).await;
    make_contacts(&one, count).await;
    let mut two = one.second_node().await;
    let began = Instant::now();
    let path = launch(&one).await;
    for kill in 0..kills_at_least() {
        tokio::time::sleep(pause(&mut random, kill)).await;
        let victim = if random.below(2) == 0 { &mut one } else { &mut two };
        victim.kill();
        tokio::time::sleep(random.millis(200)).await;
        victim.restart().await;
    }
    one.kill();
    finished(&two, &path, count).await;
    check(&two, &path, &server, count, kills_at_least() + 1, began).await;
    decide(&two, &path, &server, &mended, count).await;
}

/// What the ledger says about a mail.
#[derive(Debug)]
struct Entry {
    state: String,
    reason: Option<String>,
    in_doubt: bool,
}

/// Every entry of the ledger by its address.
async fn entries(app: &App, path: &str) -> HashMap<String, Entry> {
    let mut entries = HashMap::new();
    for state in ["WAITING", "ACCEPTED", "SKIPPED", "FAILED", "IN_DOUBT"] {
        for entry in app.list_all(&format!("{path}/ledger?state={state}")).await {
            assert_eq!(entry["state"], state);
            let to = text(&entry["email"]).to_owned();
            let reason = entry["reason"].as_str().map(str::to_owned);
            let found = Entry { state: state.to_owned(), reason, in_doubt: entry["inDoubt"] == true };
            assert!(entries.insert(to.clone(), found).is_none(), "{to} is in the ledger twice");
        }
    }
    entries
}

#[expect(clippy::print_stdout, reason = "stats worth seeing")]
async fn check(app: &App, path: &str, server: &ScriptedServer, count: usize, kills: usize, began: Instant) {
    let took = began.elapsed();
    let copies = server.copies();
    let entries = entries(app, path).await;
    assert_eq!(entries.len(), count, "every contact is in the ledger");
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    let mut doubted_by_kills = 0;
    for number in 0..count {
        let to = address(number);
        let entry = entries.get(&to).unwrap_or_else(|| panic!("{to} is not in the ledger"));
        let fate = ItemResult::of(&to);
        check_entry(entry, fate, copies.get(&to).copied().unwrap_or_default());
        let reason = entry.reason.as_ref().map(|reason| format!(":{reason}")).unwrap_or_default();
        *states.entry(format!("{}{reason}", entry.state)).or_default() += 1;
        doubted_by_kills += usize::from(entry.state == "IN_DOUBT" && !fate.casts_doubt());
    }
    for to in copies.keys() {
        assert!(entries.contains_key(to), "a mail to {to} was handed over that no entry explains");
    }
    let most = kills * CONNECTIONS;
    assert!(doubted_by_kills <= most, "{doubted_by_kills} in doubt by kills, {most} at most");
    check_sums(app, path, &states, count).await;
    println!(
        "{count} recipients, {kills} kills, over after {took:?}: {states:?}; {doubted_by_kills} in doubt by kills, \
         {} mails received, none twice",
        copies.len()
    );
}

/// What may have become of a mail: its state, and how often the receiving server took its content.
fn check_entry(entry: &Entry, fate: ItemResult, copies: usize) {
    let complaint = || format!("{fate:?}, received {copies} times: {entry:?}");
    assert!(copies <= 1, "{}", complaint());
    match entry.state.as_str() {
        "ACCEPTED" => {
            assert_eq!(copies, 1, "{}", complaint());
            let may = [
                ItemResult::Taken,
                ItemResult::Greylisted,
                ItemResult::DroppedBefore,
                ItemResult::BrokenInContent,
                ItemResult::StalledBefore,
            ];
            assert!(may.contains(&fate), "{}", complaint());
        }
        "FAILED" => {
            assert_eq!(copies, 0, "{}", complaint());
            let expected = match fate {
                ItemResult::UnknownRecipient => "bounced",
                ItemResult::RefusedContent => "rejected",
                _ => panic!("{}", complaint()),
            };
            assert_eq!(entry.reason.as_deref(), Some(expected), "{}", complaint());
        }
        "IN_DOUBT" => {
            assert!(entry.in_doubt, "{}", complaint());
            assert!(
                fate != ItemResult::UnknownRecipient,
                "refused before there was any content: {}",
                complaint()
            );
        }
        _ => panic!("{}", complaint()),
    }
}

/// The sums of the ledger are those of its entries, and balance.
async fn check_sums(app: &App, path: &str, states: &BTreeMap<String, usize>, count: usize) {
    let ledger = read(app, &format!("{path}/ledger")).await;
    let mut totals = BTreeMap::new();
    for total in items(&ledger["totals"]) {
        let reason = total["reason"].as_str().map(|reason| format!(":{reason}")).unwrap_or_default();
        let count = usize::try_from(total["count"].as_u64().expect("a count")).expect("a small number");
        totals.insert(format!("{}{reason}", text(&total["state"])), count);
    }
    assert_eq!(&totals, states, "{ledger}");
    assert_eq!(
        (&ledger["equation"]["balanced"], &ledger["equation"]["audience"]),
        (&json!(true), &json!(count))
    );
    assert_eq!(ledger["balance"], ledger["equation"]);
    assert_eq!(totals.values().sum::<usize>(), count, "{ledger}");
    let campaign = read(app, path).await;
    assert_eq!(campaign["sentCount"], totals.get("ACCEPTED").copied().unwrap_or_default());
    assert_eq!(campaign["totalRecipients"], count);
}

/// Whoever decides to send again what is in doubt may send it twice: to those, and to nobody else.
async fn decide(app: &App, path: &str, server: &ScriptedServer, mended: &AtomicBool, count: usize) {
    let doubted = app.list_all(&format!("{path}/ledger?state=IN_DOUBT")).await;
    let doubted: HashSet<&str> = doubted.iter().map(|entry| text(&entry["email"])).collect();
    assert!(!doubted.is_empty(), "the server leaves some in doubt");
    let before = server.copies();
    mended.store(true, Ordering::Relaxed);
    let retried = app.post(&format!("{path}/retry")).json(&json!({"state": "IN_DOUBT"})).send().await;
    assert_eq!(retried.assert_status(200).json()["requeued"], doubted.len());
    finished(app, path, count).await;
    let after = server.copies();
    let mut twice = 0;
    for number in 0..count {
        let to = address(number);
        let of = |copies: &HashMap<String, usize>| copies.get(&to).copied().unwrap_or_default();
        assert_eq!(of(&after), of(&before) + usize::from(doubted.contains(to.as_str())), "{to}");
        twice += usize::from(of(&after) == 2);
    }
    let accepted = app.list_all(&format!("{path}/ledger?state=ACCEPTED")).await;
    assert!(twice <= accepted.iter().filter(|entry| entry["inDoubt"] == true).count());
}

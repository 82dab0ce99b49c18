//! What the program stands on gives way: the database goes, the disk is full, DNS says nothing.

use mailwright_testkit::disk::SmallDisk;
use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Request, Response, Value, json};
use mailwright_tests::random::Random;
use mailwright_tests::{assert_envelope, inline, items, read, text};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a refusal may take: less than callers and load balancers wait.
const PROMPT: Duration = Duration::from_secs(10);

/// The answer of a server that cannot do its work now: 503, the envelope, and when to come back.
fn assert_unavailable(answer: &Response) {
    assert_envelope(answer, 503);
    let seconds = answer.headers.get("retry-after").and_then(|value| value.parse::<u64>().ok());
    assert!(seconds >= Some(1), "Retry-After in seconds: {:?}", answer.headers);
}

async fn ready(app: &App) -> u16 {
    app.request("GET", "/ready").timeout(PROMPT).send().await.status
}

/// Every email of the project is sent; the receiving server got each of these addresses once, or twice at most
/// where the email is marked as in doubt.
async fn assert_all_sent(app: &App, server: &ScriptedServer, addresses: &BTreeSet<String>) {
    let emails = app
        .eventually_within(Duration::from_secs(40), "the queue is empty", async || {
            let emails = app.list_all("/emails").await;
            emails.iter().all(|email| email["status"] == "SENT").then_some(emails)
        })
        .await;
    let mut missing = addresses.clone();
    for email in &emails {
        let to = text(&email["to"]);
        missing.remove(to);
        let copies = server.received_for(to).len();
        let most = if email["inDoubt"] == true { 2 } else { 1 };
        assert!((1..=most).contains(&copies), "received {copies} times: {email}");
    }
    assert!(missing.is_empty(), "acknowledged and lost: {missing:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_out_of_reach_is_said_so_and_survived() {
    let mut server = ScriptedServer::start(|_, _| Answer::Accept).await;
    server.stop().await;
    let app = App::builder(Engine::Postgres).database_proxy().smtp(server.port).start().await;
    let mut addresses = BTreeSet::new();
    for n in 0..10 {
        let to = format!("before{n}@example.com");
        app.send_to(&to).await;
        addresses.insert(to);
    }

    app.database_proxy().cut().await;
    app.eventually("/ready says so", async || (ready(&app).await == 503).then_some(())).await;
    app.request("GET", "/health").send().await.assert_status(200);
    let since = Instant::now();
    let event = json!({"email": "ada@example.com", "event": "lost"});
    assert_unavailable(&app.get("/contacts").timeout(PROMPT).send().await);
    assert_unavailable(
        &app.post("/v1/send").json(&inline(&app, &json!("lost@example.com"))).timeout(PROMPT).send().await,
    );
    let track = app.request("POST", "/v1/track").bearer(app.public_key()).json(&event);
    assert_unavailable(&track.timeout(PROMPT).send().await);
    assert!(since.elapsed() < PROMPT, "refusals are prompt: {:?}", since.elapsed());

    server.start_again().await;
    app.database_proxy().restore().await;
    app.eventually("it recovers by itself", async || (ready(&app).await == 200).then_some(())).await;
    app.send_to("after@example.com").await;
    addresses.insert("after@example.com".to_owned());
    assert_all_sent(&app, &server, &addresses).await;
    assert_eq!(server.received_for("lost@example.com").len(), 0, "what was refused was not kept");
    let stored = read(&app, "/events?eventName=lost&limit=10").await;
    assert_eq!(items(&stored["events"]).len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_comes_and_goes_costs_no_mail() {
    let server = ScriptedServer::start(|_, _| Answer::Delay(Duration::from_millis(5))).await;
    let app = App::builder(Engine::Postgres).database_proxy().smtp(server.port).start().await;
    let mut random = Random::from_environment();
    let mut addresses = BTreeSet::new();
    for n in 0..600 {
        if n % 150 == 100 {
            tokio::time::sleep(random.millis(100)).await;
            app.database_proxy().cut().await;
            tokio::time::sleep(Duration::from_millis(300) + random.millis(1200)).await;
            app.database_proxy().restore().await;
        }
        let to = format!("flow{n}@example.com");
        let body = inline(&app, &json!(to));
        let answer = app.post("/v1/send").json(&body).send().await;
        if answer.status == 200 {
            addresses.insert(to);
        } else {
            assert_unavailable(&answer);
        }
    }
    assert!(addresses.len() > 300, "only {} mails were accepted", addresses.len());
    assert_all_sent(&app, &server, &addresses).await;
}

/// A disk with little room left, and how room is made on it.
enum Disk {
    /// A file system of its own.
    Small(SmallDisk),
    /// Files may not grow beyond a size: what is left to do without the right to mount.
    Limited,
}

impl Disk {
    const MEGABYTES: u32 = 24;

    #[expect(clippy::print_stdout, reason = "says what was tested")]
    fn new() -> Self {
        SmallDisk::mount(Self::MEGABYTES).map_or_else(
            |reason| {
                println!("a limit on the size of files stands in for a full disk: {reason}");
                Self::Limited
            },
            Self::Small,
        )
    }

    async fn start(&self, server: &ScriptedServer) -> App {
        let builder = App::builder(Engine::Sqlite).smtp(server.port);
        let builder = match self {
            Self::Small(disk) => builder.data_dir(&disk.path()),
            Self::Limited => {
                // Ignoring SIGXFSZ turns the kill into an error of the write.
                let limited = format!("trap '' XFSZ; exec prlimit --fsize={} \"$@\"", Self::MEGABYTES << 20);
                builder.wrapper(&["sh", "-c", &limited, "sh"])
            }
        };
        builder.start().await
    }

    /// Makes room; only a file system of its own can be given some while the program runs.
    async fn make_room(&self, app: &mut App) {
        match self {
            Self::Small(disk) => disk.resize(512),
            Self::Limited => {
                app.kill();
                app.set_wrapper(&[]);
                app.restart().await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_writes_and_loses_nothing() {
    full_disk(Disk::new()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_may_not_grow_refuse_writes_and_lose_nothing() {
    full_disk(Disk::Limited).await;
}

async fn full_disk(disk: Disk) {
    let server = ScriptedServer::start(|_, _| Answer::Accept).await;
    let mut app = disk.start(&server).await;
    let mut random = Random::from_environment();
    let mut addresses = BTreeSet::new();
    let mut events = BTreeMap::new();
    // Bodies that cannot be kept small fill the disk.
    let mut refusals = 0;
    for n in 0..3_000 {
        let to = format!("fill{n}@example.com");
        let body = json!({"to": to, "subject": "Fill", "body": format!("<p>{}</p>", random.hex(100_000)), "from": app.from()});
        let answer = app.send(body).await;
        if answer.status == 200 {
            addresses.insert(to);
        } else {
            assert_unavailable(&answer);
            refusals += 1;
        }
        let event = json!({"email": format!("visitor{n}@example.com"), "event": "full", "data": {"n": n}});
        let answer = app.track(event).await;
        if answer.status == 200 {
            events.insert(n, text(&answer.json()["data"]["event"]).to_owned());
        } else {
            assert_unavailable(&answer);
        }
        if refusals == 20 {
            break;
        }
    }
    assert_eq!(refusals, 20, "the disk was never full");
    assert!(addresses.len() > 20, "only {} mails were accepted", addresses.len());
    if let Disk::Small(disk) = &disk {
        // what was accepted is in the database, and not in a log that keeps it out
        let log = disk.path().join("mailwright.sqlite-wal").metadata().expect("a log").len();
        assert!(log < u64::from(Disk::MEGABYTES) << 19, "the log has {log} bytes of the disk");
    }
    app.eventually("the service says that nothing can be written", async || {
        let body = json!({"to": "full@example.com", "subject": "Full", "body": random.hex(1_000_000), "from": app.from()});
        assert_unavailable(&app.send(body).await);
        says_unwritable(&app).await
    })
    .await;
    app.request("GET", "/health").send().await.assert_status(200);
    let page = app.get("/emails?limit=1").send().await.assert_status(200).json();
    assert_eq!(items(&page["data"]).len(), 1, "what is there can be read");

    disk.make_room(&mut app).await;
    app.eventually("writes are taken again", async || {
        let answer = app.send(inline(&app, &json!("after@example.com"))).await;
        (answer.status == 200).then_some(())
    })
    .await;
    addresses.insert("after@example.com".to_owned());
    app.eventually("the service is ready", async || (ready(&app).await == 200).then_some(())).await;
    app.kill();
    app.restart().await;
    assert_all_sent(&app, &server, &addresses).await;
    assert_events_kept(&app, &events).await;
}

/// Whether `/ready` says 503 for the very reason that nothing can be written, and the metrics say so too.
async fn says_unwritable(app: &App) -> Option<()> {
    let answer = app.request("GET", "/ready").timeout(PROMPT).send().await;
    if answer.status == 200 {
        return None;
    }
    let (status, ready) = (answer.status, answer.json());
    assert_eq!(
        (status, &ready["database"], &ready["writable"]),
        (503, &json!(true), &json!(false)),
        "{ready}"
    );
    let metrics = app.request("GET", "/metrics").send().await.text();
    metrics.contains("mailwright_database_writable 0").then_some(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_only_read_is_said_so_and_survived() {
    let app = App::builder(Engine::Postgres).database_proxy().start().await;
    let set = async |value: &str| {
        let set = format!(
            "do $$ begin execute format('alter database %I set default_transaction_read_only = {value}', current_database()); end $$"
        );
        app.tamper(&format!("begin read write; {set}; commit")).await;
    };
    set("on").await;
    // only new connections know
    app.database_proxy().cut().await;
    app.database_proxy().restore().await;
    let event = json!({"email": "ada@example.com", "event": "refused"});
    app.eventually("the service says that nothing can be written", async || {
        assert_unavailable(&app.track(event.clone()).await);
        says_unwritable(&app).await
    })
    .await;
    app.get("/contacts").send().await.assert_status(200);
    set("off").await;
    // nobody writes anything
    app.eventually("it finds out by itself", async || (ready(&app).await == 200).then_some(())).await;
    for n in 0..20 {
        app.track(json!({"email": format!("ada{n}@example.com"), "event": "kept"})).await.assert_status(200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_says_nothing_does_not_keep_probes_waiting() {
    let app = App::builder(Engine::Postgres).database_proxy().start().await;
    app.database_proxy().cut().await;
    // connections are made, and nobody answers
    let _silent =
        std::net::TcpListener::bind(("127.0.0.1", app.database_proxy().port())).expect("a free port");
    for _ in 0..3 {
        let answer = app.request("GET", "/ready").timeout(PROMPT).send().await;
        assert_eq!((answer.status, &answer.json()["database"]), (503, &json!(false)));
    }
}

/// A folder that nobody can write to any more, once it is protected.
enum Protected {
    /// On a file system of its own.
    Disk(SmallDisk),
    /// By its mode and those of its files: what is left to do without the right to mount.
    Modes(TempDir),
}

impl Protected {
    fn new() -> Self {
        SmallDisk::mount(64)
            .map_or_else(|_| Self::Modes(tempfile::tempdir().expect("a temporary folder")), Self::Disk)
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Disk(disk) => disk.path(),
            Self::Modes(folder) => folder.path().join("data"),
        }
    }

    fn protect(&self) {
        if let Self::Disk(disk) = self {
            return disk.protect();
        }
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("our own file");
        };
        for file in std::fs::read_dir(self.path()).expect("a folder") {
            mode(&file.expect("a file").path(), 0o400);
        }
        mode(&self.path(), 0o500);
        let file = self.path().join("mailwright.sqlite");
        let opened = OpenOptions::new().append(true).open(file);
        assert!(
            opened.is_err(),
            "this test needs the right to mount, or a user whom the modes of files bind"
        );
    }
}

impl Drop for Protected {
    fn drop(&mut self) {
        if let Self::Modes(_) = self {
            let _ = std::fs::set_permissions(self.path(), Permissions::from_mode(0o700));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_file_that_cannot_be_written_is_told_at_once() {
    let folder = Protected::new();
    let mut app = App::builder(Engine::Sqlite).data_dir(&folder.path()).start().await;
    app.stop().await;
    folder.protect();
    let serve = ["mailwright.sqlite cannot be written", "it belongs to ", "this program runs as "];
    // the doctor looks at the folder first
    let doctor = ["WRONG  data directory", "or write to it", "run this as the service's user"];
    for (command, expected) in [("serve", serve), ("doctor", doctor)] {
        let output = app.try_run(&[command]).await;
        assert!(!output.status.success(), "{command}: {output:?}");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(expected.iter().all(|part| said.contains(part)), "{command}: {said}");
    }
}

/// Every acknowledged event is stored, once.
async fn assert_events_kept(app: &App, acknowledged: &BTreeMap<usize, String>) {
    for (n, id) in acknowledged {
        let email = format!("visitor{n}@example.com");
        let contact = mailwright_tests::contact_by_email(app, &email).await;
        let contact =
            contact.unwrap_or_else(|| panic!("the contact of event {n} was acknowledged and is lost"));
        let stored = mailwright_tests::events_of(app, &contact["id"]).await;
        let stored: Vec<&str> =
            stored.iter().filter(|event| event["name"] == "full").map(|e| text(&e["id"])).collect();
        assert_eq!(stored, [id], "event {n}");
    }
}

/// Publishes the records a domain asks for.
fn publish(dns: &FakeDns, domain: &Value) {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for record in items(&domain["records"]) {
        let (name, value) = (text(&record["name"]).to_owned(), text(&record["value"]).to_owned());
        match text(&record["type"]) {
            "TXT" => texts.entry(name).or_default().push(value),
            "CNAME" => dns.set_cname(&name, &value),
            "MX" => {
                let preference = record["priority"].as_u64().unwrap_or(10);
                dns.set_mx(&name, [(u16::try_from(preference).expect("a preference"), value)]);
            }
            other => panic!("a record of type {other}: {record}"),
        }
    }
    for (name, values) in texts {
        dns.set_txt(&name, values);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_dns_verifies_nothing_and_takes_nothing_away() {
    let dns = FakeDns::start().await;
    let server = ScriptedServer::start(|_, _| Answer::Accept).await;
    let app = App::builder(Engine::Sqlite)
        .smtp(server.port)
        .env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string())
        .start()
        .await;
    let domain =
        app.post("/domains").json(&json!({"domain": "news.example"})).send().await.assert_status(201).json();
    assert_eq!((&domain["verified"], &domain["status"]), (&json!(false), &json!("pending")));
    assert!(!items(&domain["records"]).is_empty(), "{domain}");
    let verify: Request =
        app.get(&format!("/domains/{}/verify", text(&domain["id"]))).timeout(Duration::from_secs(20));
    let send =
        json!({"to": "ada@example.com", "subject": "Hi", "body": "<p>Hi</p>", "from": "hello@news.example"});

    dns.set_all_silent(true);
    let silent = tokio::spawn(verify.clone().send());
    app.get("/contacts?limit=1").send().await.assert_status(200);
    app.send(send.clone()).await.assert_error(403, "INTERNAL_SERVER_ERROR");
    assert!(!silent.is_finished(), "others do not wait for DNS");
    let checked = silent.await.expect("an answer").assert_status(200).json();
    assert_eq!((&checked["verified"], &checked["status"]), (&json!(false), &json!("pending")), "{checked}");

    dns.set_all_silent(false);
    let checked = verify.clone().send().await.assert_status(200).json();
    assert_eq!(checked["verified"], false, "names that do not exist: {checked}");

    publish(&dns, &domain);
    let checked = verify.clone().send().await.assert_status(200).json();
    assert_eq!((&checked["verified"], &checked["status"]), (&json!(true), &json!("verified")), "{checked}");
    app.send(send.clone()).await.assert_status(200);

    // An outage says nothing about the records.
    dns.set_all_silent(true);
    verify.clone().send().await.assert_status(200);
    app.send(send.clone()).await.assert_status(200);
    dns.set_all_silent(false);
    for record in items(&domain["records"]) {
        dns.set_servfail(text(&record["name"]));
    }
    verify.send().await.assert_status(200);
    app.send(send).await.assert_status(200);
}

//! The disk of SQLite is full.

use mailwright_testkit::disk::SmallDisk;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, json};
use mailwright_tests::random::Random;
use mailwright_tests::{inline, items, text};
use std::collections::{BTreeMap, BTreeSet};

use super::{assert_all_sent, assert_unavailable, ready, says_unwritable};

/// A disk with little room left, and how room is made on it.
pub(super) enum Disk {
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

    pub(super) async fn start(&self, server: &ScriptedServer) -> App {
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
    // where room was made by a kill, mails are in doubt, and one that is in doubt twice is not sent again
    if let Disk::Small(_) = &disk {
        app.kill();
        app.restart().await;
    }
    assert_all_sent(&app, &server, &addresses).await;
    assert_events_kept(&app, &events).await;
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

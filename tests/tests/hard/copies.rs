//! Continuous copies while the service is killed under load, and while their disk is full.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mailwright_testkit::disk::SmallDisk;
use mailwright_testkit::{App, AppBuilder, Engine, Request, json};
use mailwright_tests::copies::{addresses, metric, restore, restored, said, shipped, until};
use mailwright_tests::random::Random;
use mailwright_tests::{inline, sized};

/// How often the service is killed.
fn kills() -> usize {
    sized(4, 15)
}

/// Callers at the same time.
const CALLERS: usize = 6;

fn with_copies(folder: &Path) -> AppBuilder {
    App::builder(Engine::Sqlite).env("MAILWRIGHT_BACKUP_COPY_TO", folder.display().to_string())
}

/// What was acknowledged: addresses, with the time of the server at which the answer was there.
#[derive(Default)]
struct Acknowledged {
    enough: AtomicBool,
    next: AtomicUsize,
    addresses: Mutex<Vec<(String, i64)>>,
}

impl Acknowledged {
    fn count(&self) -> usize {
        self.addresses.lock().expect("no panic").len()
    }

    /// Those that were acknowledged before a moment.
    fn before(&self, moment: i64) -> BTreeSet<String> {
        let addresses = self.addresses.lock().expect("no panic");
        addresses.iter().filter(|(_, at)| *at < moment).map(|(address, _)| address.clone()).collect()
    }
}

/// Tracks until it is enough. The clock of the test is that of the server, which is not moved.
async fn call(request: Request, known: Arc<Acknowledged>) {
    while !known.enough.load(Ordering::SeqCst) {
        let address = format!("caller{}@example.com", known.next.fetch_add(1, Ordering::SeqCst));
        let body = json!({"email": address, "event": "called"});
        let answer = request.clone().json(&body).try_send().await;
        if answer.is_ok_and(|answer| answer.status == 200) {
            let now = std::time::UNIX_EPOCH.elapsed().expect("a clock after 1970").as_millis() as i64;
            known.addresses.lock().expect("no panic").push((address, now));
        } else {
            tokio::task::yield_now().await;
        }
    }
}

/// The service is killed in the middle of writes, again and again. Everything that was acknowledged before the moment
/// that the metric told is restored, with a ledger that adds up and mails that are held.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_shipped_survives_the_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("copies");
    let from = to.display().to_string();
    let mut app = with_copies(&to).start().await;
    shipped(&app).await;
    let known = Arc::new(Acknowledged::default());
    for kill in 0..kills() {
        known.enough.store(false, Ordering::SeqCst);
        let before = known.count();
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                let request = app.request("POST", "/v1/track").bearer(app.public_key());
                tokio::spawn(call(request.timeout(Duration::from_secs(10)), Arc::clone(&known)))
            })
            .collect();
        app.send(inline(&app, &json!(format!("mail{kill}@example.com")))).await.assert_status(200);
        let began = app.now();
        app.eventually_within(Duration::from_mins(1), "much is written and some of it shipped", async || {
            (known.count() >= before + 200 && until(&app).await > began).then_some(())
        })
        .await;
        let safe = until(&app).await;
        app.kill();
        known.enough.store(true, Ordering::SeqCst);
        for caller in callers {
            caller.await.expect("no panic");
        }
        let data = folder.path().join(format!("restored{kill}"));
        let output = restore(&app, &from, None, &data).await;
        assert!(output.status.success(), "{}", said(&output));
        let found = addresses(&app.rows_in(&data));
        let lost: Vec<_> = known.before(safe).difference(&found).cloned().collect();
        assert!(lost.is_empty(), "acknowledged before {safe} and lost: {lost:?}");
        // a state of one moment: what is restored can be served, and says that mails were held or had left
        let other = data.display().to_string();
        let listed = app.try_run_with(&["restore", "--list"], &[("MAILWRIGHT_DATA_DIR", &other)]).await;
        assert!(said(&listed).contains("mails are held."), "{}", said(&listed));
        app.restart().await;
    }
    shipped(&app).await;
    assert_eq!(metric(&app, "mailwright_copies_generations_total").await as i64, 0, "{}", app.log());
    let found = addresses(&restored(&app, &from, None).await);
    assert!(known.before(i64::MAX).is_subset(&found), "everything was shipped by now");
}

/// The disk of the copies is full: the service does not care, and the copies go on when there is room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_of_the_copies_holds_up_nobody() {
    let disk = match SmallDisk::mount(8) {
        Ok(disk) => disk,
        Err(reason) => {
            println!("no disk can be filled here: {reason}");
            return;
        }
    };
    let to = disk.path();
    let app = with_copies(&to).start().await;
    shipped(&app).await;
    let mut random = Random::from_environment();
    let mut sent = 0;
    while metric(&app, "mailwright_copies_failures_total").await < 1.0 {
        let to = format!("fill{sent}@example.com");
        let body = json!({"to": to, "subject": "Fill", "body": random.hex(200_000), "from": app.from()});
        app.send(body).await.assert_status(200);
        sent += 1;
        assert!(sent < 1_000, "the disk is never full");
    }
    app.send(inline(&app, &json!("after@example.com"))).await.assert_status(200);
    app.request("GET", "/ready").send().await.assert_status(200);
    disk.resize(512);
    shipped(&app).await;
    let rows = restored(&app, &to.display().to_string(), None).await;
    assert!(addresses(&rows).contains("after@example.com"));
    assert_eq!(rows["emails"].len(), sent + 1);
}

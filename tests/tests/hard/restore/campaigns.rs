//! Campaigns: one that is being sent, one whose audience is not frozen, and one whose time comes after the backup.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mailwright_testkit::smtp::ScriptedServer;
use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{items, read, sized, text};

use super::{copies, held, make_contacts, receiver, start, sum, table, unsettled};

/// Contacts of each audience.
pub(super) fn recipients() -> usize {
    sized(300, 20_000)
}

pub(super) fn addresses(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{name}{number}@example.com")).collect()
}

/// A draft of a campaign to the contacts of a part; its path.
pub(super) async fn draft(app: &App, name: &str) -> String {
    let filter = json!({"field": "data.part", "operator": "equals", "value": name});
    let body = json!({
        "name": name, "subject": name, "body": "<p>Hello</p>", "from": app.from(), "audienceType": "FILTERED",
        "audienceCondition": {"logic": "AND", "groups": [{"filters": [filter]}]},
    });
    let created = app.post("/campaigns").json(&body).send().await.assert_status(201).json();
    format!("/campaigns/{}", text(&created["data"]["id"]))
}

pub(super) async fn send(app: &App, campaign: &str, body: Value) {
    app.post(&format!("{campaign}/send")).json(&body).send().await.assert_status(200);
}

pub(super) async fn over(app: &App, campaign: &str, count: usize) -> Value {
    let patience = Duration::from_secs(60 + count as u64 / 50);
    app.eventually_within(patience, &format!("{campaign} is over"), async || {
        (read(app, campaign).await["status"] == "SENT").then_some(())
    })
    .await;
    let ledger = read(app, &format!("{campaign}/ledger")).await;
    assert_eq!(ledger["equation"]["balanced"], true, "{ledger}");
    assert_eq!(ledger["equation"]["audience"], count, "{ledger}");
    assert_eq!(ledger["balance"], ledger["equation"], "{ledger}");
    ledger
}

pub(super) fn total(ledger: &Value, state: &str) -> u64 {
    let of = items(&ledger["totals"]).iter().filter(|total| total["state"] == state);
    of.map(|total| total["count"].as_u64().expect("a count")).sum()
}

/// Sends a campaign, stops the service before its audience is frozen, and makes a backup.
async fn unfrozen(app: &mut App, folder: &Path, count: usize) -> (String, PathBuf) {
    for attempt in 0..20 {
        let campaign = draft(app, "cold").await;
        send(app, &campaign, json!({})).await;
        app.kill();
        let to = folder.join(format!("backup{attempt}"));
        app.back_up(&to).await;
        let rows = app.rows().await;
        if table(&rows, "campaigns")
            .iter()
            .any(|row| row["status"] == "SENDING" && row["frozen_at"].is_null())
        {
            return (campaign, to);
        }
        // nothing of it is left over for the next one
        app.restart().await;
        over(app, &campaign, count).await;
    }
    panic!("a campaign was always frozen before the service was killed");
}

both_engines! {
    /// The service goes on after the backup until everything was sent. After the restore nothing of it leaves again.
    async fn what_was_sent_after_the_backup_is_not_sent_again(engine: Engine) {
        let count = recipients();
        let folder = tempfile::tempdir().expect("a folder");
        let server = receiver().await;
        let mut app = start(engine, &server, sized(30, 1_000)).await;
        for name in ["warm", "late"] {
            make_contacts(&app, name, &addresses(name, count)).await;
        }
        let (warm, late) = (draft(&app, "warm").await, draft(&app, "late").await);
        let later = app.now() + 3_600_000;
        send(&app, &late, json!({"scheduledFor": later})).await;
        send(&app, &warm, json!({})).await;
        let ledger = format!("{warm}/ledger");
        app.eventually_within(Duration::from_mins(2), "all mails of the campaign are made, and some have left", async || {
            let is_frozen = read(&app, &ledger).await["frozen"] == true;
            (is_frozen && server.copies().len() >= count / 8).then_some(())
        })
        .await;
        app.send_to("direct@example.com").await;

        let backup = folder.path().join("backup");
        app.back_up(&backup).await;
        let sent_then = copies(&server);
        assert!(sent_then.len() < count, "the backup is made in the middle");

        // the stretch that is lost: the campaign ends, and the other one is due and sent
        over(&app, &warm, count).await;
        app.advance(Duration::from_hours(1)).await;
        over(&app, &late, count).await;
        app.kill();
        let sent = copies(&server);
        assert_eq!(sent.len(), 2 * count + 1);
        assert!(sent.values().all(|copies| *copies == 1), "nobody got one twice before");

        let waiting = unsettled(&app.load(&backup).await);
        let said = app.put_back(&backup).await;
        assert!(said.contains("The epoch is 1 now."), "{said}");
        assert_eq!(held(&app).await, waiting, "what was not settled is held");
        assert!(waiting.len() > count / 4, "{} of {count}", waiting.len());

        app.restart().await;
        let ledger = over(&app, &warm, count).await;
        let of_warm = waiting.keys().filter(|address| address.starts_with("warm")).count();
        assert_eq!(total(&ledger, "IN_DOUBT"), of_warm as u64, "{ledger}");
        assert_eq!(total(&ledger, "ACCEPTED"), (count - of_warm) as u64, "{ledger}");
        // its time had come: it is sent once more, and all of it is held
        let ledger = over(&app, &late, count).await;
        assert_eq!(total(&ledger, "IN_DOUBT"), count as u64, "{ledger}");
        let all_held = held(&app).await;
        assert_eq!(all_held, sum(&waiting, &addresses("late", count).into_iter().map(|to| (to, 1)).collect()));
        assert_eq!(copies(&server), sent, "nothing left by itself");
        let doctor = app.try_run(&["doctor"]).await;
        let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(doctor.contains("epoch: 1, it was restored at"), "{doctor}");
        assert!(doctor.contains(&format!("{} mails are held", all_held.len())), "{doctor}");

        decide(&app, &server, &warm, &late, count).await;
    }

    /// The audience of a campaign was not frozen: its other mails are made after the restore, and are held as well.
    async fn what_a_campaign_makes_later_is_held(engine: Engine) {
        let count = recipients();
        let folder = tempfile::tempdir().expect("a folder");
        let server = receiver().await;
        let mut app = start(engine, &server, 0).await;
        make_contacts(&app, "cold", &addresses("cold", count)).await;
        let (cold, backup) = unfrozen(&mut app, folder.path(), count).await;

        // the stretch that is lost
        app.restart().await;
        over(&app, &cold, count).await;
        app.kill();
        let sent = copies(&server);

        let waiting = unsettled(&app.load(&backup).await);
        app.put_back(&backup).await;
        assert_eq!(held(&app).await, waiting);
        app.restart().await;
        let ledger = over(&app, &cold, count).await;
        let doubted = total(&ledger, "IN_DOUBT");
        assert!(doubted > waiting.len() as u64, "some were made after the restore: {ledger}");
        assert_eq!(doubted + total(&ledger, "ACCEPTED"), count as u64, "{ledger}");
        assert_eq!(held(&app).await.len() as u64, doubted);
        assert_eq!(copies(&server), sent, "nothing left by itself");

        let listed = held(&app).await;
        app.run(&["restore", "--resend", "--all"]).await;
        over(&app, &cold, count).await;
        assert_eq!(copies(&server), sum(&sent, &listed), "each held one was sent once");
    }
}

/// One campaign is discarded, everything else is sent again: each held mail once.
async fn decide(app: &App, server: &ScriptedServer, warm: &str, late: &str, count: usize) {
    let before = copies(server);
    let id = late.rsplit('/').next().expect("an id");
    let said = app.run(&["restore", "--discard", "--project", app.project_id(), "--campaign", id]).await;
    assert_eq!(said.trim(), format!("0 mails are sent, {count} are not."));
    let rest = held(app).await;
    assert!(!rest.keys().any(|address| address.starts_with("late")));

    let said = app.run(&["restore", "--resend", "--all"]).await;
    assert_eq!(said.trim(), format!("{} mails are sent, 0 are not.", rest.values().sum::<usize>()));
    assert_eq!(app.run(&["restore", "--resend", "--all"]).await.trim(), "0 mails are sent, 0 are not.");
    assert!(held(app).await.is_empty());
    app.eventually("what was held has left", async || {
        (server.copies().values().sum::<usize>() >= before.values().chain(rest.values()).sum()).then_some(())
    })
    .await;
    let ledger = over(app, warm, count).await;
    assert_eq!(total(&ledger, "ACCEPTED"), count as u64, "{ledger}");
    let ledger = over(app, late, count).await;
    assert_eq!(total(&ledger, "IN_DOUBT"), count as u64, "{ledger}");
    assert_eq!(copies(server), sum(&before, &rest), "each once, and none of what was discarded");
    let trail = app.run(&["project", "audit", app.project_id()]).await;
    for action in ["held_mails.resent", "held_mails.discarded"] {
        assert_eq!(trail.matches(action).count(), 1, "{trail}");
    }
}

//! Continuous copies of a campaign that is being sent: restored like a backup.

use mailwright_testkit::{App, Engine, json};
use mailwright_tests::copies::shipped;

use super::campaigns::{addresses, draft, over, recipients, send, total};
use super::{copies, held, make_contacts, receiver};

/// The service is killed in the middle of a campaign, and its data directory is lost. What may have left is held, and
/// nobody gets a mail twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_campaign_of_the_last_second_is_held_and_adds_up() {
    let count = recipients();
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("copies").display().to_string();
    let server = receiver().await;
    let mut app = App::builder(Engine::Sqlite)
        .smtp(server.port)
        .env("MAILWRIGHT_SENDING_PER_SECOND", (count / 10).max(1).to_string())
        .env("MAILWRIGHT_BACKUP_COPY_TO", &to)
        .start()
        .await;
    make_contacts(&app, "warm", &addresses("warm", count)).await;
    let campaign = draft(&app, "warm").await;
    send(&app, &campaign, json!({})).await;
    app.eventually("some of the campaign has left", async || {
        (server.copies().len() >= count / 8).then_some(())
    })
    .await;
    shipped(&app).await;
    app.kill();
    let sent = copies(&server);
    assert!(sent.len() < count, "the service is killed in the middle");

    let said = app.run(&["restore", "--from", &to, "--move-aside"]).await;
    assert!(said.contains("The database is as it was at") && said.contains("The epoch is 1 now."), "{said}");
    let listed = held(&app).await;
    app.restart().await;
    let ledger = over(&app, &campaign, count).await;
    let doubted = total(&ledger, "IN_DOUBT");
    assert!(doubted > 0 && doubted >= listed.len() as u64, "{ledger}");
    assert_eq!(doubted + total(&ledger, "ACCEPTED"), count as u64, "{ledger}");
    assert_eq!(copies(&server), sent, "nothing left by itself");
    // what had left and was known to have left is not among what is held
    let listed = held(&app).await;
    assert_eq!(listed.len() as u64, doubted);
    assert!(addresses("warm", count).iter().all(|one| sent.contains_key(one) || listed.contains_key(one)));
}

//! What is counted for reports about TLS, and who sends them, on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot go wrong in a test may panic")]

use std::time::Duration;

use mailwright_core::time::Timestamp;
use mailwright_store::delivery::tls_report::{
    self, Claim, MOST_DOMAINS, PolicyRow, Post, SessionRow, Sums, begin, day,
};
use mailwright_store::{Error, body};

use crate::database::{TestDatabase, both_engines};

const NOW: Timestamp = Timestamp(1_741_608_000_000);
const LEASE: Duration = Duration::from_mins(15);

fn after(minutes: u64) -> Timestamp {
    NOW.plus(Duration::from_mins(minutes))
}

fn session(domain: &str, result: &str, sessions: i64) -> SessionRow {
    SessionRow {
        domain: domain.to_owned(),
        policy: "p".to_owned(),
        result: result.to_owned(),
        host: if result.is_empty() { String::new() } else { "mx.one.example".to_owned() },
        receiver: String::new(),
        source: String::new(),
        reason: String::new(),
        sessions,
    }
}

fn sums(sessions: Vec<SessionRow>) -> Sums {
    let mut domains: Vec<_> = sessions.iter().map(|row| (row.domain.clone(), after(60))).collect();
    domains.dedup();
    let policies = domains.iter().map(|(domain, _)| PolicyRow {
        domain: domain.clone(),
        policy: "p".to_owned(),
        kind: "sts".to_owned(),
        lines: "version: STSv1\nmode: testing".to_owned(),
        servers: "*.one.example".to_owned(),
    });
    Sums { day: day(NOW), policies: policies.collect(), domains, sessions }
}

async fn add(database: &TestDatabase, sums: Sums) {
    database.db.write(body!(async |tx| tls_report::add(tx, &sums).await)).await.unwrap();
}

async fn claim(database: &TestDatabase, now: Timestamp) -> Vec<Claim> {
    let claimed = database.db.write(body!(async |tx| tls_report::claim(tx, now, now.plus(LEASE), 10).await));
    claimed.await.unwrap()
}

async fn conclude(database: &TestDatabase, claim: &Claim) -> bool {
    let claim = claim.clone();
    database.db.write(body!(async |tx| tls_report::conclude(tx, &claim).await)).await.unwrap()
}

async fn stored(database: &TestDatabase) -> (Vec<PolicyRow>, Vec<SessionRow>) {
    let found = database.db.read(body!(async |rx| {
        let policies = tls_report::policies(rx, day(NOW), "one.example").await?;
        Ok((policies, tls_report::sessions(rx, day(NOW), "one.example").await?))
    }));
    found.await.unwrap()
}

async fn processes_add_up_and_one_reports(database: TestDatabase) {
    let counted =
        || sums(vec![session("one.example", "", 3), session("one.example", "certificate-expired", 1)]);
    add(&database, counted()).await;
    add(&database, counted()).await;
    let (policies, sessions) = stored(&database).await;
    assert_eq!(policies.len(), 1);
    assert_eq!(sessions, [session("one.example", "", 6), session("one.example", "certificate-expired", 2)]);
    assert!(claim(&database, NOW).await.is_empty());
    let first = claim(&database, after(60)).await.remove(0);
    assert_eq!((first.day, &*first.domain), (day(NOW), "one.example"));
    assert!(claim(&database, after(61)).await.is_empty(), "it is somebody's");
    // whoever claimed it was away for too long
    let second = claim(&database, after(76)).await.remove(0);
    assert!(!conclude(&database, &first).await);
    assert!(conclude(&database, &second).await);
    assert!(!conclude(&database, &second).await);
    // what comes later is of no report
    add(&database, counted()).await;
    assert_eq!(stored(&database).await, (vec![], vec![]));
    assert!(claim(&database, after(10_000)).await.is_empty());
}

async fn a_claim_can_be_put_off(database: TestDatabase) {
    add(&database, sums(vec![session("one.example", "", 1)])).await;
    let claimed = claim(&database, after(60)).await.remove(0);
    let put_off = database.db.write(body!(async |tx| tls_report::put_off(tx, &claimed, after(90)).await));
    put_off.await.unwrap();
    assert!(claim(&database, after(89)).await.is_empty());
    assert_eq!(claim(&database, after(90)).await.len(), 1);
}

async fn a_day_has_so_many_domains(database: TestDatabase) {
    let names = (0..MOST_DOMAINS).map(|nth| format!("d{nth:05}.example"));
    for part in names.collect::<Vec<_>>().chunks(1_000) {
        add(&database, sums(part.iter().map(|domain| session(domain, "", 1)).collect())).await;
    }
    add(&database, sums(vec![session("d00000.example", "", 1), session("one.example", "", 1)])).await;
    assert!(stored(&database).await.1.is_empty(), "one too many");
    let known =
        database.db.read(body!(async |rx| { tls_report::sessions(rx, day(NOW), "d00000.example").await }));
    assert_eq!(known.await.unwrap()[0].sessions, 2);
}

async fn take(database: &TestDatabase, now: Timestamp) -> Vec<Post> {
    database.db.write(body!(async |tx| tls_report::take_posts(tx, now, 10).await)).await.unwrap()
}

async fn a_report_under_way_to_a_url_is_nobody_elses(database: TestDatabase) {
    let queued = database.db.write(body!(async |tx| {
        let claim = Claim { day: day(NOW), domain: "one.example".to_owned(), until: after(1) };
        let urls = ["https://a.example/".to_owned(), "https://b.example/".to_owned()];
        tls_report::queue_posts(tx, &claim, &urls, b"packed", NOW).await
    }));
    queued.await.unwrap();
    let posts = take(&database, NOW).await;
    assert_eq!(posts.len(), 2);
    let one = posts[0].clone();
    assert_eq!((&one.report[..], one.attempts, one.first_at), (&b"packed"[..], 1, NOW));
    assert!(take(&database, after(600)).await.is_empty());
    let (again, done) = (one.clone(), posts[1].clone());
    let settled = database.db.write(body!(async |tx| {
        tls_report::repeat_post(tx, &again, after(5)).await?;
        tls_report::end_post(tx, &done).await
    }));
    settled.await.unwrap();
    assert!(take(&database, after(4)).await.is_empty());
    let again = take(&database, after(5)).await;
    assert_eq!((again.len(), again[0].attempts, &again[0].url), (1, 2, &one.url));
    let abandoned = database.db.write(body!(async |tx| {
        Ok::<_, Error>((
            tls_report::abandon_posts(tx, after(5)).await?,
            tls_report::abandon_posts(tx, after(6)).await?,
        ))
    }));
    assert_eq!(abandoned.await.unwrap(), (0, 1));
}

async fn old_days_are_forgotten(database: TestDatabase) {
    add(&database, sums(vec![session("one.example", "", 1)])).await;
    let forget = async |oldest: i64| {
        let removed = database.db.write(body!(async |tx| tls_report::forget(tx, oldest, 10).await));
        removed.await.unwrap()
    };
    assert_eq!(forget(day(NOW)).await, 0);
    assert_eq!(forget(day(NOW) + 1).await, 3);
    assert_eq!(stored(&database).await, (vec![], vec![]));
    assert!(begin(day(NOW)) <= NOW && NOW < begin(day(NOW) + 1));
}

both_engines! { "tls_reports":
    processes_add_up_and_one_reports,
    a_claim_can_be_put_off,
    a_day_has_so_many_domains,
    a_report_under_way_to_a_url_is_nobody_elses,
    old_days_are_forgotten,
}

//! Every figure, and every page of the feed, over a long history equals what its rows come to. The history is made up
//! and written while no server runs; it has another project beside the one that is looked at. Each check counts the
//! made-up lists again, in other ways than the service does.

mod campaigns;
mod feed;
mod figures;
mod made;
mod making;
mod moments;
mod written;
mod written_mails;

use std::time::Duration;

use mailwright_core::time::Timestamp;
use mailwright_store::insight::counter::{self, Counter};
use mailwright_store::{Db, body};
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::random::Random;
use mailwright_tests::workflow::Flow;
use mailwright_tests::{create_template, read, sized, text};
use serde_json::json;

use self::made::{History, Size};
use self::moments::{DAY, MINUTE};
use self::written::Site;

/// How much there is: some ten thousand rows, or more than a million.
fn size() -> Size {
    let usual = Size {
        contacts: 1_000,
        campaigns: 20,
        mails: 3_000,
        tracked: 6_000,
        executions: 500,
        inbound: 200,
        workflows: 2,
        templates: 2,
    };
    let large = Size {
        contacts: 40_000,
        campaigns: 60,
        mails: 120_000,
        tracked: 560_000,
        executions: 25_000,
        inbound: 3_000,
        ..usual
    };
    sized(usual, large)
}

/// How much the other project has.
fn others() -> Size {
    let size = size();
    Size {
        contacts: size.contacts / 10,
        campaigns: 8,
        mails: size.mails / 10,
        tracked: size.tracked / 10,
        executions: 0,
        inbound: 20,
        workflows: 0,
        templates: 0,
    }
}

/// Events of the last minutes; each of the two is in more of them.
fn recent() -> [(std::ops::Range<i64>, usize); 2] {
    [(MINUTE..5 * MINUTE, sized(100, 4_000)), (40 * MINUTE..42 * MINUTE, sized(200, 8_000))]
}

both_engines! {
    async fn figures_of_a_long_history_are_what_its_rows_come_to(engine: Engine) {
        let mut random = Random::from_environment();
        let mut app = App::builder(engine)
            .env("MAILWRIGHT_AUTO_PROJECT_DISABLE", "false")
            // what waits, waits until the test is over
            .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", (2 * DAY).to_string())
            .start()
            .await;
        let other = app.bootstrap("Other", "other.test").await;
        let (templates, workflows) = (templates(&app).await, workflows(&app).await);
        let now = app.now();
        app.stop().await;

        let db = written::open(&app);
        let end = now - now.rem_euclid(MINUTE) - 2 * MINUTE * 60;
        let mut history = History::make(random.fork(), size(), end);
        let mut of_other = History::make(random.fork(), others(), end);
        let site = |db: &Db, project, from: &str| Site {
            db: db.clone(),
            project,
            from: Site::address(from),
            templates: Vec::new(),
            workflows: Vec::new(),
            now: Timestamp(now),
        };
        let theirs = site(&db, written::number(&db, &other.id).await, &other.from);
        theirs.write(&mut of_other).await;
        let mine = site(&db, written::number(&db, app.project_id()).await, &app.from());
        let mine = Site { templates, workflows, ..mine };
        mine.write(&mut history).await;
        let first = history.events.len();
        for (ago, count) in recent() {
            history.add_recent(&mut random, app.now(), ago, count);
        }
        mine.events(&history, first..history.events.len()).await;

        app.restart().await;
        figures::recent(&app, &history).await;
        let periods = figures::periods(&history, &mut random);
        check(&app, &history, &periods).await;
        until_folded(&app, &db, &mine).await;
        check(&app, &history, &periods).await;
        feed::check(&app, &history, &mine, &periods).await;
    }
}

/// Compares the figures, which may have been folded or not.
async fn check(app: &App, history: &History, periods: &[(i64, i64)]) {
    figures::days(app, history).await;
    figures::stats(app, history, periods).await;
    figures::top_events(app, history, periods).await;
    figures::domains(app, history, periods).await;
    figures::cohorts(app, history).await;
    campaigns::check(app, history, periods).await;
}

/// Waits until the maintenance has folded what is counted of the past.
async fn until_folded(app: &App, db: &Db, site: &Site) {
    let (project, patience) = (site.project, Duration::from_mins(sized(1, 4)));
    let next_hour = app.now() / (60 * MINUTE) + 1;
    app.advance(Duration::from_mins(61)).await;
    app.eventually_within(patience, "the past is folded", async || {
        app.advance(Duration::from_mins(1)).await;
        let left = db.read(body!(async |rx| {
            let mut left = counter::values(rx, project, Counter::Quarter).await?;
            left.extend(counter::values(rx, project, Counter::DomainDay).await?);
            let hours = counter::values(rx, project, Counter::EventHour).await?;
            left.extend(hours.into_iter().filter(|(name, _)| hour_of(name) < next_hour));
            Ok(left)
        }));
        left.await.expect("the counters").is_empty().then_some(())
    })
    .await;
}

/// The hour in the name of a counter of events.
fn hour_of(name: &str) -> i64 {
    name.split_once(' ').and_then(|(hour, _)| hour.parse().ok()).expect("an hour and a name")
}

async fn templates(app: &App) -> Vec<mailwright_core::ids::TemplateId> {
    let mut templates = Vec::new();
    for _ in 0..size().templates {
        let made = create_template(app, &json!({})).await;
        templates.push(text(&made["id"]).parse().expect("an id"));
    }
    templates
}

/// Workflows that nothing begins any more; each has had a version.
async fn workflows(app: &App) -> Vec<(mailwright_core::ids::WorkflowId, mailwright_core::ids::StepId)> {
    let mut workflows = Vec::new();
    for number in 0..size().workflows {
        let flow = Flow::new(app, &format!("begun.{number}")).await;
        let step = flow.then("DELAY", json!({"amount": 300, "unit": "days"})).await;
        flow.enable().await;
        flow.change(json!({"enabled": false})).await;
        assert_eq!(read(app, &flow.path("")).await["enabled"], false);
        workflows.push((flow.id.parse().expect("an id"), step.parse().expect("an id")));
    }
    workflows
}

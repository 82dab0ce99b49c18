//! What must be true once everything was told.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt as _;
use mailwright_testkit::{App, Rows};
use mailwright_tests::{items, read, text};
use serde_json::Value;

use super::course::Course;
use super::kills;
use super::news::{Effect, Way};
use super::recount::{self, Counters, difference, has_left, id, is_true, number, recounted, string, table};
use super::senders::{Progress, lock};

/// What should have become of a mail, by what was told.
#[derive(Debug, Default)]
struct Told {
    /// How many events of each name it should have.
    events: BTreeMap<&'static str, usize>,
    /// Why the address gets nothing more.
    suppressed: BTreeSet<&'static str>,
    /// Tags of hits: whether each is an open or a click, and whether it is certainly stored.
    hits: BTreeMap<String, (Effect, bool)>,
}

/// What should have become of each mail.
fn told(progress: &Progress) -> HashMap<String, Told> {
    let mut all = HashMap::<String, Told>::new();
    for news in lock(&progress.news).iter() {
        let told = all.entry(news.mail.id.clone()).or_default();
        let mut event = |name| *told.events.entry(name).or_default() += 1;
        match (news.effect, &news.way) {
            (Effect::Delivered, _) => event("email.delivery"),
            (Effect::Bounced { is_final }, _) => {
                event("email.bounce");
                if is_final {
                    told.suppressed.insert("bounce");
                }
            }
            (Effect::Complained, _) => {
                event("email.complaint");
                told.suppressed.insert("complaint");
            }
            (Effect::Opened | Effect::Clicked, Way::Notification(_)) => {
                told.hits.insert(news.tag(), (news.effect, true));
            }
            (Effect::Opened | Effect::Clicked | Effect::Nothing, _) => {}
        }
    }
    for visit in lock(&progress.visits).iter().filter(|visit| visit.news.effect != Effect::Nothing) {
        let told = all.entry(visit.news.mail.id.clone()).or_default();
        told.hits.insert(visit.tag.clone(), (visit.news.effect, progress.is_certain(visit)));
    }
    all
}

/// Everything that is wrong: a failing test shows it at once.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn unless(&mut self, is_right: bool, what: impl FnOnce() -> String) {
        if !is_right {
            self.0.push(what());
        }
    }
}

/// The hits of each mail, and its events by name.
struct Stored {
    hits: HashMap<String, Vec<Value>>,
    events: HashMap<String, BTreeMap<String, Vec<Value>>>,
    suppressed: HashMap<String, String>,
    subscribed: HashMap<String, bool>,
}

impl Stored {
    fn new(rows: &Rows) -> Self {
        let mut hits = HashMap::<String, Vec<Value>>::new();
        for hit in table(rows, "hits") {
            hits.entry(id(&hit["email_id"]).expect("a mail")).or_default().push(hit);
        }
        let mut events = HashMap::<String, BTreeMap<String, Vec<Value>>>::new();
        for event in table(rows, "events") {
            let Some(mail) = id(&event["email_id"]) else { continue };
            let name = string(&event["name"]).to_owned();
            events.entry(mail).or_default().entry(name).or_default().push(event);
        }
        let suppressed = table(rows, "suppressions")
            .into_iter()
            .map(|row| (string(&row["email"]).to_owned(), string(&row["reason"]).to_owned()));
        let subscribed = table(rows, "contacts")
            .into_iter()
            .map(|row| (string(&row["email"]).to_owned(), is_true(&row["subscribed"])));
        Self { hits, events, suppressed: suppressed.collect(), subscribed: subscribed.collect() }
    }
}

#[expect(clippy::print_stdout, reason = "stats worth seeing")]
pub(super) async fn check(app: &App, course: &Course, progress: &Progress, rows: &Rows, killing: Duration) {
    let (told, stored) = (told(progress), Stored::new(rows));
    let mut wrong = Wrong::default();
    let mails = table(rows, "emails");
    let nothing = Told::default();
    for mail in &mails {
        let told = told.get(&id(&mail["id"]).expect("an id")).unwrap_or(&nothing);
        check_mail(mail, told, &stored, &mut wrong);
    }
    let counters = recount::stored(rows);
    wrong.0.extend(difference(&counters, &recounted(rows)));
    check_shown(app, course, &counters, &mut wrong).await;
    check_shown_mails(app, &mails, &stored, &mut wrong).await;
    let classes = classes(&stored);
    let (early, news) = (progress.early.load(Ordering::Relaxed), lock(&progress.news).len());
    println!(
        "{} mails, {} received, {news} news told {} times ({early} while the mail was held, {} refused), {} kills in \
         {killing:?}; hits: {classes:?}; wrong: {}",
        mails.len(),
        lock(&progress.mails).len(),
        progress.told(),
        progress.refused.load(Ordering::Relaxed),
        kills(),
        wrong.0.len()
    );
    assert!(wrong.0.is_empty(), "{} wrong:\n{}", wrong.0.len(), wrong.0.join("\n"));
    assert!(early > 0 && classes.len() > 1, "the test is worth something only with all of it");
}

/// How many hits there are of each class.
fn classes(stored: &Stored) -> BTreeMap<String, usize> {
    let mut classes = BTreeMap::new();
    for hit in stored.hits.values().flatten() {
        *classes.entry(hit["class"].to_string()).or_default() += 1;
    }
    classes
}

fn check_mail(mail: &Value, told: &Told, stored: &Stored, wrong: &mut Wrong) {
    let mail_id = id(&mail["id"]).expect("an id");
    let (no_hits, no_events) = (Vec::new(), BTreeMap::new());
    let hits = stored.hits.get(&mail_id).unwrap_or(&no_hits);
    let events = stored.events.get(&mail_id).unwrap_or(&no_events);
    check_hits(&mail_id, hits, told, wrong);
    check_sums(mail, hits, told, wrong);
    let count = |name: &str| events.get(name).map_or(0, Vec::len);
    for name in ["email.delivery", "email.bounce", "email.complaint"] {
        let expected = told.events.get(name).copied().unwrap_or_default();
        wrong.unless(count(name) == expected, || {
            format!("{mail_id}: {} events {name}, told {expected}", count(name))
        });
    }
    wrong
        .unless(count("email.sent") <= 1, || format!("{mail_id}: {} events email.sent", count("email.sent")));
    for (name, is_click) in [("email.open", false), ("email.click", true)] {
        let of: BTreeSet<_> = events.get(name).into_iter().flatten().map(|event| id(&event["id"])).collect();
        let people = hits.iter().filter(|hit| hit["class"] == "human" && hit["link"].is_null() != is_click);
        let expected: BTreeSet<_> = people.map(|hit| id(&hit["id"])).collect();
        wrong.unless(of == expected, || format!("{mail_id}: events {name} {of:?}, hits {expected:?}"));
    }
    let to = string(&mail["recipient"]);
    let unsubscribed = count("contact.unsubscribed");
    let lost = usize::from(!told.suppressed.is_empty());
    wrong.unless(unsubscribed == lost, || {
        format!("{to}: {unsubscribed} events contact.unsubscribed, expected {lost}")
    });
    wrong.unless(stored.subscribed.get(to) == Some(&(lost == 0)), || {
        format!("{to}: subscribed is {:?}, told {told:?}", stored.subscribed.get(to))
    });
    let reason = stored.suppressed.get(to).map(String::as_str);
    let is_right = reason.map_or(lost == 0, |reason| told.suppressed.contains(reason));
    wrong.unless(is_right, || format!("{to}: suppressed for {reason:?}, told {told:?}"));
}

/// Every hit that is certain is stored, and none twice.
fn check_hits(mail: &str, hits: &[Value], told: &Told, wrong: &mut Wrong) {
    let mut found = BTreeMap::<&str, usize>::new();
    for hit in hits {
        let tag = string(&hit["agent"]).rsplit(' ').next().unwrap_or_default();
        *found.entry(tag).or_default() += 1;
        match told.hits.get(tag) {
            Some((effect, _)) => wrong.unless((*effect == Effect::Opened) == hit["link"].is_null(), || {
                format!("{mail}: {hit} should be {effect:?}")
            }),
            None => wrong.0.push(format!("{mail}: nobody made the hit {hit}")),
        }
        wrong.unless(hit["class"].is_string(), || format!("{mail}: {hit} is not judged"));
    }
    for (tag, (effect, is_certain)) in &told.hits {
        let count = found.get(tag.as_str()).copied().unwrap_or_default();
        let is_right = count == 1 || count == 0 && !is_certain;
        wrong.unless(is_right, || {
            format!("{mail}: {effect:?} {tag} is stored {count} times, certain: {is_certain}")
        });
    }
}

/// What is known of a mail is what its hits, and what was told, give.
fn check_sums(mail: &Value, hits: &[Value], told: &Told, wrong: &mut Wrong) {
    let times = |is_click: bool, is_person: bool| -> Vec<i64> {
        let of = hits.iter().filter(|hit| hit["link"].is_null() != is_click);
        of.filter(|hit| (hit["class"] == "human") == is_person).map(|hit| number(&hit["at"])).collect()
    };
    let (opens, clicks) = (times(false, true), times(true, true));
    let optional = |time: Option<&i64>| time.map_or(Value::Null, |time| (*time).into());
    let mut expected: Vec<(&str, Value)> = vec![
        ("opens", opens.len().into()),
        ("clicks", clicks.len().into()),
        ("machine_opens", times(false, false).len().into()),
        ("machine_clicks", times(true, false).len().into()),
        ("opened_at", optional(opens.iter().min())),
        ("last_opened_at", optional(opens.iter().max())),
        ("clicked_at", optional(clicks.iter().min())),
        ("last_clicked_at", optional(clicks.iter().max())),
    ];
    let has = |name: &str| told.events.contains_key(name);
    let known = [
        ("delivered_at", has("email.delivery")),
        ("bounced_at", told.suppressed.contains("bounce")),
        ("complained_at", told.suppressed.contains("complaint")),
    ];
    let was_heard_of = !hits.is_empty() || known.iter().any(|(_, known)| *known);
    let status = string(&mail["status"]);
    let highest = [
        (told.suppressed.contains("complaint"), "COMPLAINED"),
        (told.suppressed.contains("bounce"), "BOUNCED"),
        (!clicks.is_empty(), "CLICKED"),
        (!opens.is_empty(), "OPENED"),
        (has("email.delivery"), "DELIVERED"),
        (was_heard_of || has_left(status), "SENT"),
    ];
    let highest = highest.iter().find(|(is, _)| *is).map_or("IN_DOUBT", |(_, status)| status);
    expected.push(("status", highest.into()));
    for (column, value) in expected {
        wrong.unless(mail[column] == value, || format!("{column} should be {value}: {mail}"));
    }
    for (column, is_known) in known {
        wrong.unless(mail[column].is_null() != is_known, || format!("{column}, told {told:?}: {mail}"));
    }
    wrong.unless(mail["sent_at"].is_null() != has_left(status), || format!("sent_at: {mail}"));
    let is_accepted = mail["recipient_state"] == "ACCEPTED";
    wrong.unless(mail["campaign_id"].is_null() || is_accepted == has_left(status), || {
        format!("recipient_state: {mail}")
    });
}

/// What campaigns and the workflow show is what the counters are.
async fn check_shown(app: &App, course: &Course, counters: &Counters, wrong: &mut Wrong) {
    let value =
        |kind: &str, name: String| counters.get(&(kind.to_owned(), name)).copied().unwrap_or_default();
    for path in &course.campaigns {
        let campaign = path.trim_start_matches("/campaigns/");
        let stats = read(app, &format!("{path}/stats")).await;
        for (shown, name) in [
            ("totalRecipients", "RECIPIENTS"),
            ("sentCount", "ACCEPTED"),
            ("deliveredCount", "DELIVERED"),
            ("openedCount", "OPENED"),
            ("clickedCount", "CLICKED"),
            ("bouncedCount", "BOUNCED"),
            ("complainedCount", "COMPLAINED"),
            ("machineOpenedCount", "MACHINE_OPENED"),
            ("machineClickedCount", "MACHINE_CLICKED"),
        ] {
            let value = value("campaign", format!("{campaign}:{name}"));
            wrong.unless(stats[shown] == value, || format!("{path}: {shown} should be {value}: {stats}"));
        }
        let links = read(app, &format!("{path}/links")).await;
        let mut shown = 0;
        for link in items(&links["links"]) {
            let place = number(&link["position"]) - 1;
            for (member, name) in
                [("clicks", "clicks"), ("uniqueClicks", "people"), ("machineClicks", "machines")]
            {
                let value = value("link", format!("{campaign}:{place}:{name}"));
                wrong.unless(link[member] == value, || format!("{path}: {member} should be {value}: {link}"));
                shown += value;
            }
        }
        let of_campaign =
            counters.iter().filter(|((kind, name), _)| kind == "link" && name.starts_with(campaign));
        let all: i64 = of_campaign.map(|(_, value)| value).sum();
        wrong.unless(shown == all, || format!("{path}: links that are not shown: {links}"));
    }
    let stats = read(app, &format!("/workflows/{}/stats", course.workflow)).await;
    for (shown, figure) in [
        ("created", "emails"),
        ("sent", "sent"),
        ("delivered", "delivered"),
        ("opened", "opened"),
        ("clicked", "clicked"),
        ("bounced", "bounced"),
        ("complained", "complained"),
        ("unsent", "unsent"),
    ] {
        let value = value("workflow", format!("{}:{figure}", course.workflow));
        wrong.unless(stats["emails"][shown] == value, || format!("{shown} should be {value}: {stats}"));
    }
    let has_figures =
        counters.keys().any(|(kind, name)| kind == "template_figure" && name.starts_with(&course.template));
    wrong.unless(has_figures, || "nothing was counted of the template".to_owned());
}

/// What is shown of each mail is what is stored, and its counts are those of the hits that are shown.
async fn check_shown_mails(app: &App, mails: &[Value], stored: &Stored, wrong: &mut Wrong) {
    let heard_of = mails.iter().filter_map(|mail| id(&mail["id"])).filter(|id| stored.hits.contains_key(id));
    let shown = heard_of.map(|id| async move {
        let mail = app.email(&id).await;
        (mail, app.list_all(&format!("/emails/{id}/hits")).await)
    });
    let shown: Vec<(Value, Vec<Value>)> =
        futures_util::stream::iter(shown).buffer_unordered(8).collect().await;
    for (mail, hits) in shown {
        for (member, kind, is_person) in [
            ("opens", "open", true),
            ("clicks", "click", true),
            ("machineOpens", "open", false),
            ("machineClicks", "click", false),
        ] {
            let of = hits.iter().filter(|hit| hit["type"] == kind && (hit["class"] == "human") == is_person);
            let count = of.count();
            wrong.unless(mail[member] == count, || format!("{member} should be {count}: {mail} {hits:?}"));
        }
        let known = stored.hits.get(text(&mail["id"])).map_or(0, Vec::len);
        wrong.unless(hits.len() == known, || format!("{} hits shown of {known}: {mail}", hits.len()));
    }
}

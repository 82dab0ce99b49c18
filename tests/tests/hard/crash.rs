//! `kill -9` at random moments, many times, while many mails and events are under way: nothing that was
//! acknowledged is lost, nothing is done twice outside of what is marked as in doubt.

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, AppBuilder, Engine, Request, Value, both_engines, json};
use mailwright_tests::random::{Random, hash};
use mailwright_tests::{items, sized, text};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Accepted mails there are at least.
fn mails() -> usize {
    sized(400, 2_000)
}

/// How often the program is killed.
fn kills() -> usize {
    sized(7, 20)
}

/// Connections to the receiving server.
const CONNECTIONS: usize = 8;
/// Callers that send at the same time.
const SENDERS: usize = 16;
/// Callers that track at the same time.
const TRACKERS: usize = 4;
/// Events that share a name, few enough for one page of `GET /events`.
const EVENTS_PER_NAME: usize = 50;

/// What becomes of a mail, decided by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ItemResult {
    Taken,
    Greylisted,
    UnknownRecipient,
    RefusedContent,
    BrokenInContent,
    BrokenAfterContentOnce,
    BrokenAfterContentAlways,
}

impl ItemResult {
    fn of(to: &str) -> Self {
        match hash(to) % 100 {
            0..50 => Self::Taken,
            50..64 => Self::Greylisted,
            64..73 => Self::UnknownRecipient,
            73..82 => Self::RefusedContent,
            82..90 => Self::BrokenInContent,
            90..95 => Self::BrokenAfterContentOnce,
            _ => Self::BrokenAfterContentAlways,
        }
    }

    fn answer(self, attempt: u32) -> Answer {
        match (self, attempt) {
            (Self::Greylisted, 1) => Answer::RefuseRcpt(451, "4.7.1 greylisted"),
            (Self::UnknownRecipient, _) => Answer::RefuseRcpt(550, "5.1.1 unknown"),
            (Self::RefusedContent, _) => Answer::RefuseData(554, "5.7.1 refused"),
            (Self::BrokenInContent, 1) => Answer::DropMidData,
            (Self::BrokenAfterContentOnce, 1) | (Self::BrokenAfterContentAlways, _) => Answer::DropAfterDot,
            _ => Answer::Accept,
        }
    }

    /// Whether the receiving server itself leaves outcomes in doubt. A small content is with the kernel in one
    /// piece, so that a break in the middle looks to the sender like one after the end.
    fn casts_doubt(self) -> bool {
        matches!(self, Self::BrokenInContent | Self::BrokenAfterContentOnce | Self::BrokenAfterContentAlways)
    }
}

/// What the callers know.
#[derive(Default)]
struct Ledger {
    enough: AtomicBool,
    next_mail: AtomicUsize,
    next_event: AtomicUsize,
    /// Email id and address of each mail that was accepted.
    accepted: Mutex<BTreeMap<String, String>>,
    /// Every address a mail was asked for, accepted or not.
    asked: Mutex<BTreeSet<String>>,
    /// Number and id of each event that was acknowledged.
    acknowledged: Mutex<BTreeMap<usize, String>>,
}

both_engines! {
    async fn nothing_is_lost_and_nothing_doubled(engine: Engine) {
        let receivers = Receivers::start(Way::Relay).await;
        survive(receivers.app(engine), receivers).await;
    }

    async fn nor_where_mail_is_brought_to_the_recipients_servers(engine: Engine) {
        let receivers = Receivers::start(Way::Direct).await;
        survive(receivers.app(engine), receivers).await;
    }

    async fn nor_where_one_transport_stands_in_for_another(engine: Engine) {
        let receivers = Receivers::start(Way::StandIn).await;
        survive(receivers.app(engine), receivers).await;
    }
}

/// Where mail goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Relay,
    Direct,
    /// By one relay, which is down from time to time, and by another then.
    StandIn,
}

/// The servers that take the mail.
struct Receivers {
    way: Way,
    servers: Vec<ScriptedServer>,
    dns: FakeDns,
}

impl Receivers {
    async fn start(way: Way) -> Self {
        let mut servers = Vec::new();
        for _ in 0..if way == Way::StandIn { 2 } else { 1 } {
            servers.push(ScriptedServer::start(|to, attempt| ItemResult::of(to).answer(attempt)).await);
        }
        let dns = FakeDns::start().await;
        dns.set_mx("example.com", [(10, "mx.example.com")]);
        dns.set_a("mx.example.com", [Ipv4Addr::LOCALHOST]);
        Self { way, servers, dns }
    }

    fn app(&self, engine: Engine) -> AppBuilder {
        let builder = App::builder(engine);
        match self.way {
            Way::Relay => builder.smtp(self.servers[0].port),
            Way::Direct => builder.direct(&self.dns, self.servers[0].port),
            Way::StandIn => builder.file(&format!(
                "[[transports]]\nname = 'first'\nurl = 'smtp://127.0.0.1:{}?tls=none'\n\
                 [[transports]]\nname = 'second'\nurl = 'smtp://127.0.0.1:{}?tls=none'\n\
                 [[routes]]\nvia = ['first', 'second']\n",
                self.servers[0].port, self.servers[1].port
            )),
        }
    }

    /// Has the first relay go away or come back, where another stands in.
    async fn change(&mut self, round: usize) {
        if self.way == Way::StandIn {
            if round.is_multiple_of(2) {
                self.servers[0].stop().await;
            } else {
                self.servers[0].start_again().await;
            }
        }
    }

    /// How often each address got its mail.
    fn copies(&self) -> HashMap<String, usize> {
        let mut copies: HashMap<String, usize> = HashMap::new();
        for message in self.servers.iter().flat_map(ScriptedServer::received) {
            assert_eq!(message.rcpt_to.len(), 1, "one recipient each");
            *copies.entry(message.rcpt_to[0].clone()).or_default() += 1;
        }
        copies
    }
}

async fn survive(app: AppBuilder, mut receivers: Receivers) {
    let mut random = Random::from_environment();
    let mut app = app
        .env("MAILWRIGHT_DELIVERY_CONNECTIONS", CONNECTIONS.to_string())
        // much of the mail is meant to come back
        .env("MAILWRIGHT_AUTO_PROJECT_DISABLE", "false")
        .start()
        .await;

    let ledger = Arc::new(Ledger::default());
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..SENDERS {
        let request = app.post("/v1/send").timeout(Duration::from_secs(10));
        callers.spawn(send(request, app.from(), Arc::clone(&ledger), random.fork()));
    }
    for _ in 0..TRACKERS {
        let request = app.request("POST", "/v1/track").bearer(app.public_key());
        let request = request.timeout(Duration::from_secs(10));
        callers.spawn(track(request, Arc::clone(&ledger), random.fork()));
    }

    for round in 0..kills() {
        tokio::time::sleep(Duration::from_millis(150) + random.millis(700)).await;
        receivers.change(round).await;
        app.kill();
        tokio::time::sleep(random.millis(50)).await;
        app.restart().await;
    }
    let accepted = || ledger.accepted.lock().expect("the ledger").len();
    let since = Instant::now();
    while accepted() < mails() {
        assert!(since.elapsed() < Duration::from_mins(1), "only {} mails were accepted", accepted());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    ledger.enough.store(true, Ordering::Relaxed);
    receivers.change(1).await;
    while let Some(ended) = callers.join_next().await {
        ended.expect("a caller got an answer it should not get");
    }

    app.eventually_within(Duration::from_mins(1), "no mail is open", async || {
        // each mail is looked at once: asked for by status, one that moves between two would be missed
        let emails = app.list_all("/emails").await;
        let is_open = |email: &Value| ["PENDING", "SENDING"].contains(&text(&email["status"]));
        (!emails.iter().any(is_open)).then_some(())
    })
    .await;
    check_mails(&app, &receivers, &ledger).await;
    check_events(&app, &ledger).await;
}

/// Sends mails to addresses of their own until there are enough.
async fn send(request: Request, from: String, ledger: Arc<Ledger>, mut random: Random) {
    while !ledger.enough.load(Ordering::Relaxed) {
        let number = ledger.next_mail.fetch_add(1, Ordering::Relaxed);
        let to = format!("mail{number}@example.com");
        ledger.asked.lock().expect("the ledger").insert(to.clone());
        let body =
            json!({"to": to, "subject": format!("Mail {number}"), "body": "<p>Hello</p>", "from": from});
        match request.clone().json(&body).try_send().await {
            Ok(answer) if answer.status == 200 => {
                let answer = answer.json();
                let email = &answer["data"]["emails"][0];
                assert_eq!(email["contact"]["email"], to, "{answer}");
                ledger.accepted.lock().expect("the ledger").insert(text(&email["email"]).to_owned(), to);
                tokio::time::sleep(random.millis(200)).await;
            }
            // Starting or stopping; whether such a mail was kept is not said, as with one that got no answer.
            Ok(answer) => assert_eq!(answer.status, 503, "{}", answer.text()),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Tracks events with numbers of their own until the senders have enough.
async fn track(request: Request, ledger: Arc<Ledger>, mut random: Random) {
    while !ledger.enough.load(Ordering::Relaxed) {
        let number = ledger.next_event.fetch_add(1, Ordering::Relaxed);
        let body = json!({
            "email": format!("visitor{}@example.com", number % 40),
            "event": format!("crash.{}", number / EVENTS_PER_NAME),
            "data": {"number": number, format!("seen{}", number % 7): number},
        });
        let request = request.clone().header("idempotency-key", &format!("event-{number}")).json(&body);
        // A caller that got no answer asks again with the same key: at most one of the two is carried out.
        for _ in 0..=random.below(3) {
            match request.clone().try_send().await {
                Ok(answer) if answer.status == 200 => {
                    let event = text(&answer.json()["data"]["event"]).to_owned();
                    ledger.acknowledged.lock().expect("the ledger").insert(number, event);
                    break;
                }
                Ok(answer) if answer.status == 409 => {
                    answer.assert_error(409, "IDEMPOTENCY_KEY_REUSED");
                    break;
                }
                Ok(answer) => assert_eq!(answer.status, 503, "{}", answer.text()),
                Err(_) => {}
            }
            tokio::time::sleep(random.millis(100)).await;
        }
        tokio::time::sleep(random.millis(50)).await;
    }
}

#[expect(clippy::print_stdout, reason = "stats worth seeing")]
async fn check_mails(app: &App, receivers: &Receivers, ledger: &Ledger) {
    let accepted = ledger.accepted.lock().expect("the ledger").clone();
    let asked = ledger.asked.lock().expect("the ledger").clone();
    let copies = receivers.copies();
    let emails = app.list_all("/emails").await;

    let mut seen = BTreeSet::new();
    let mut addresses = BTreeSet::new();
    let mut doubted_by_kills = 0;
    for email in &emails {
        let to = text(&email["to"]);
        assert!(seen.insert(text(&email["id"]).to_owned()), "listed twice: {email}");
        assert!(addresses.insert(to.to_owned()), "two emails from one request: {email}");
        assert!(asked.contains(to), "nobody asked for this email: {email}");
        let fate = ItemResult::of(to);
        check_mail(email, fate, copies.get(to).copied().unwrap_or_default());
        if email["inDoubt"] == true && !fate.casts_doubt() {
            doubted_by_kills += 1;
        }
    }
    for (id, to) in &accepted {
        assert!(seen.contains(id), "email {id} to {to} was accepted and is lost");
    }
    for to in copies.keys() {
        assert!(addresses.contains(to), "a mail to {to} was handed over that no email explains");
    }
    let kills = kills();
    let bound = kills * CONNECTIONS * receivers.servers.len();
    assert!(
        doubted_by_kills <= bound,
        "{doubted_by_kills} in doubt after {kills} kills with {CONNECTIONS} connections"
    );
    let states = emails.iter().fold(BTreeMap::<&str, usize>::new(), |mut states, email| {
        *states.entry(text(&email["status"])).or_default() += 1;
        states
    });
    println!(
        "{} accepted of {} asked for, {} kept: {states:?}; {doubted_by_kills} in doubt by {kills} kills",
        accepted.len(),
        asked.len(),
        emails.len()
    );
}

/// What may have become of a mail: its state, and how often the receiving server took its content.
fn check_mail(email: &Value, fate: ItemResult, copies: usize) {
    let status = text(&email["status"]);
    let doubt = email["inDoubt"] == true;
    let complaint = format!("{fate:?}, received {copies} times: {email}");
    // The rules for all: a clear outcome means one copy, doubt means at most two.
    assert!(email["inDoubt"].is_boolean(), "{complaint}");
    assert!(copies <= if doubt { 2 } else { 1 }, "{complaint}");
    if status == "SENT" {
        assert!(copies >= 1, "{complaint}");
    }
    if status == "IN_DOUBT" {
        assert!(doubt, "{complaint}");
    }
    match fate {
        ItemResult::Taken
        | ItemResult::Greylisted
        | ItemResult::BrokenInContent
        | ItemResult::BrokenAfterContentOnce => {
            assert!(status == "SENT" || (status == "IN_DOUBT" && doubt), "{complaint}");
        }
        ItemResult::UnknownRecipient => {
            assert_eq!((status, doubt, copies), ("BOUNCED", false, 0), "{complaint}");
        }
        ItemResult::RefusedContent => {
            assert_eq!(copies, 0, "{complaint}");
            assert!(status == "FAILED" || (status == "IN_DOUBT" && doubt), "{complaint}");
        }
        ItemResult::BrokenAfterContentAlways => {
            assert_eq!((status, doubt), ("IN_DOUBT", true), "{complaint}");
        }
    }
}

#[expect(clippy::print_stdout, reason = "stats worth seeing")]
async fn check_events(app: &App, ledger: &Ledger) {
    let acknowledged = ledger.acknowledged.lock().expect("the ledger").clone();
    let asked = ledger.next_event.load(Ordering::Relaxed);
    let mut stored: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for name in 0..asked.div_ceil(EVENTS_PER_NAME) {
        let path = format!("/events?eventName=crash.{name}&limit=100");
        let page = app.get(&path).send().await.assert_status(200).json();
        for event in items(&page["events"]) {
            let number = event["data"]["number"].as_u64().expect("the number of the event");
            let number = usize::try_from(number).expect("a small number");
            assert_eq!(number / EVENTS_PER_NAME, name, "{event}");
            stored.entry(number).or_default().push(text(&event["id"]).to_owned());
        }
    }
    for (number, ids) in &stored {
        assert_eq!(ids.len(), 1, "event {number} is stored more than once");
    }
    for (number, id) in &acknowledged {
        let found = stored.get(number).map(|ids| ids[0].as_str());
        assert_eq!(found, Some(id.as_str()), "event {number} was acknowledged");
    }
    assert!(acknowledged.len() > asked / 2, "{} of {asked} events were acknowledged", acknowledged.len());
    println!("{} events acknowledged of {asked}, {} stored", acknowledged.len(), stored.len());
}

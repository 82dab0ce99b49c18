//! Mail to sites that Postfix and Exim run: one puts off whom it does not know, one takes no mail without TLS, one
//! takes few mails a minute, one is dead at first. All mail arrives, each once, and no limit is met more often than it
//! takes to learn it.

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::mta::{EximSite, KeyFiles, Place, PostfixSite};
use mailwright_testkit::net::free_port;
use mailwright_testkit::policy::PolicyServer;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::tls::Certificate;
use mailwright_testkit::{App, AppBuilder, Engine, Value, both_engines, json};
use mailwright_tests::random::hash;
use mailwright_tests::{items, sized, text};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

/// Mails that the limited site takes in a minute.
const LIMIT: usize = 20;
/// Recipients of one request.
const BATCH: usize = 100;
/// What the clock of the service is moved by at a time, where it is moved.
const STRIDE: Duration = Duration::from_millis(2_500);

/// How much faster than the machine's the clock of the service may go. The servers live by the machine's: what is a
/// minute to the service is a minute divided by this to them.
fn speed() -> u32 {
    sized(6, 1)
}

/// So long a time of the service, as the servers see it.
fn real(time: Duration) -> Duration {
    time / speed()
}

/// How long the site is dead, by the service's clock.
fn dead_for() -> Duration {
    sized(Duration::from_secs(30), Duration::from_mins(10))
}

/// How long everything may take, by the machine's clock.
fn patience() -> Duration {
    sized(Duration::from_mins(5), Duration::from_mins(90))
}

/// The sites, by what is special about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Greylisting,
    TlsOnly,
    Limited,
    Dead,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Greylisting, Self::TlsOnly, Self::Limited, Self::Dead];

    fn name(self) -> &'static str {
        match self {
            Self::Greylisting => "grey",
            Self::TlsOnly => "strict",
            Self::Limited => "limited",
            Self::Dead => "dead",
        }
    }

    /// Mails to it, and the domains that it serves.
    fn size(self) -> (usize, usize) {
        match self {
            Self::Greylisting => sized((40, 40), (6_000, 600)),
            Self::TlsOnly => sized((315, 70), (6_850, 600)),
            Self::Limited => sized((45, 20), (300, 200)),
            Self::Dead => sized((200, 70), (6_850, 600)),
        }
    }

    fn domain(self, number: usize) -> String {
        format!("d{number}.{}.test", self.name())
    }

    fn domains(self) -> impl Iterator<Item = String> {
        (0..self.size().1).map(move |number| self.domain(number))
    }

    fn addresses(self) -> impl Iterator<Item = String> {
        let (mails, domains) = self.size();
        (0..mails).map(move |number| format!("n{number}@{}", self.domain(number % domains)))
    }

    fn host(self) -> String {
        format!("mx.{}.example", self.name())
    }

    /// What some of the mails to it say while they wait; `None` for the site that takes all mail at once.
    fn trouble(self) -> Option<&'static str> {
        match self {
            Self::Greylisting => Some("Greylisted"),
            Self::TlsOnly => None,
            Self::Limited => Some("limited.example asks us to send less. Last: 421 4.7.28"),
            Self::Dead => Some("dead.example cannot be reached"),
        }
    }

    /// Whether a mail to it may wait for this reason: what the site said, or one that names the site, for whose first
    /// mails others wait.
    fn explains(self, reason: &str) -> bool {
        let names_site = reason.contains(&format!("{}.example", self.name()));
        names_site || ["Greylisted", "4.7.28"].iter().any(|words| reason.contains(words))
    }
}

/// The servers, and the sinks that they bring to what they took.
struct Sites {
    dns: FakeDns,
    port: u16,
    key: KeyFiles,
    web: Certificate,
    web_port: u16,
    sinks: BTreeMap<Kind, ScriptedServer>,
    _grey: PostfixSite,
    strict: PostfixSite,
    limited: EximSite,
    dead: EximSite,
    _policy: PolicyServer,
}

impl Sites {
    async fn start() -> Self {
        let (dns, port, web_port) = (FakeDns::start().await, free_port(), free_port());
        dns.set_ttl(600);
        let mut sinks = BTreeMap::new();
        let mut places = BTreeMap::new();
        for (number, kind) in (1..).zip(Kind::ALL) {
            // only of one site it is asked how the mail came
            let sink = ScriptedServer::builder();
            let sink = if kind == Kind::TlsOnly { sink } else { sink.without_contents() };
            let sink = sink.start(|_, _| Answer::Accept).await;
            let address = Ipv4Addr::new(127, 0, 21, number);
            dns.set_a(&kind.host(), [address]);
            for domain in kind.domains() {
                dns.set_mx(&domain, [(10, kind.host())]);
            }
            places.insert(kind, Place { host: kind.host(), address, port, sink: sink.port });
            sinks.insert(kind, sink);
        }
        let web_address = Ipv4Addr::new(127, 0, 21, 9);
        let mut names = Vec::new();
        for domain in Kind::TlsOnly.domains() {
            dns.set_txt(&format!("_mta-sts.{domain}"), ["v=STSv1; id=1"]);
            dns.set_a(&format!("mta-sts.{domain}"), [web_address]);
            names.push(format!("mta-sts.{domain}"));
        }
        let web = Certificate::of(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let host = Kind::TlsOnly.host();
        let policy = format!("version: STSv1\nmode: enforce\nmx: {host}\nmax_age: 604800\n");
        let policy = PolicyServer::start(web_address, web_port, &web, &policy).await;
        let key = KeyFiles::of(&[host.as_str()]);
        // the service tries again after a minute: a mail is put off once
        let grey = PostfixSite::greylisting(&places[&Kind::Greylisting], real(Duration::from_secs(30))).await;
        let strict = PostfixSite::tls_only(&places[&Kind::TlsOnly], &key).await;
        let minute = real(Duration::from_mins(1));
        let limited = EximSite::limited(&places[&Kind::Limited], LIMIT, minute).await;
        let dead = EximSite::dead(&places[&Kind::Dead]);
        Self { dns, port, key, web, web_port, sinks, _grey: grey, strict, limited, dead, _policy: policy }
    }

    fn app(&self, engine: Engine) -> AppBuilder {
        App::builder(engine)
            .direct(&self.dns, self.port)
            .env("SSL_CERT_FILE", self.key.trusted_with(&self.web).display().to_string())
            .env("MAILWRIGHT_TEST_POLICY_PORT", self.web_port.to_string())
            // as they are without a test: what is put off is tried again after a minute
            .env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "60000")
            .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "3600000")
            // the clock is moved while mail is under way
            .env("MAILWRIGHT_DELIVERY_LEASE_MS", "60000")
    }

    /// How many mails came to the sinks, whoever they were for.
    fn arrived(&self) -> usize {
        self.sinks.values().map(|sink| sink.copies().values().sum::<usize>()).sum()
    }

    /// What is missing, and what the limited site saw, for a failed test.
    fn course(&self) -> String {
        let came = self.sinks.iter().map(|(kind, sink)| format!("{kind:?} {}", sink.copies().len()));
        format!("{}; {} refused", came.collect::<Vec<_>>().join(", "), self.limited.refused_mails())
    }
}

both_engines! {
    async fn mail_arrives_once_and_limits_are_learnt(engine: Engine) {
        let sites = Sites::start().await;
        let app = sites.app(engine).start().await;
        deliver(sites, &[&app]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_learn_the_limits_together() {
    let sites = Sites::start().await;
    let one = sites.app(Engine::Postgres).start().await;
    let two = one.second_node().await;
    Box::pin(deliver(sites, &[&one, &two])).await;
}

async fn deliver(mut sites: Sites, nodes: &[&App]) {
    let mut addresses: Vec<String> = Kind::ALL.into_iter().flat_map(Kind::addresses).collect();
    addresses.sort_by_key(|address| hash(address));
    let began = Instant::now();
    let is_over = nodes[0].now() + dead_for().as_millis() as i64;
    for (number, batch) in addresses.chunks(BATCH).enumerate() {
        let app = nodes[number % nodes.len()];
        let body = json!({"to": batch, "subject": "Hello", "body": "<p>Hello there</p>", "from": app.from()});
        let answer = app.post("/v1/send").timeout(Duration::from_mins(1)).json(&body).send().await;
        let answer = answer.assert_status(200).json();
        assert_eq!(items(&answer["data"]["emails"]).len(), batch.len());
    }
    let mut waited = Waited::default();
    let mut is_dead = true;
    while sites.arrived() < addresses.len() {
        assert!(began.elapsed() < patience(), "not all mail arrived: {}", sites.course());
        if is_dead && nodes[0].now() >= is_over {
            sites.dead.start().await;
            is_dead = false;
        }
        waited.look(nodes[0]).await;
        pass(nodes[0]).await;
    }
    assert!(!is_dead, "mail to a dead site arrived");
    let emails = all_sent(nodes[0], addresses.len()).await;
    check_copies(&sites, &addresses);
    check_limit(&sites, nodes.len(), began.elapsed());
    check_tls(&sites);
    waited.check(nodes[0], &emails).await;
}

/// Lets a moment pass, and moves the clock of the service if it is to go faster than the machine's.
async fn pass(app: &App) {
    // the stride comes on top of the time that passes by itself, so the clock goes no faster than was promised
    tokio::time::sleep(STRIDE / (speed() - 1).max(1)).await;
    if speed() > 1 {
        app.advance(STRIDE).await;
    }
}

/// Waits until all emails are sent, none of them in doubt, and returns them.
async fn all_sent(app: &App, count: usize) -> Vec<Value> {
    let emails = app.eventually_within(Duration::from_mins(2), "all emails are sent", async || {
        let emails = app.list_all("/emails").await;
        emails.iter().all(|email| email["status"] == "SENT").then_some(emails)
    });
    let emails = emails.await;
    assert_eq!(emails.len(), count);
    for email in &emails {
        assert_eq!(email["inDoubt"], false, "{email}");
    }
    emails
}

/// Each mail came once, and by the site of its recipient.
fn check_copies(sites: &Sites, addresses: &[String]) {
    let mut copies: HashMap<String, usize> = HashMap::new();
    for (kind, sink) in &sites.sinks {
        for (address, count) in sink.copies() {
            assert!(address.ends_with(&format!(".{}.test", kind.name())), "{address} came to {kind:?}");
            assert_eq!(copies.insert(address.clone(), count), None, "{address} came to two sites");
        }
    }
    for address in addresses {
        assert_eq!(copies.remove(address), Some(1), "copies of the mail to {address}");
    }
    assert!(copies.is_empty(), "nobody sent {copies:?}");
}

/// The limit is met once, by the mail after the last that fits. What other connections have under way in that moment
/// cannot be called back: a site that has taken 20 mails has two connections at most, whichever processes they belong
/// to. The rate is half of what was found afterwards, and stays below nine tenths of it for an hour, so nothing is
/// refused after that.
#[expect(clippy::print_stdout, reason = "stats worth seeing")]
fn check_limit(sites: &Sites, nodes: usize, took: Duration) {
    let refused = sites.limited.refused_mails();
    println!("{nodes} nodes: {refused} mails over the limit, all in {took:?}: {}", sites.course());
    assert!(refused >= 1, "the limit was never met");
    assert!(refused <= 2, "{refused} mails over the limit:\n{}", sites.limited.log());
}

/// The site that demands TLS got each mail with it, and was never offered one without.
fn check_tls(sites: &Sites) {
    for mail in sites.sinks[&Kind::TlsOnly].received() {
        let message = String::from_utf8_lossy(&mail.data).into_owned();
        let received = message.split("\r\nReceived:").next().unwrap_or_default();
        assert!(received.contains("with ESMTPS"), "{received}");
    }
    // what was refused is counted when a connection ends: `mail=3/4`
    let log = sites.strict.log();
    let refused = log.split_whitespace().filter(|word| word.starts_with("mail=") && word.contains('/'));
    assert_eq!(refused.collect::<Vec<_>>(), Vec::<&str>::new());
}

/// Why mails waited, as they said while they did.
#[derive(Default)]
struct Waited {
    looked: Option<Instant>,
    /// By address; mails that wait without a reason have none.
    reasons: BTreeMap<String, BTreeSet<String>>,
}

impl Waited {
    /// Asks the mails that wait, once in a while.
    async fn look(&mut self, app: &App) {
        let every = sized(Duration::from_secs(2), Duration::from_secs(30));
        if self.looked.is_some_and(|at| at.elapsed() < every) {
            return;
        }
        for email in app.list_all("/emails?status=PENDING").await {
            let reasons = self.reasons.entry(text(&email["to"]).to_owned()).or_default();
            reasons.extend(email["error"].as_str().map(str::to_owned));
        }
        self.looked = Some(Instant::now());
    }

    /// Each mail of a site that did not take it at once has said why, and so do its attempts.
    async fn check(&self, app: &App, emails: &[Value]) {
        for kind in Kind::ALL {
            let Some(trouble) = kind.trouble() else { continue };
            let of_kind = |to: &str| to.ends_with(&format!(".{}.test", kind.name()));
            let (mut explained, mut told) = (0, 0);
            for (address, reasons) in self.reasons.iter().filter(|(address, _)| of_kind(address)) {
                for reason in reasons {
                    assert!(kind.explains(reason), "{address} waited, because: {reason}");
                }
                explained += usize::from(!reasons.is_empty());
                told += usize::from(reasons.iter().any(|reason| reason.contains(trouble)));
            }
            assert!(explained >= kind.size().0 / 4, "{kind:?}: only {explained} mails said why they wait");
            assert!(told >= 1, "{kind:?}: no mail said: {trouble}");
        }
        // the site puts off every mail that it has not seen before
        let grey = emails.iter().filter(|email| text(&email["to"]).ends_with(".grey.test"));
        for email in grey.take(sized(100, 500)) {
            let whole = app.email(text(&email["id"])).await;
            let was_put_off = |attempt: &&Value| {
                attempt["code"] == 450
                    && attempt["reply"].as_str().is_some_and(|it| it.contains("Greylisted"))
            };
            let put_off = items(&whole["attempts"]).iter().filter(was_put_off).count();
            assert!(put_off >= 1, "no attempt says that the mail was put off: {whole}");
        }
    }
}

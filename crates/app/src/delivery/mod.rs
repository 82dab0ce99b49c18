//! Delivery: from the outbox to the next hop, nothing lost and nothing twice.
//!
//! 1. A **feeder** for each lane claims due mails into the short queues of the **dispatcher**. Projects take **turns**
//!    in both.
//! 2. A worker with a connection (**sender**; **worker** has the part that does not depend on the transport) takes a
//!    mail. The **render pool** renders and signs it.
//! 3. The worker sends the envelope. When the server waits for the content, the **ledger** marks the mail `SENDING`, on
//!    disk, with the date of its first hand-over, so that a retry has the same date. Then the content goes out.
//! 4. The answer becomes a **hand-over** (**refusal** translates SMTP's answers). **outcome** says what follows for the
//!    mail, and the **next hop** what follows for connections and rates.
//! 5. The ledger writes the outcome, many workers' steps in one transaction. **bookkeeping** writes what follows for the
//!    contact. What is learnt of the mail later comes in by [`feedback`](crate::feedback), and ends in the same
//!    bookkeeping.
//!
//! A worker marks its next mail in the transaction that records its last one, if both are of one project. So a process
//! that dies leaves at most one mail in doubt for each connection ([`sender`] says when it can be more). The capture
//! transport stores message and outcome in one transaction and is never in doubt.
//!
//! A mail that cannot be rendered fails at once, also if rendering panics; it does not wait for the end of its lease.
//! If the sender's domain is no longer verified, the mail waits and the campaigns of the domain pause.

pub mod checks;
pub mod mailbox;
pub mod reputation;
pub(crate) mod site_metrics;
pub mod site_pace;
pub mod sites;
pub(crate) mod suspension;
pub(crate) mod tls_reports;

pub(crate) mod bookkeeping;
mod chunking;
mod direct;
mod dispatcher;
mod feeder;
mod flows;
mod forgetting;
mod hand_over;
mod held;
mod instance_rate;
pub mod intervening;
mod interventions;
mod ledger;
mod letting_go;
mod message;
mod next_hop;
mod outcome;
mod outlets;
mod parking;
mod placing;
mod recorder;
mod refusal;
mod remembered;
mod render_pool;
mod rests;
pub mod resuming;
mod sender;
mod ses;
mod signing;
mod transport;
mod tries;
mod turns;
mod waiting;
pub mod warm_up;
mod wording;
mod worker;

use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use mailwright_core::email::Lane;
use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::time::{Clock, Timestamp};
use mailwright_store::body;
use mailwright_store::sending::email::{self, ClaimRef, Claimed};
use mailwright_store::{Coalescer, Gathering, Result as StoreResult, project};

use crate::App;
use crate::background::tasks::Tasks;
use crate::delivery::checks::SpamQuestions;
use crate::delivery::suspension::ReputationQueue;
use crate::error::Result;
use crate::http_client::HttpClient;
use crate::sending::footer::Footers;
use crate::settings::Settings;

use chunking::Chunking;
pub use direct::DirectConfig;
use direct::TlsResults;
pub(crate) use dispatcher::Dispatcher;
use held::{Held, claim_ref};
pub(crate) use interventions::LONGEST_PUT_OFF;
use ledger::{Step, StepDone};
use outcome::Backoff;
use outlets::{Outlets, Way};
use remembered::Remembered;
use render_pool::RenderPool;
pub(crate) use ses::{error_type as ses_error_type, send as ask_ses};
pub use ses::{ses_identities, ses_quota};
use signing::{Signing, SigningKeys};
pub use transport::{ConfiguredRoute, NamedTransport, Transport, Transports};
use tries::Tries;
use warm_up::WarmUps;

/// How long a signing key or a project is used without looking whether it is still the same.
const KNOWN_FOR: Duration = Duration::from_secs(5);
/// How long it is remembered, to be shown, which site takes the mail of a domain.
const SITE_KNOWN_FOR: Duration = Duration::from_hours(24);
/// How long the log says no second time that the mail of a domain waits.
const TOLD_AGAIN: Duration = Duration::from_mins(5);

/// What this process keeps for this area.
pub(crate) struct State {
    transports: Transports,
    dispatcher: Dispatcher,
    reputation_queue: ReputationQueue,
    spam_questions: SpamQuestions,
    /// The sites that take the mail of domains, as far as this process has looked them up.
    known_sites: Remembered<String, Arc<str>>,
    /// What connections to recipients' servers came to, for reports to their domains.
    tls_results: TlsResults,
    /// Brings such reports to URLs.
    http: HttpClient,
}

impl State {
    pub(crate) fn new(transports: Transports, settings: &Settings, clock: &Clock, http: HttpClient) -> Self {
        Self {
            transports,
            dispatcher: Dispatcher::default(),
            reputation_queue: ReputationQueue::default(),
            spam_questions: SpamQuestions::default(),
            known_sites: Remembered::lasting(SITE_KNOWN_FOR),
            tls_results: TlsResults::new(settings.tls_reports.is_some(), clock),
            http,
        }
    }
}

impl App {
    /// Whether the background work is alive; true as well when this process does none.
    pub fn worker_is_alive(&self) -> bool {
        self.dispatcher().is_alive()
    }

    /// Whether mail leaves the machine, so that a domain has to be proved before anything is sent from it.
    pub fn mail_leaves(&self) -> bool {
        self.transports().leave()
    }

    /// Asks for a look at the reputation of a project.
    pub(crate) fn judge_reputation(&self, project: ProjectNumber) {
        self.0.delivery.reputation_queue.note(project);
    }

    /// Where mail goes.
    pub(crate) fn transports(&self) -> &Transports {
        &self.0.delivery.transports
    }

    /// The queues of mails that are about to leave.
    pub(crate) fn dispatcher(&self) -> &Dispatcher {
        &self.0.delivery.dispatcher
    }
}

/// The state that feeders and workers share.
struct Delivery {
    app: App,
    tasks: Tasks,
    /// When this process began to deliver.
    begun_at: Timestamp,
    /// Writes steps, a little later and many together.
    ledger: Coalescer<Step, StepDone>,
    /// Writes the steps that somebody waits for.
    express: Coalescer<Step, StepDone>,
    backoff: Backoff,
    /// The transports, and which mails leave by which.
    outlets: Outlets,
    interventions: interventions::Known,
    warm_up: WarmUps,
    held: Held,
    keys: SigningKeys,
    known_footers: Remembered<ProjectNumber, Arc<Footers>>,
    /// The domains of which the log told lately that their mail waits.
    told: Remembered<(ProjectNumber, String), ()>,
    /// The mail servers that get content by DATA, although they offer CHUNKING.
    chunking: Chunking,
    render_pool: RenderPool,
}

/// Starts feeder, workers and the heartbeat that keeps claims.
pub(crate) fn start(app: &App, tasks: &Tasks) {
    let settings = &app.settings().delivery;
    let delivery = Arc::new(Delivery {
        app: app.clone(),
        tasks: tasks.clone(),
        begun_at: app.0.clock.now(),
        ledger: Coalescer::gathered_writes(&app.0.db, gathering(settings.connections), |tx, steps| {
            Box::pin(ledger::run(tx, steps))
        }),
        express: Coalescer::writes(&app.0.db, |tx, steps| Box::pin(ledger::run(tx, steps))),
        backoff: Backoff { base: settings.retry_base, max: settings.retry_max, patience: settings.deadline },
        outlets: Outlets::new(app, &app.0.delivery.transports),
        interventions: interventions::Known::default(),
        warm_up: WarmUps::new(&app.settings().warm_up),
        held: Held::default(),
        keys: SigningKeys::lasting(KNOWN_FOR),
        known_footers: Remembered::lasting(KNOWN_FOR),
        told: Remembered::lasting(TOLD_AGAIN),
        chunking: Chunking::default(),
        render_pool: RenderPool::start(std::thread::available_parallelism().map_or(1, NonZero::get)),
    });
    if settings.instance_per_second > 0 {
        app.0.delivery.dispatcher.limit();
        let instance_rate = instance_rate::run(Arc::clone(&delivery), settings.instance_per_second);
        tasks.keep("instance rate", instance_rate);
    }
    for lane in Lane::ALL {
        feeder::start(&delivery, lane);
    }
    tls_reports::start(app, tasks);
    tasks.keep("warm-ups", warm_up::run(Arc::clone(&delivery)));
    tasks.keep("interventions", interventions::run(Arc::clone(&delivery)));
    letting_go::start(&delivery);
    tasks.keep("delivery heartbeat", heartbeat(Arc::clone(&delivery)));
    start_workers(&delivery);
}

/// Starts the workers of all transports, and what they need.
fn start_workers(delivery: &Arc<Delivery>) {
    let (tasks, transports) = (&delivery.tasks, &delivery.app.0.delivery.transports);
    if transports.name_projects() {
        tasks.keep("routes", outlets::keep_resolved(Arc::clone(delivery)));
    }
    for (outlet, named) in delivery.outlets.all.iter().zip(&transports.all) {
        if let Some(name) = named.transport.next_hop() {
            let informed = next_hop::keep_informed(Arc::clone(delivery), Arc::clone(&outlet.hop), name);
            tasks.keep("next hop", informed);
        }
        if let Way::Direct(direct) = &outlet.way {
            direct::start(delivery, &outlet.hop, direct);
        }
        for _ in 0..delivery.app.settings().delivery.connections.max(1) {
            tasks.keep("delivery worker", worker::run(Arc::clone(delivery), Arc::clone(outlet)));
        }
    }
}

/// While some workers wait for the database the others render and sign, so it pays to write the steps of many at once.
fn gathering(connections: usize) -> Gathering {
    Gathering { enough: connections.div_ceil(2), apart: Duration::from_millis(8) }
}

/// Extends the leases of what this process holds, well before they end.
async fn heartbeat(delivery: Arc<Delivery>) {
    let lease = delivery.app.settings().delivery.lease;
    while delivery.tasks.pause(lease / 4).await || !delivery.held.all().is_empty() {
        for (project, part) in delivery.parts(delivery.held.all(), parking::MOST, |claim| claim.project) {
            let until = delivery.lease_until();
            let extended = delivery
                .app
                .0
                .db
                .write_of(project, body!(async |tx| email::extend(tx, &part, until).await))
                .await;
            if let Err(error) = extended {
                tracing::warn!(%error, "leases could not be extended");
            }
        }
        if delivery.tasks.is_stopping() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Delivery {
    fn now(&self) -> Timestamp {
        self.app.clock().now()
    }

    fn lease_until(&self) -> Timestamp {
        self.now().plus(self.app.settings().delivery.lease)
    }

    /// A mail is no longer this process's.
    fn done_with(&self, mail: EmailId) {
        self.held.let_go(mail);
        self.warm_up.let_go(mail);
    }

    /// Gives mails back to the outbox, due at `due_at`.
    async fn release(&self, mails: &[ClaimRef], due_at: Timestamp) {
        self.hand_back(mails, due_at, None).await;
    }

    /// Gives mails back to the outbox, due at `due_at`, without an attempt, and stores why they wait.
    async fn hold_back(&self, mails: &[ClaimRef], due_at: Timestamp, why: String) {
        self.hand_back(mails, due_at, Some(why)).await;
    }

    async fn hand_back(&self, mails: &[ClaimRef], due_at: Timestamp, why: Option<String>) {
        // claimed again meanwhile, where the database was away for longer than a lease
        let mails: Vec<_> = mails.iter().map(|mail| self.held.current(*mail)).collect();
        for mail in &mails {
            self.done_with(mail.id);
        }
        for (project, part) in self.parts(mails, parking::MOST, |mail| mail.project) {
            let why = why.clone();
            let given_back = self.app.0.db.write_of(
                project,
                body!(async |tx| {
                    match &why {
                        None => email::release(tx, &part, due_at).await,
                        Some(why) => email::hold(tx, &part, due_at, why).await,
                    }
                }),
            );
            if let Err(error) = given_back.await {
                tracing::warn!(%error, "claims could not be given back, their leases will end");
            }
        }
    }

    /// Gives back a mail that was refused for a reason that is not its own, however long the database takes.
    async fn postpone(&self, mail: &Claimed, wait: Duration, error: &str) {
        let given_back = self.insist(mail.id, || {
            let (claim, now, error) = (self.held.current(claim_ref(mail)), self.now(), error.to_owned());
            self.app
                .0
                .db
                .write_of(mail.project, body!(async |tx| email::postpone(tx, claim, wait, &error, now).await))
        });
        if given_back.await.is_some() {
            self.app.metrics().delivery("held");
        }
        self.done_with(mail.id);
    }

    /// Writes the outcome of a mail, and tries again after any failure; `None` if it gave up. Repeating is harmless: an
    /// outcome under a claim that was lost or used changes nothing.
    async fn insist<T, W>(&self, mail: EmailId, write: impl Fn() -> W) -> Option<T>
    where
        W: Future<Output = StoreResult<T>>,
    {
        let mut tries = Tries::default();
        loop {
            let error = match write().await {
                Ok(done) => return Some(done),
                Err(error) => error,
            };
            let Some(pause) = tries.after(&error, self.tasks.is_stopping()) else {
                tracing::error!(%error, email = %mail, "the outcome of a mail was not stored, its lease will \
                                                        end");
                return None;
            };
            tracing::warn!(%error, email = %mail, "the outcome of a mail could not be stored, trying again");
            tokio::time::sleep(pause).await;
        }
    }

    /// What the project of a mail puts into it; `None` when the project is gone.
    async fn footers(&self, number: ProjectNumber) -> Result<Option<Arc<Footers>>> {
        let now = self.now();
        if let Some(footers) = self.known_footers.get(&number, now) {
            return Ok(Some(footers));
        }
        let found = self.app.read(body!(async |rx| {
            let Some(project) = project::get(rx, number).await? else { return Ok(None) };
            let sending = project::sending(rx, number).await?;
            Ok(Some((project, sending.is_some_and(|sending| sending.reply_tracking))))
        }));
        let Some((project, reply_tracking)) = found.await? else { return Ok(None) };
        let footers = Arc::new(Footers::new(&project, reply_tracking));
        self.known_footers.put(number, Arc::clone(&footers), now);
        Ok(Some(footers))
    }

    /// The DKIM key of a sender's domain, if mail may be signed with it.
    async fn signing_key(&self, project: ProjectNumber, name: &str) -> Result<Signing> {
        self.keys.get(&self.app, project, name).await
    }
}

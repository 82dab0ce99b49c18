//! What becomes of mails after they left.
//!
//! Whatever is learnt of a mail ends in `intake`: it locks the mails of a project, changes what is known of them, and
//! writes that with the events and what follows for the contacts, in one transaction. There are two ways to it. What
//! others tell, reports and notifications, comes by `news`. Opens and clicks are stored as they come (`recorder`), and
//! judged some seconds later (`judging`), when it shows whether a person or a machine was there. Until then nothing counts.
//!
//! Mails are prepared for it once per template (`sending/content/links.rs`); `tracked` puts the addresses of a mail into
//! its body, `token` says which mail an address is of, `redirect` where a link leads. `specimen` is for measuring what
//! that costs a mail.

mod base32;
mod dmarc;
mod happening;
mod heat;
mod heat_page;
mod hit_list;
mod inbound;
mod intake;
mod judging;
mod judging_again;
mod machine_lists;
mod mail_links;
pub mod news;
mod received;
mod received_mail;
mod recorder;
mod redirect;
mod report;
mod return_path;
mod sns;
mod sns_certificates;
mod sns_received;
mod specimen;
mod token;
pub(crate) mod tracked;
mod unknown_bounces;

use std::sync::Arc;
use std::time::Duration;

pub use self::dmarc::{DmarcFigures, DmarcSource};
use self::dmarc::{Readers, ReportAddress};
pub use self::happening::{Bounce, Happening};
pub use self::heat::LinkHeat;
pub use self::hit_list::HitPage;
pub use self::inbound::Inbound;
pub use self::machine_lists::ListRefreshed;
use self::machine_lists::MachineLists;
pub(crate) use self::mail_links::led_to_unstored;
use self::news::{News, Recorded};
use self::recorder::Recorder;
pub use self::redirect::{Followed, Visitor};
use self::return_path::ReturnPath;
pub use self::sns::SnsAnswer;
pub use self::specimen::Specimen;
use self::token::TokenKey;
use self::unknown_bounces::UnknownBounces;
use crate::App;
use crate::background::runner::Waker;
use crate::background::tasks::Tasks;
use crate::error::Result;
use crate::http_client::HttpClient;
use crate::secret::InstanceSecret;
use crate::sending::content::{Link, Prepared};
use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_core::retention::{Kind, Periods};
use mailwright_core::time::Timestamp;
pub use mailwright_store::feedback::dmarc::{Reporter, SourceSums, Sums};
pub use mailwright_store::feedback::inbound::Volume;
use mailwright_store::feedback::link::Lead;
use mailwright_store::feedback::{hit, inbound as received_store, link, receipt};
use mailwright_store::sending::email::Claimed;
use mailwright_store::{Coalescer, Db, body};
use quick_cache::sync::Cache;

/// How long it is known that a source told its news: longer than any source repeats itself.
const RECEIPTS: Duration = Duration::from_hours(14 * 24);
/// Rows that are removed in one transaction.
const FORGET: i64 = 500;
/// Messages that are, which may be large.
const FORGET_MESSAGES: i64 = 20;
/// Contents whose links are kept in memory.
const CONTENTS: usize = 2_000;

/// What this process keeps for this area.
pub(crate) struct State {
    token_key: TokenKey,
    return_path: ReturnPath,
    replies: ReturnPath,
    dmarc_address: ReportAddress,
    dmarc_readers: Readers,
    recorder: Recorder,
    /// Looks up where the links of mails lead, many visitors with one query.
    leads: Coalescer<(ProjectNumber, EmailId), Option<Lead>>,
    /// The links of contents.
    links: Cache<(ProjectNumber, Vec<u8>), Arc<Vec<Link>>>,
    news: Coalescer<News, Recorded>,
    /// Asks for a look at hits that are due.
    hits: Waker,
    machine_lists: MachineLists,
    unknown_bounces: UnknownBounces,
    sns: sns::State,
}

impl State {
    pub(crate) fn new(db: &Db, secret: &InstanceSecret, http: HttpClient) -> Self {
        Self {
            token_key: TokenKey::tracking(secret),
            return_path: ReturnPath::new(secret),
            replies: ReturnPath::of_replies(secret),
            dmarc_address: ReportAddress::new(secret),
            dmarc_readers: Readers::default(),
            recorder: Recorder::default(),
            leads: Coalescer::reads(db, |rx, asked| Box::pin(redirect::look_up(rx, asked))),
            links: Cache::new(CONTENTS),
            news: Coalescer::writes(db, |tx, news| Box::pin(news::run(tx, news))),
            hits: Waker::default(),
            machine_lists: MachineLists::default(),
            unknown_bounces: UnknownBounces::default(),
            sns: sns::State::new(http),
        }
    }
}

/// Starts the background work of this area.
pub(crate) fn start(app: &App, tasks: &Tasks) {
    judging::start(app, tasks);
    news::start(app, tasks);
    machine_lists::start(app, tasks);
    unknown_bounces::start(app, tasks);
}

impl App {
    /// Removes what is not kept any longer: opens and clicks one by one, the names of news, links of contents that are
    /// gone, what reports said of domains.
    pub(crate) async fn forget_feedback(
        &self,
        project: ProjectNumber,
        periods: Periods,
        now: Timestamp,
    ) -> Result<()> {
        self.forget_dmarc(project).await?;
        let before = |kind| periods.before(kind, now).unwrap_or_default();
        let (hits, messages) = (before(Kind::Hits), before(Kind::RawInbound));
        let (receipts, links) = (now.minus(RECEIPTS), now.minus(self.settings().tracking.links));
        loop {
            let forgotten = self.write_in_background(body!(async |tx| {
                let hits = hit::forget(tx, project, hits, FORGET).await?;
                let receipts = receipt::forget(tx, project, receipts, FORGET).await?;
                let links = link::forget(tx, project, links, FORGET).await?;
                let messages = received_store::forget(tx, project, messages, FORGET_MESSAGES).await?;
                Ok(hits + receipts + links + messages)
            }));
            if forgotten.await? == 0 {
                return Ok(());
            }
        }
    }

    /// What the addresses of a mail's tracked links begin with; `None` when it is not tracked. `host` is the name that the
    /// sender's domain has for them, if it has one.
    pub(crate) fn tracked_address(
        &self,
        project: &Project,
        mail: &Claimed,
        content: &Prepared,
        host: Option<&str>,
    ) -> Option<String> {
        let is_tracked = content.tracking.unwrap_or_else(|| project.tracking.covers(mail.kind));
        if !is_tracked || project.is_system() {
            return None;
        }
        let token = self.0.feedback.token_key.token(mail.project, mail.id);
        let path = format!("/t/{token}/");
        let base_url = &self.settings().base_url;
        Some(host.map_or_else(|| base_url.link(&path), |host| base_url.under(host).link(&path)))
    }

    /// The address that names a mail, to which answers to it come back instead of to `address`; `None` where that is too
    /// long for it.
    pub(crate) fn reply_address(&self, mail: &Claimed, address: &EmailAddress) -> Option<EmailAddress> {
        let local = self.0.feedback.replies.tagged(address.local(), mail.project, mail.id)?;
        EmailAddress::parse(&format!("{local}@{}", address.domain()))
    }

    /// The envelope's sender of a mail (VERP): bounces that return to it name the mail. `host` is the name that the
    /// sender's domain has for them, if it has one. Where the instance takes no bounces, it is the sender.
    pub(crate) fn envelope_sender(&self, mail: &Claimed, host: Option<&str>) -> String {
        match self.settings().return_path() {
            Some(ours) => {
                let local = self.0.feedback.return_path.local_part(mail.project, mail.id);
                format!("{local}@{}", host.unwrap_or(ours))
            }
            None => mail.from.to_string(),
        }
    }
}

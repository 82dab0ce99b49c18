//! What this process knows of a site: what it was granted there, its connections, and what it has to report.
//!
//! The pace itself is shared by all processes ([`mailwright_core::pacing`]); this is the part of one of them.

mod answering;
mod hanging;
mod reach;
pub(super) mod room;
mod slow;
mod takers;
mod trust;

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use mailwright_core::ids::ProjectNumber;
use mailwright_core::pacing::greylisting::Greylisting;
use mailwright_core::pacing::limits::Limits;
use mailwright_core::pacing::reply::Signal;
use mailwright_core::pacing::{Grant, PaceReason, Report, Wait, Wish};
use mailwright_core::time::Timestamp;

pub(super) use self::reach::Reach;
pub(in crate::delivery) use self::slow::Slow;
pub(super) use self::takers::LastProjects;
use self::takers::Takers;
use self::trust::Trust;
pub(super) use self::trust::{Delay, ServerSet, Standing};
use crate::delivery::next_hop::Meter;
use crate::delivery::site_metrics::{SiteFigures, SiteState};

/// How long before its end a grant is renewed.
const RENEWED_BEFORE: Duration = Duration::from_millis(1500);
/// How long what was taken may stay unreported.
const REPORTED_WITHIN: Duration = Duration::from_secs(2);
/// So many sets of servers that fail one after the other, without an answer in between, speak for their site.
const SILENT: usize = 3;
/// So soon after a site answered, one that fails does not count at once, and so many in a row do.
const LATELY: Duration = Duration::from_mins(1);
const MISSES: u32 = 3;
/// How many domains have to say so within this time that a site of many domains blocks us.
const ACCUSERS: usize = 3;
const ACCUSED_FOR: Duration = Duration::from_hours(1);
/// How long a connection is kept that no mail uses, and how long where another process waits for one.
const IDLE: Duration = Duration::from_secs(30);
const GIVEN_BACK_AFTER: Duration = Duration::from_millis(300);
/// An open connection that no mail uses.
pub(super) struct Idle<L> {
    pub(super) line: L,
    /// The mail server at the other end.
    pub(super) host: String,
    /// Whether it is encrypted, with a certificate that is valid for the server.
    pub(super) is_verified: bool,
    /// Whether it is what TLSA records of the server demand.
    pub(super) minded_tlsa: bool,
    pub(super) since: Timestamp,
}

/// A site, as this process knows it.
pub(super) struct Site<L> {
    pub(super) limits: Limits,
    grant: Grant,
    /// Most mails of the last grant.
    granted: u32,
    wait: Option<Wait>,
    /// Mails a minute that it takes, of all processes; `None` for any number.
    rate: Option<f64>,
    /// Why nothing was granted when that was told last.
    told: Option<PaceReason>,
    /// The last reply that said something about us.
    reply: String,
    report: Report,
    asked_at: Timestamp,
    is_asking: bool,
    /// Connections that are open or being opened.
    pub(super) open: u32,
    /// Those of them that are being opened.
    opening: u32,
    /// Those of them with servers that hang.
    apart: u32,
    /// Whether the site said that there are too many while there were some.
    counts_apart: bool,
    pub(super) idle: VecDeque<Idle<L>>,
    /// Whether it can be reached at all.
    reach: Reach,
    /// How it is known to answer.
    trust: Trust,
    /// The sets of servers that could not be reached since it answered last, and whose mail tried.
    silent: HashMap<ServerSet, ProjectNumber>,
    /// Whose mail its sets of servers took lately.
    takers: Takers,
    /// When it last took a mail.
    took_at: Option<Timestamp>,
    /// Until when the servers are left alone that failed last, to be shown.
    shown_until: Timestamp,
    /// The domains whose servers said that the site blocks us, and when.
    accusers: Vec<(u64, Timestamp)>,
    meter: Meter,
    /// When mail came that was not there before, as long as there is some.
    busy_since: Option<Timestamp>,
    /// How long it has mail wait whose sender it does not know.
    pub(super) greylisting: Greylisting,
    /// When the next mail may leave of those that do not wait in memory.
    slot: Timestamp,
    /// When the operator resumed it, as far as that was taken into account.
    resumed_at: Timestamp,
}

impl<L> Site<L> {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            grant: Grant { mails: 0, connections: 0, until: Timestamp(0), wait: None, is_wanted: false },
            granted: 0,
            wait: None,
            rate: None,
            told: None,
            reply: String::new(),
            report: Report::default(),
            asked_at: Timestamp(0),
            is_asking: false,
            open: 0,
            opening: 0,
            apart: 0,
            counts_apart: false,
            idle: VecDeque::new(),
            reach: Reach::default(),
            trust: Trust::default(),
            silent: HashMap::new(),
            takers: Takers::default(),
            took_at: None,
            shown_until: Timestamp(0),
            accusers: Vec::new(),
            meter: Meter::default(),
            busy_since: None,
            greylisting: Greylisting::default(),
            slot: Timestamp(0),
            resumed_at: Timestamp(0),
        }
    }

    /// Whether a mail may be brought there now; otherwise when that may have changed, where that is known.
    pub(super) fn admits(&self, now: Timestamp) -> Result<(), Option<Timestamp>> {
        self.reach.admits(now)?;
        if now >= self.grant.until || self.grant.mails == 0 {
            return Err(self.wait.map(|wait| wait.until).filter(|until| *until > now));
        }
        let is_free = !self.idle.is_empty() || self.has_room();
        if is_free { Ok(()) } else { Err(None) }
    }

    /// Whether a further connection may be opened. Those with servers that hang do not count, unless the site counts
    /// them: they must not keep mail from its other servers.
    pub(super) fn has_room(&self) -> bool {
        self.used() < self.grant.connections
    }

    /// A mail is brought there from now on.
    pub(super) fn begin(&mut self) {
        self.grant.mails = self.grant.mails.saturating_sub(1);
    }

    /// A connection is being opened.
    pub(super) fn opens(&mut self) {
        self.open += 1;
        self.opening += 1;
        self.reach.opens();
    }

    /// The connection is there, or there is none to be had.
    pub(super) fn opened(&mut self) {
        self.opening = self.opening.saturating_sub(1);
        self.reach.opened();
    }

    pub(super) fn closed(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    /// How long a connection that no mail uses is kept.
    pub(super) fn keeps_idle(&self) -> Duration {
        if self.grant.is_wanted && self.busy_since.is_none() { GIVEN_BACK_AFTER } else { IDLE }
    }

    fn used(&self) -> u32 {
        if self.counts_apart { self.open } else { self.open.saturating_sub(self.apart) }
    }

    /// Whether there are more connections than granted.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        now < self.grant.until && self.used() > self.grant.connections
    }

    /// The site answered an envelope.
    pub(super) fn heard(&mut self, now: Timestamp) {
        self.trust.heard(now);
        self.silent.clear();
    }

    /// What became of a mail was said, whatever it was: the site can be reached, and does not lose what it is given.
    pub(super) fn settled(&mut self) {
        self.reach.settled();
        self.shown_until = Timestamp(0);
    }

    /// Whether one domain's word is to be believed that the site blocks us: one of several at a site where many are, such
    /// as a large receiver's, may speak for itself.
    pub(super) fn is_accused(&mut self, domain: u64, now: Timestamp) -> bool {
        self.accusers.retain(|(known, at)| *known != domain && now.since(*at) < ACCUSED_FOR);
        self.accusers.push((domain, now));
        self.accusers.len() >= ACCUSERS
    }

    /// The site took a mail.
    pub(super) fn took(&mut self, now: Timestamp) {
        self.report.taken += 1;
        self.took_at = Some(now);
        self.meter.count(now);
    }

    /// A mail that was begun was not tried.
    pub(super) fn untried(&mut self) {
        self.report.unused += 1;
    }

    /// The site said something about us. Nothing is tried until the pace is known.
    pub(super) fn said(&mut self, signal: Signal, reply: String) {
        if signal == Signal::Connections {
            // the one that was refused still counts as open
            let left = (self.open - self.opening).saturating_sub(1);
            self.report.left = Some(self.report.left.map_or(left, |known| known.min(left)));
            self.grant.connections = self.grant.connections.min(left);
            self.counts_apart = self.apart > 0;
        } else {
            self.report.unused += std::mem::take(&mut self.grant.mails);
        }
        self.report.said = Some((signal, reply));
    }

    /// A set of its servers gave no connection to a project's mail, or lost it: `reach` is what is known of them. Returns
    /// whether that is news. Where other mail was answered a moment ago, a few such tries say nothing. Several sets speak for
    /// the site, where there is mail of several projects those that failed for several.
    pub(super) fn unreachable(
        &mut self,
        (set, reach): (ServerSet, &mut Reach),
        (project, are_several): (ProjectNumber, bool),
        error: &str,
        now: Timestamp,
    ) -> bool {
        let answered_lately = self.trust.heard_at().is_some_and(|at| now.since(at) < LATELY);
        let (counts, is_news) = reach.failed(error, if answered_lately { MISSES - 1 } else { 0 }, now);
        if let Some((until, _)) = reach.rests(now).filter(|_| counts) {
            self.shown_until = until;
            self.silent.insert(set, project);
        }
        let is_of_one = self.silent.values().all(|of| *of == project);
        if self.silent.len() >= SILENT && !(are_several && is_of_one) {
            self.reach.failed(error, 0, now);
        }
        is_news
    }

    /// Takes note of how many mails wait for it.
    pub(super) fn note_queue(&mut self, queued: usize, now: Timestamp) {
        if queued == 0 {
            self.busy_since = None;
        } else {
            self.busy_since.get_or_insert(now);
        }
    }

    /// What to ask the pace for, if it is time to.
    pub(super) fn ask(&mut self, queued: usize, now: Timestamp) -> Option<(Report, Wish)> {
        if self.is_asking {
            return None;
        }
        if now >= self.grant.until {
            self.report.unused += std::mem::take(&mut self.grant.mails);
        }
        let queued = u32::try_from(queued).unwrap_or(u32::MAX);
        let is_over = self.wait.is_none_or(|wait| wait.until <= now);
        let is_wanted = queued > self.grant.mails && self.grant.mails <= self.granted / 4;
        let ends = self.grant.until.since(now) < RENEWED_BEFORE || now >= self.grant.until;
        let in_use = queued > 0 || self.open > 0;
        let wants = is_over && (is_wanted || in_use && ends);
        let gives_back = !in_use && self.grant.is_wanted && self.grant.connections > 0;
        let owes = self.report != Report::default()
            && (self.report.said.is_some() || now.since(self.asked_at) >= REPORTED_WITHIN);
        if !wants && !owes && !gives_back {
            return None;
        }
        (self.is_asking, self.asked_at) = (true, now);
        let busy = self.open.saturating_sub(self.idle.len() as u32);
        let wish = Wish {
            mails: if wants { queued.saturating_sub(self.grant.mails) } else { 0 },
            connections: self.open.max(queued.saturating_add(busy)),
        };
        Some((std::mem::take(&mut self.report), wish))
    }

    /// What the pace grants. Returns why nothing is, where that is news.
    pub(super) fn granted(
        &mut self,
        grant: Grant,
        rate: Option<f64>,
        reply: Option<&str>,
    ) -> Option<PaceReason> {
        self.is_asking = false;
        self.grant.mails = self.grant.mails.saturating_add(grant.mails);
        (self.grant.connections, self.grant.until) = (grant.connections, grant.until);
        self.grant.is_wanted = grant.is_wanted;
        if grant.mails > 0 {
            self.granted = self.grant.mails;
        }
        self.wait = grant.wait;
        self.rate = rate;
        reply.unwrap_or_default().clone_into(&mut self.reply);
        let stands = grant.wait.map(|wait| wait.reason);
        let stands = stands.filter(|reason| matches!(reason, PaceReason::Resting | PaceReason::Blocked));
        let news = stands.filter(|_| stands != self.told);
        self.told = stands;
        news
    }

    /// The pace could not be asked: what was to be reported is reported later.
    pub(super) fn unasked(&mut self, report: Report) {
        self.is_asking = false;
        self.report.taken += report.taken;
        self.report.unused += report.unused;
        self.report.said = self.report.said.take().or(report.said);
        self.report.left = self.report.left.or(report.left);
    }

    /// How it is, for the metrics.
    pub(super) fn state(&self, now: Timestamp) -> SiteState {
        match (now < self.shown_until, self.wait.map(|wait| wait.reason)) {
            (true, _) => SiteState::Unreachable,
            (false, Some(PaceReason::Blocked)) => SiteState::Blocked,
            (false, Some(PaceReason::Resting)) => SiteState::Resting,
            (false, _) => SiteState::Working,
        }
    }

    /// What the metrics show of it, given its name and how many mails are held for it.
    pub(super) fn figures(&self, name: &str, held: usize, now: Timestamp) -> SiteFigures {
        let state = self.state(now);
        let per_minute = self.rate.or(self.limits.per_minute.map(f64::from));
        SiteFigures { site: name.to_owned(), held, connections: self.open, per_minute, state }
    }

    /// Until when nothing is tried, if that is known.
    fn stands_until(&self, now: Timestamp) -> Option<Timestamp> {
        let stands = |reason| matches!(reason, PaceReason::Resting | PaceReason::Blocked);
        let rests = self.wait.filter(|wait| stands(wait.reason)).map(|wait| wait.until);
        let unreachable = self.reach.rests(now).map(|(until, _)| until);
        [rests, unreachable].into_iter().flatten().max().filter(|until| *until > now)
    }

    /// Until when it blocks us, as far as is known.
    pub(super) fn blocked_until(&self, now: Timestamp) -> Option<Timestamp> {
        let blocks = self.wait.filter(|wait| wait.reason == PaceReason::Blocked);
        blocks.map(|wait| wait.until).filter(|until| *until > now)
    }

    /// Why mail for it waits.
    pub(super) fn why(&self, now: Timestamp) -> Slow {
        if let Some((_, why)) = self.reach.rests(now) {
            return why;
        }
        match self.wait {
            Some(wait) => Slow::Pace(wait.reason, self.reply.clone()),
            None if self.rate.is_some() => Slow::Pace(PaceReason::Rate, self.reply.clone()),
            None if !self.is_heard(now) => Slow::Unheard,
            None => Slow::Busy,
        }
    }

    /// Whether nothing is going on there, and nothing is owed.
    pub(super) fn is_over_with(&self, now: Timestamp) -> bool {
        self.open == 0
            && !self.is_asking
            && self.report == Report::default()
            && now >= self.grant.until
            && self.stands_until(now).is_none()
            && !self.trust.remembers_hanging(now)
    }

    /// Everything that is owed at the end of the process.
    pub(super) fn last_report(&mut self) -> Option<Report> {
        self.report.unused += std::mem::take(&mut self.grant.mails);
        let had_something = self.grant.connections > 0 || self.report != Report::default();
        self.grant.connections = 0;
        had_something.then(|| std::mem::take(&mut self.report))
    }
}

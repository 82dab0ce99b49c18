//! Refusals that are not about one mail: permanent refusals that are not about an address, and "no such address" said
//! of so many addresses that it is hardly about them.
//!
//! They are counted by project. If nothing of a project is taken, its mail waits, and one mail is tried from time to
//! time. No other project waits for it. If the next hop refuses everybody, each project is held back by its own first
//! refusals, so one project cannot stop another.

use std::collections::HashMap;
use std::time::Duration;

use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::pauses::Pauses;
use mailwright_core::time::Timestamp;

/// Different mails of a project that have to be refused in a row.
const SEVERAL: usize = 3;
/// Different recipients of a project that have to be refused in a row in the same words.
const ALIKE: usize = 5;
/// Fruitless trials after which the words are believed, of one mail at a time.
const TRIALS: u32 = 10;
/// Refusals that are longer ago than this tell nothing any more.
const FORGOTTEN: Duration = Duration::from_mins(10);
/// If a mail was taken within this time, the next hop does not count as refusing all projects.
const LATELY: Duration = Duration::from_mins(1);
/// Most mails that are remembered as refused, and most projects.
const REMEMBERED: usize = 10_000;
/// When mail of a project is looked at again while one of its mails is tried.
const AFTER_TRIAL: Duration = Duration::from_secs(5);

/// Whether a refusal counts for the mail, the address or the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The mail's. `overtaken` when others were served since it was refused before, so that it is hardly about us.
    Mail { overtaken: bool },
    /// The project's: its mail waits so long. `begins` when it did not wait before.
    Project { wait: Duration, begins: bool },
}

/// The refusal of an address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Missing {
    /// Whether the code leaves no doubt that there is no such address.
    pub(super) certain: bool,
    /// A number for the recipient.
    pub(super) recipient: u64,
    /// A hash of the reply's text, without the parts that differ between recipients.
    pub(super) words: u64,
}

/// How many projects' mail waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Extent {
    /// Nobody's.
    #[default]
    Nobody,
    /// That of some.
    Some,
    /// Of several, while of none mail was taken lately.
    All,
}

#[derive(Debug)]
struct Bench {
    until: Timestamp,
    failures: u32,
    trial: Option<EmailId>,
    /// What was said.
    codes: String,
}

/// How a project stands.
#[derive(Debug, Default)]
struct Standing {
    /// The different mails that were refused in a row.
    refused: Vec<EmailId>,
    /// What was said of addresses last, and of whose.
    words: u64,
    recipients: Vec<u64>,
    refused_at: Timestamp,
    bench: Option<Bench>,
}

/// The refusals of the last minutes.
#[derive(Debug)]
pub(super) struct Refusals {
    pauses: Pauses,
    projects: HashMap<ProjectNumber, Standing>,
    benched: usize,
    /// How often somebody was served, and when last.
    served: u64,
    served_at: Option<Timestamp>,
    /// What that was when a mail was refused.
    seen: HashMap<EmailId, u64>,
    /// Mails whose address was said not to exist, which was not believed.
    doubted: HashMap<EmailId, ProjectNumber>,
}

impl Refusals {
    pub(super) fn new(pauses: Pauses) -> Self {
        Self {
            pauses,
            projects: HashMap::new(),
            benched: 0,
            served: 0,
            served_at: None,
            seen: HashMap::new(),
            doubted: HashMap::new(),
        }
    }

    fn bench(&self, project: ProjectNumber) -> Option<&Bench> {
        self.projects.get(&project)?.bench.as_ref()
    }

    /// How long mail of a project waits; `None` when one of it may be tried.
    pub(super) fn waits(&self, project: ProjectNumber, now: Timestamp) -> Option<Duration> {
        let bench = self.bench(project)?;
        if now < bench.until { Some(bench.until.since(now)) } else { bench.trial.map(|_| AFTER_TRIAL) }
    }

    /// Why mail of a project waits: the codes of what was said.
    pub(super) fn codes(&self, project: ProjectNumber) -> Option<&str> {
        self.bench(project).map(|bench| bench.codes.as_str())
    }

    /// How many projects' mail waits.
    pub(super) fn extent(&self, now: Timestamp) -> Extent {
        let is_served = self.served_at.is_some_and(|at| now.since(at) < LATELY);
        match self.benched {
            0 => Extent::Nobody,
            2.. if !is_served => Extent::All,
            _ => Extent::Some,
        }
    }

    /// Whether the mail of any project waits.
    pub(super) fn is_any_kept_back(&self) -> bool {
        self.benched > 0
    }

    /// A mail is handed over. Of a project whose mail waits, it is the one that is tried.
    pub(super) fn begun(&mut self, mail: EmailId, project: ProjectNumber) {
        if let Some(bench) = self.projects.get_mut(&project).and_then(|standing| standing.bench.as_mut()) {
            bench.trial = Some(mail);
        }
    }

    /// A mail's hand-over has ended, however.
    pub(super) fn ended(&mut self, mail: EmailId, project: ProjectNumber) {
        if let Some(bench) = self.projects.get_mut(&project).and_then(|standing| standing.bench.as_mut())
            && bench.trial == Some(mail)
        {
            bench.trial = None;
        }
    }

    /// A mail was taken, or refused because its address certainly does not exist: the next hop serves the project.
    pub(super) fn served(&mut self, project: ProjectNumber, now: Timestamp) {
        let was_all = self.extent(now) == Extent::All;
        self.served += 1;
        self.served_at = Some(now);
        if self.projects.remove(&project).is_some_and(|standing| standing.bench.is_some()) {
            self.benched -= 1;
        }
        if was_all {
            // what held up everybody seems to be repaired: each tries one mail
            for bench in self.projects.values_mut().filter_map(|standing| standing.bench.as_mut()) {
                bench.until = now;
            }
        }
    }

    /// Forgets the projects that have no mail left to try: what waits is tried soon after its time has come.
    pub(super) fn forget(&mut self, now: Timestamp) {
        let is_over = |bench: &Bench| bench.trial.is_none() && now.since(bench.until) >= FORGOTTEN;
        self.projects.retain(|_, standing| !standing.bench.as_ref().is_some_and(is_over));
        self.benched = self.projects.values().filter(|standing| standing.bench.is_some()).count();
    }

    /// A mail was refused for a reason that is not its address, nor its content.
    pub(super) fn refused(
        &mut self,
        mail: EmailId,
        project: ProjectNumber,
        codes: String,
        now: Timestamp,
    ) -> Verdict {
        let overtaken = self.is_overtaken(mail);
        if let Some(wait) = self.fails_again(mail, project, now) {
            return wait;
        }
        let Some(standing) = self.standing(project, now) else { return Verdict::Mail { overtaken } };
        if !standing.refused.contains(&mail) {
            standing.refused.push(mail);
        }
        if standing.refused.len() < SEVERAL {
            Verdict::Mail { overtaken }
        } else {
            self.hold(project, codes, now)
        }
    }

    /// A mail was refused because its address does not exist. That is believed, unless the same is said of every
    /// address and the code leaves room for doubt.
    pub(super) fn missing(
        &mut self,
        mail: EmailId,
        project: ProjectNumber,
        missing: Missing,
        codes: String,
        now: Timestamp,
    ) -> Verdict {
        let own = Verdict::Mail { overtaken: false };
        if missing.certain {
            self.served(project, now);
            return own;
        }
        if self.bench(project).is_none() && self.doubted.remove(&mail) == Some(project) {
            return own; // others of the project were taken since
        }
        if self.bench(project).is_some_and(|bench| bench.failures >= TRIALS && bench.trial == Some(mail)) {
            let _ = self.fails_again(mail, project, now);
            return own;
        }
        let verdict = self.fails_again(mail, project, now).or_else(|| {
            let standing = self.standing(project, now)?;
            if standing.words != missing.words {
                standing.words = missing.words;
                standing.recipients.clear();
            }
            if !standing.recipients.contains(&missing.recipient) {
                standing.recipients.push(missing.recipient);
            }
            (standing.recipients.len() >= ALIKE).then(|| self.hold(project, codes, now))
        });
        if verdict.is_some() {
            make_room(&mut self.doubted);
            self.doubted.insert(mail, project);
        }
        verdict.unwrap_or(own)
    }

    /// The consequence of a refusal while the project's mail waits already. A trial that fails makes the wait longer.
    fn fails_again(&mut self, mail: EmailId, project: ProjectNumber, now: Timestamp) -> Option<Verdict> {
        let bench = self.projects.get_mut(&project)?.bench.as_mut()?;
        if bench.trial == Some(mail) {
            bench.failures = bench.failures.saturating_add(1);
            bench.until = now.plus(self.pauses.after(bench.failures));
        }
        Some(Verdict::Project { wait: bench.until.since(now).max(AFTER_TRIAL), begins: false })
    }

    /// How a project stands; `None` when too many are remembered.
    fn standing(&mut self, project: ProjectNumber, now: Timestamp) -> Option<&mut Standing> {
        let is_stale = |standing: &Standing| now.since(standing.refused_at) >= FORGOTTEN;
        if self.projects.len() >= REMEMBERED && !self.projects.contains_key(&project) {
            self.projects.retain(|_, standing| standing.bench.is_some() || !is_stale(standing));
            if self.projects.len() >= REMEMBERED {
                return None;
            }
        }
        let standing = self.projects.entry(project).or_default();
        if is_stale(standing) {
            *standing = Standing { bench: standing.bench.take(), ..Standing::default() };
        }
        standing.refused_at = now;
        Some(standing)
    }

    fn hold(&mut self, project: ProjectNumber, codes: String, now: Timestamp) -> Verdict {
        let wait = self.pauses.after(0);
        if let Some(standing) = self.projects.get_mut(&project) {
            standing.bench = Some(Bench { until: now.plus(wait), failures: 0, trial: None, codes });
            self.benched += 1;
        }
        Verdict::Project { wait, begins: true }
    }

    fn is_overtaken(&mut self, mail: EmailId) -> bool {
        make_room(&mut self.seen);
        self.seen.insert(mail, self.served).is_some_and(|before| before < self.served)
    }
}

/// Forgets everything where there is too much.
fn make_room<V>(mails: &mut HashMap<EmailId, V>) {
    if mails.len() >= REMEMBERED {
        mails.clear();
    }
}

#[cfg(test)]
#[path = "refusals_tests.rs"]
mod tests;

//! How fast the mail of each project is handed over.
//!
//! Mail is handed over without a limit until the next hop says that it is too much. Then the project's rate is halved,
//! and it grows a little with every mail that is taken. A refusal about the rate or the session does not count against
//! the mail.
//!
//! Each project has a rate of its own, so a project that may send no more slows down nobody else. If the next hop has
//! one limit for all of us, the rates of the projects find it together, as TCP flows find the capacity of a shared
//! link. Projects of which nothing is taken any more rest, and are tried one after the other.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;

/// Different mails of a project that have to be refused in a row before it is the project that is too fast.
const SEVERAL: usize = 3;
/// The slowest, in mails a second.
const SLOWEST: f64 = 0.2;
/// The least by which it becomes faster, in mails a second and second.
const STEP: f64 = 0.5;
/// In how many seconds it becomes as fast as it was before it was halved.
const SECONDS_BACK: f64 = 10.0;
/// The shortest time between two halvings: refusals within this time have one cause.
const ONE_REASON: Duration = Duration::from_secs(1);
/// Without a refusal for this long there is no limit any more.
const CALM: Duration = Duration::from_mins(10);
/// Over how long it is counted how fast mail was taken.
const WINDOW: Duration = Duration::from_secs(5);
/// Most mails that are remembered as refused, and most projects.
const REMEMBERED: usize = 10_000;
/// When a mail is tried again that was refused because it came too early.
const AGAIN: Duration = Duration::from_secs(5);
/// After so many refusals in a row at its slowest, a project rests ever longer.
const PATIENT: i32 = 6;
/// The longest such rest.
const LONGEST_REST: Duration = Duration::from_mins(1);
/// The shortest time between two mails of projects that rest, whichever they are.
const PROBES_APART: Duration = Duration::from_secs(1);
/// For this long after a project was refused, another's refusal is taken for the same.
const LATELY: Duration = Duration::from_secs(10);

/// How many a second there were lately.
#[derive(Debug, Default)]
pub(in crate::delivery) struct Meter {
    window: (Timestamp, u32),
    before: f64,
}

impl Meter {
    pub(in crate::delivery) fn count(&mut self, now: Timestamp) {
        if now.since(self.window.0) >= WINDOW {
            self.before = f64::from(self.window.1) / now.since(self.window.0).as_secs_f64();
            self.window = (now, 0);
        }
        self.window.1 += 1;
    }

    pub(in crate::delivery) fn per_second(&self, now: Timestamp) -> f64 {
        (f64::from(self.window.1) / now.since(self.window.0).as_secs_f64().max(1.0)).max(self.before)
    }

    fn is_idle(&self, now: Timestamp) -> bool {
        now.since(self.window.0) >= 2 * WINDOW
    }
}

/// The pace of a project.
#[derive(Debug, Default)]
struct Pace {
    /// Mails a second; `None` for no limit.
    rate: Option<f64>,
    step: f64,
    next_at: Timestamp,
    refused_at: Timestamp,
    halved_at: Timestamp,
    /// The different mails that were refused since the last one was taken.
    streak: Vec<EmailId>,
    taken: u64,
    meter: Meter,
    /// How often it was refused at its slowest, since the last mail was taken.
    rests: i32,
    /// Whether a fresh connection was of no use since the last mail was taken.
    exchanged_in_vain: bool,
    /// Codes of the reply.
    codes: String,
}

/// The consequence of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slowed {
    /// The refusal counts as the mail's own.
    No,
    /// The mail is tried again after this time. `begins` when the project was not slowed down before.
    Yes { wait: Duration, begins: bool },
}

/// The paces of all projects.
#[derive(Debug, Default)]
pub(super) struct Paces {
    projects: HashMap<ProjectNumber, Pace>,
    /// How many of them are limited.
    slow: usize,
    /// When the next mail of a project that rests may be handed over.
    probe_at: Timestamp,
    /// Mails that were spared, and how many of their project had been taken before. One that is refused again although
    /// others were taken meanwhile is at fault itself.
    spared: HashMap<EmailId, u64>,
    order: VecDeque<EmailId>,
}

impl Paces {
    /// Whether any project is slowed down.
    pub(super) fn is_any_slow(&self) -> bool {
        self.slow > 0
    }

    /// Mails a second of all projects together, if all projects whose mail was tried lately are slowed down; otherwise
    /// `None`.
    pub(super) fn rate(&self, now: Timestamp) -> Option<f64> {
        if self.slow == 0 {
            return None;
        }
        let is_free = |pace: &Pace| pace.rate.is_none() && !pace.meter.is_idle(now);
        let rate = |pace: &Pace| pace.rate.filter(|_| now.since(pace.refused_at) < CALM);
        let sum: f64 = self.projects.values().filter_map(rate).sum();
        (sum > 0.0 && !self.projects.values().any(is_free)).then_some(sum)
    }

    /// Mails a second of a project; `None` for no limit.
    pub(super) fn rate_of(&self, project: ProjectNumber) -> Option<f64> {
        self.projects.get(&project)?.rate
    }

    /// Why a project is slowed down: the codes of what was said.
    pub(super) fn codes(&self, project: ProjectNumber) -> Option<&str> {
        self.projects.get(&project).filter(|pace| pace.rate.is_some()).map(|pace| pace.codes.as_str())
    }

    /// When the next mail of a project may be handed over; `None` for now.
    pub(super) fn ready_at(&self, project: ProjectNumber, now: Timestamp) -> Option<Timestamp> {
        let pace = self.projects.get(&project).filter(|pace| pace.rate.is_some())?;
        let at = if pace.rests > 0 { pace.next_at.max(self.probe_at) } else { pace.next_at };
        (now < at).then_some(at)
    }

    /// A mail of a project is handed over.
    pub(super) fn took(&mut self, project: ProjectNumber, now: Timestamp) {
        let Some(pace) = self.projects.get_mut(&project) else { return };
        let Some(rate) = pace.rate else { return };
        pace.next_at = pace.next_at.max(now).plus(pause(rate, pace.rests));
        if pace.rests > 0 {
            self.probe_at = now.plus(PROBES_APART);
        }
    }

    /// The next hop took a mail.
    pub(super) fn accepted(&mut self, mail: EmailId, project: ProjectNumber, now: Timestamp) {
        self.spared.remove(&mail);
        let Some(pace) = self.pace(project, now) else { return };
        pace.taken += 1;
        pace.streak.clear();
        pace.meter.count(now);
        pace.exchanged_in_vain = false;
        let Some(rate) = pace.rate else { return };
        if now.since(pace.refused_at) >= CALM {
            pace.rate = None;
            self.slow -= 1;
            return;
        }
        // `rate` times a second this makes one step
        let faster = rate + (pace.step / rate).min(rate);
        pace.rate = Some(faster);
        if pace.rests > 0 {
            pace.rests = 0;
            pace.next_at = now.plus(pause(faster, 0));
        }
    }

    /// The next hop refused a mail for a reason that is not the mail's.
    pub(super) fn refused(
        &mut self,
        mail: EmailId,
        project: ProjectNumber,
        codes: String,
        now: Timestamp,
    ) -> Slowed {
        let before = self.spared.remove(&mail);
        // next to others that come too fast, it is not the first that is at fault
        let is_crowded = before.is_none() && self.is_other_slow(project, now);
        let Some(pace) = self.pace(project, now) else { return Slowed::No };
        if before.is_some_and(|taken| taken < pace.taken) {
            return Slowed::No;
        }
        let begins = pace.rate.is_none();
        let taken = pace.taken;
        if begins {
            if !pace.streak.contains(&mail) {
                pace.streak.push(mail);
            }
            if pace.streak.len() < SEVERAL {
                if is_crowded {
                    self.spare(mail, taken);
                    return Slowed::Yes { wait: again(), begins: false };
                }
                return Slowed::No;
            }
            pace.streak.clear();
            pace.rate = Some(pace.meter.per_second(now).max(2.0 * SLOWEST));
            pace.halved_at = now.minus(ONE_REASON);
        }
        pace.codes = codes;
        pace.slow_down(now);
        let wait = again().max(pace.next_at.since(now));
        self.slow += usize::from(begins);
        self.spare(mail, taken);
        Slowed::Yes { wait, begins }
    }

    /// Whether a mail of a project that was refused on a used connection may be tried at once on a fresh one.
    pub(super) fn may_exchange(&self, project: ProjectNumber) -> bool {
        !self.projects.get(&project).is_some_and(|pace| pace.exchanged_in_vain)
    }

    /// A fresh connection was of no use.
    pub(super) fn exchanged_in_vain(&mut self, project: ProjectNumber, now: Timestamp) {
        if let Some(pace) = self.pace(project, now) {
            pace.exchanged_in_vain = true;
        }
    }

    /// Forgets the projects that had no mail to try for so long that the limit is over. Projects that rest have turns.
    pub(super) fn forget(&mut self, now: Timestamp) {
        let calm = CALM + PROBES_APART.saturating_mul(u32::try_from(self.slow).unwrap_or(u32::MAX));
        self.projects.retain(|_, pace| pace.rate.is_none() || now.since(pace.refused_at) < calm);
        self.slow = self.projects.values().filter(|pace| pace.rate.is_some()).count();
    }

    fn is_other_slow(&self, project: ProjectNumber, now: Timestamp) -> bool {
        self.slow > 0
            && self.projects.iter().any(|(other, pace)| {
                *other != project && pace.rate.is_some() && now.since(pace.refused_at) < LATELY
            })
    }

    /// The pace of a project; `None` when too many are limited to remember another.
    fn pace(&mut self, project: ProjectNumber, now: Timestamp) -> Option<&mut Pace> {
        if self.projects.len() >= REMEMBERED && !self.projects.contains_key(&project) {
            self.projects.retain(|_, pace| {
                pace.rate.is_some() && now.since(pace.refused_at) < CALM || !pace.meter.is_idle(now)
            });
            if self.projects.len() >= REMEMBERED {
                self.projects.retain(|_, pace| pace.rate.is_some());
            }
            self.slow = self.projects.values().filter(|pace| pace.rate.is_some()).count();
            if self.projects.len() >= REMEMBERED {
                return None;
            }
        }
        Some(self.projects.entry(project).or_default())
    }

    fn spare(&mut self, mail: EmailId, taken: u64) {
        if self.spared.insert(mail, taken).is_none() {
            self.order.push_back(mail);
        }
        while self.order.len() > REMEMBERED {
            if let Some(oldest) = self.order.pop_front() {
                self.spared.remove(&oldest);
            }
        }
    }
}

impl Pace {
    fn slow_down(&mut self, now: Timestamp) {
        self.refused_at = now;
        let Some(rate) = self.rate else { return };
        if now.since(self.halved_at) < ONE_REASON {
            return;
        }
        if rate <= SLOWEST {
            self.rests = self.rests.saturating_add(1);
        }
        self.step = (rate / 2.0 / SECONDS_BACK).max(STEP);
        let slower = (rate / 2.0).max(SLOWEST);
        self.rate = Some(slower);
        self.next_at = now.plus(pause(slower, self.rests));
        self.halved_at = now;
    }
}

/// The time between two mails: at the slowest, after some refusals, twice as long with every further one.
fn pause(rate: f64, rests: i32) -> Duration {
    let pause = Duration::from_secs_f64(1.0 / rate);
    if rests > PATIENT {
        pause.mul_f64(2.0_f64.powi((rests - PATIENT).min(10))).min(LONGEST_REST)
    } else {
        pause
    }
}

fn again() -> Duration {
    AGAIN.mul_f64(0.9 + rand::random::<f64>() * 0.2)
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;

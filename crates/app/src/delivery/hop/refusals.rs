//! Permanent refusals that are not about an address.
//!
//! Whether one is about the mail, about its project or about all of us shows in who else is refused. Mail of a project
//! of which nothing is taken waits; where several projects are refused and nobody is taken, the next hop refuses us.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;

use super::pool::Pauses;

/// Different mails that have to be refused in a row.
const SEVERAL: usize = 3;
/// As many where each refusal could be about what the mail says.
const MANY: usize = 10;
/// Most refusals that are looked at.
const LOOKED_AT: usize = 64;
/// Refusals that are longer ago than this tell nothing any more.
const FORGOTTEN: Duration = Duration::from_mins(10);
/// Most mails that are remembered as refused.
const REMEMBERED: usize = 10_000;
/// When mail of a project is looked at again while one of its mails is tried.
const AFTER_TRIAL: Duration = Duration::from_secs(5);

/// What a refusal can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// What the mail says.
    Content,
    /// Who sends: the mail's sender, its project, or all of us.
    Policy,
}

/// Whose refusal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The mail's. `overtaken` when others were served since it was refused before, so that it is hardly about us.
    Mail { overtaken: bool },
    /// The project's: its mail waits so long.
    Project(Duration),
    /// Everybody's.
    Everybody,
}

#[derive(Debug)]
struct Refusal {
    mail: EmailId,
    project: ProjectNumber,
    kind: Kind,
    at: Timestamp,
}

#[derive(Debug)]
struct Bench {
    until: Timestamp,
    failures: u32,
    trial: Option<EmailId>,
}

/// What was refused lately.
#[derive(Debug)]
pub(super) struct Refusals {
    pauses: Pauses,
    streak: Vec<Refusal>,
    benched: HashMap<ProjectNumber, Bench>,
    /// How often somebody was served.
    served: u64,
    /// What that was when a mail was refused.
    seen: HashMap<EmailId, u64>,
}

impl Refusals {
    pub(super) fn new(pauses: Pauses) -> Self {
        Self { pauses, streak: Vec::new(), benched: HashMap::new(), served: 0, seen: HashMap::new() }
    }

    /// Whether mail of a project waits, so that none is to be claimed.
    pub(super) fn keeps_back(&self, project: ProjectNumber, now: Timestamp) -> bool {
        self.benched.get(&project).is_some_and(|bench| now < bench.until || bench.trial.is_some())
    }

    /// Whether the mail of any project waits.
    pub(super) fn is_any_kept_back(&self) -> bool {
        !self.benched.is_empty()
    }

    /// Whether a mail may be tried; otherwise in how long to look again.
    pub(super) fn admit(
        &mut self,
        mail: EmailId,
        project: ProjectNumber,
        now: Timestamp,
    ) -> Result<(), Duration> {
        match self.benched.get_mut(&project) {
            None => Ok(()),
            Some(bench) if now < bench.until => Err(bench.until.since(now)),
            Some(Bench { trial: Some(_), .. }) => Err(AFTER_TRIAL),
            Some(bench) => {
                bench.trial = Some(mail);
                Ok(())
            }
        }
    }

    /// A mail's hand-over has ended, however.
    pub(super) fn ended(&mut self, mail: EmailId, project: ProjectNumber) {
        if let Some(bench) = self.benched.get_mut(&project)
            && bench.trial == Some(mail)
        {
            bench.trial = None;
        }
    }

    /// A mail was taken, or refused because its address does not exist: the next hop serves the project.
    pub(super) fn served(&mut self, project: ProjectNumber) {
        self.served += 1;
        self.streak.clear();
        self.benched.remove(&project);
    }

    /// A mail was refused.
    pub(super) fn refused(
        &mut self,
        mail: EmailId,
        project: ProjectNumber,
        kind: Kind,
        now: Timestamp,
    ) -> Verdict {
        self.streak.retain(|refusal| refusal.mail != mail && now.since(refusal.at) < FORGOTTEN);
        if self.streak.len() >= LOOKED_AT {
            self.streak.remove(0);
        }
        self.streak.push(Refusal { mail, project, kind, at: now });
        if self.is_everybody() {
            self.benched.clear();
            return Verdict::Everybody;
        }
        if kind == Kind::Content {
            return Verdict::Mail { overtaken: true };
        }
        if let Some(bench) = self.benched.get_mut(&project) {
            if bench.trial == Some(mail) {
                bench.failures += 1;
                bench.until = now.plus(self.pauses.after(bench.failures));
            }
            return Verdict::Project(bench.until.since(now).max(AFTER_TRIAL));
        }
        let of_project =
            self.streak.iter().filter(|r| r.kind == Kind::Policy && r.project == project).count();
        if of_project < SEVERAL {
            return Verdict::Mail { overtaken: self.is_overtaken(mail) };
        }
        let pause = self.pauses.after(0);
        self.benched.insert(project, Bench { until: now.plus(pause), failures: 0, trial: None });
        Verdict::Project(pause)
    }

    fn is_overtaken(&mut self, mail: EmailId) -> bool {
        if self.seen.len() >= REMEMBERED {
            self.seen.clear();
        }
        self.seen.insert(mail, self.served).is_some_and(|before| before < self.served)
    }

    fn is_everybody(&self) -> bool {
        let of_several = |refusals: Vec<&Refusal>, least| {
            let projects: BTreeSet<_> = refusals.iter().map(|refusal| refusal.project).collect();
            refusals.len() >= least && projects.len() > 1
        };
        let policy = self.streak.iter().filter(|refusal| refusal.kind == Kind::Policy).collect();
        of_several(policy, SEVERAL) || of_several(self.streak.iter().collect(), MANY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ProjectNumber = ProjectNumber(1);
    const B: ProjectNumber = ProjectNumber(2);
    const MAIL: Verdict = Verdict::Mail { overtaken: false };

    fn refusals() -> Refusals {
        Refusals::new(Pauses { first: Duration::from_mins(2), longest: Duration::from_mins(30) })
    }

    fn mail() -> EmailId {
        EmailId::new(Timestamp(1))
    }

    fn minutes(minutes: u64) -> Timestamp {
        Timestamp(0).plus(Duration::from_mins(minutes))
    }

    #[test]
    fn a_single_mail_is_to_blame_however_often_it_is_refused() {
        let mut refusals = refusals();
        let stubborn = mail();
        for _ in 0..20 {
            assert_eq!(refusals.refused(stubborn, A, Kind::Policy, minutes(0)), MAIL);
        }
        refusals.served(B);
        let overtaken = Verdict::Mail { overtaken: true };
        assert_eq!(refusals.refused(stubborn, A, Kind::Policy, minutes(0)), overtaken);
        assert_eq!(refusals.refused(stubborn, A, Kind::Policy, minutes(0)), MAIL, "since the last time");
    }

    #[test]
    fn mail_of_a_project_waits_when_none_of_it_is_taken() {
        let mut refusals = refusals();
        let two = Duration::from_mins(2);
        let verdicts: Vec<_> =
            (0..4).map(|_| refusals.refused(mail(), A, Kind::Policy, minutes(0))).collect();
        assert_eq!(verdicts, [MAIL, MAIL, Verdict::Project(two), Verdict::Project(two)]);
        assert!(refusals.keeps_back(A, minutes(1)) && !refusals.keeps_back(B, minutes(1)));
        assert_eq!(refusals.admit(mail(), A, minutes(1)), Err(Duration::from_mins(1)));
        assert_eq!(refusals.admit(mail(), B, minutes(1)), Ok(()), "others go on");
        let trial = mail();
        assert_eq!(refusals.admit(trial, A, minutes(2)), Ok(()));
        assert_eq!(refusals.admit(mail(), A, minutes(2)), Err(AFTER_TRIAL), "one at a time");
        assert_eq!(
            refusals.refused(trial, A, Kind::Policy, minutes(2)),
            Verdict::Project(Duration::from_mins(4))
        );
        refusals.ended(trial, A);
        let trial = mail();
        assert_eq!(refusals.admit(trial, A, minutes(6)), Ok(()));
        refusals.served(A);
        assert_eq!(refusals.admit(mail(), A, minutes(6)), Ok(()));
        assert!(!refusals.is_any_kept_back());
    }

    #[test]
    fn a_trial_that_tells_nothing_is_followed_by_another() {
        let mut refusals = refusals();
        for _ in 0..3 {
            refusals.refused(mail(), A, Kind::Policy, minutes(0));
        }
        let trial = mail();
        assert_eq!(refusals.admit(trial, A, minutes(2)), Ok(()));
        refusals.ended(trial, A);
        assert_eq!(refusals.admit(mail(), A, minutes(2)), Ok(()));
    }

    #[test]
    fn several_projects_without_a_success_are_everybody() {
        let mut refusals = refusals();
        assert_eq!(refusals.refused(mail(), A, Kind::Policy, minutes(0)), MAIL);
        assert_eq!(refusals.refused(mail(), B, Kind::Policy, minutes(0)), MAIL);
        assert_eq!(refusals.refused(mail(), B, Kind::Policy, minutes(0)), Verdict::Everybody);
        refusals.served(A);
        assert_eq!(refusals.refused(mail(), B, Kind::Policy, minutes(0)), MAIL);
        assert_eq!(refusals.refused(mail(), A, Kind::Policy, minutes(20)), MAIL);
        assert_eq!(refusals.refused(mail(), A, Kind::Policy, minutes(20)), MAIL, "long ago");
    }

    #[test]
    fn content_that_is_refused_is_the_mails_own_unless_nobody_gets_through() {
        let mut refusals = refusals();
        for _ in 0..100 {
            let verdict = refusals.refused(mail(), A, Kind::Content, minutes(0));
            assert!(matches!(verdict, Verdict::Mail { .. }));
        }
        assert_eq!(refusals.refused(mail(), B, Kind::Content, minutes(0)), Verdict::Everybody);
    }
}

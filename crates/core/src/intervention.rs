//! What an operator, or a project for its own mail, wants done with mail that waits: nothing for now, another transport, or
//! that it is given up. And that a site which blocked us is tried again.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use crate::audit::Actor;
use crate::ids::{InterventionId, ProjectNumber};
use crate::names::names_in_json;
use crate::time::Timestamp;

/// The longest name of a domain or a site, in bytes.
pub const MAX_NAME: usize = 253;
/// Most names in that of a site. Where it has more, a sum of all of them follows.
const MAX_NAMES: usize = 3;
/// How many hexadecimal digits that sum has.
const SUM_DIGITS: usize = 16;
/// The longest label of a name, in bytes.
const MAX_LABEL: usize = 63;
/// The longest reason, in characters.
pub const MAX_REASON: usize = 500;

names_in_json! {
    /// What is done with the mail.
    pub enum InterventionKind {
        /// It waits until the intervention is ended.
        Pause = "PAUSE",
        /// It leaves by another transport.
        Reroute = "REROUTE",
        /// What was accepted before the intervention is given up.
        Expire = "EXPIRE",
        /// It is tried again at a site that blocked us, before the time of that is over. Only an operator can want this.
        Resume = "RESUME",
    }
}

/// Which mail is meant. All parts that are given have to be met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The project that sends.
    pub project: Option<ProjectNumber>,
    /// The recipient's domain, in lower case.
    pub domain: Option<String>,
    /// The site that takes the mail, as the log names it, where mail is brought to the recipients' own servers.
    pub site: Option<String>,
}

/// Something that was wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intervention {
    /// Identifier.
    pub id: InterventionId,
    /// What is done.
    pub kind: InterventionKind,
    /// With which mail.
    pub scope: Scope,
    /// The transport by which it leaves.
    pub transport: Option<String>,
    /// Why, for people.
    pub reason: Option<String>,
    /// Who wanted it: `operator`, or a user or key of the project by its id.
    pub created_by: String,
    /// The user's address at the time, or the key's name.
    pub created_name: Option<String>,
    /// Since when.
    pub created_at: Timestamp,
    /// Since when it is not wanted any more: its mail is being let go.
    pub ended_at: Option<Timestamp>,
}

/// A mail that waits.
#[derive(Debug, Clone, Copy)]
pub struct Waiting<'m> {
    /// Its project.
    pub project: ProjectNumber,
    /// The recipient's domain.
    pub domain: &'m str,
    /// The site that takes it, where that is known.
    pub site: Option<&'m str>,
    /// When it was accepted.
    pub created_at: Timestamp,
}

/// Who an operator is in [`Intervention::created_by`].
pub const OPERATOR: &str = "operator";

impl Intervention {
    /// Whether an operator wanted it, rather than the project.
    pub fn is_of_operator(&self) -> bool {
        self.created_by == OPERATOR
    }

    /// Who wanted it. A user whose address is not known has an empty one.
    pub fn begun_by(&self) -> Actor {
        let name = || self.created_name.clone();
        if let Some(id) = self.created_by.strip_prefix("user ").and_then(|id| id.parse().ok()) {
            return Actor::User { id, email: name().unwrap_or_default() };
        }
        if let Some(id) = self.created_by.strip_prefix("key ").and_then(|id| id.parse().ok()) {
            return Actor::Key { id, name: name() };
        }
        if self.is_of_operator() { Actor::Operator } else { Actor::Service }
    }
}

impl Scope {
    fn holds(&self, mail: Waiting<'_>) -> bool {
        self.project.is_none_or(|project| project == mail.project)
            && self.domain.as_deref().is_none_or(|domain| domain == mail.domain)
            && self.site.as_deref().is_none_or(|site| mail.site == Some(site))
    }
}

/// The name of a site, as the log and reasons of waiting mail give it: the domain that its mail servers are in, or
/// several that `+` joins, each once and in their order. In lower case and without final dots; `None` for what no site
/// can be named.
pub fn site_name(text: &str) -> Option<String> {
    let mut names: Vec<String> = text.split('+').map(name_of_servers).collect::<Option<_>>()?;
    let has_sum = names.len() == MAX_NAMES + 1 && names.last().is_some_and(|last| is_sum(last));
    let sum = if has_sum { names.pop() } else { None };
    names.sort_unstable();
    names.dedup();
    let is_site = if has_sum { names.len() == MAX_NAMES } else { names.len() <= MAX_NAMES };
    names.extend(sum);
    let name = names.join("+");
    (is_site && name.len() <= MAX_NAME).then_some(name)
}

fn is_sum(text: &str) -> bool {
    text.len() == SUM_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The domain that mail servers are in. In private networks that can be a name that nobody can register, and of one
/// label.
fn name_of_servers(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    (name.split('.').all(is_label) && name.parse::<Ipv4Addr>().is_err()).then_some(name)
}

fn is_label(label: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_whole = !label.starts_with('-') && !label.ends_with('-');
    (1..=MAX_LABEL).contains(&label.len()) && is_whole && label.bytes().all(is_letter)
}

/// All interventions that are in force, by what they are found by.
#[derive(Debug, Default)]
pub struct Interventions {
    all: Vec<Intervention>,
    by_site: HashMap<String, Vec<usize>>,
    by_domain: HashMap<String, Vec<usize>>,
    by_project: HashMap<ProjectNumber, Vec<usize>>,
    /// When sites were resumed.
    resumed: HashMap<String, Timestamp>,
}

impl Interventions {
    /// Those of a list that have not ended.
    pub fn new(list: Vec<Intervention>) -> Self {
        let in_force = list.into_iter().filter(|one| one.ended_at.is_none());
        let (resumed, all): (Vec<_>, Vec<_>) = in_force.partition(|one| one.kind == InterventionKind::Resume);
        let resumed = resumed.into_iter().filter_map(|one| Some((one.scope.site?, one.created_at)));
        let mut found = Self { all, resumed: resumed.collect(), ..Self::default() };
        for (at, one) in found.all.iter().enumerate() {
            match &one.scope {
                Scope { site: Some(site), .. } => found.by_site.entry(site.clone()).or_default().push(at),
                Scope { domain: Some(domain), .. } => {
                    found.by_domain.entry(domain.clone()).or_default().push(at);
                }
                Scope { project: Some(project), .. } => {
                    found.by_project.entry(*project).or_default().push(at);
                }
                Scope { .. } => {}
            }
        }
        found
    }

    /// When a site was resumed last, if that is not long ago.
    pub fn resumed_at(&self, site: &str) -> Option<Timestamp> {
        self.resumed.get(site).copied()
    }

    /// Whether there is none that says what is done with a mail.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether all mail of a project is paused.
    pub fn pauses_project(&self, project: ProjectNumber) -> bool {
        let of_project = self.by_project.get(&project).into_iter().flatten();
        of_project.into_iter().any(|at| self.all[*at].kind == InterventionKind::Pause)
    }

    /// Whether all mail for a site is paused, of every project and domain.
    pub fn pauses_site(&self, site: &str) -> bool {
        let of_site = self.by_site.get(site).into_iter().flatten();
        of_site.map(|at| &self.all[*at]).any(|one| {
            one.kind == InterventionKind::Pause && one.scope.project.is_none() && one.scope.domain.is_none()
        })
    }

    /// Whether some mail for a site is meant by its name.
    pub fn names_site(&self, site: &str) -> bool {
        self.by_site.contains_key(site)
    }

    /// What is done with a mail. Giving up comes before waiting, and that before another way.
    pub fn of(&self, mail: Waiting<'_>) -> Option<&Intervention> {
        if self.all.is_empty() {
            return None;
        }
        let by_site = mail.site.and_then(|site| self.by_site.get(site));
        let found = [by_site, self.by_domain.get(mail.domain), self.by_project.get(&mail.project)];
        let meant = found.into_iter().flatten().flatten().map(|at| &self.all[*at]).filter(|one| {
            let is_in_time = one.kind != InterventionKind::Expire || mail.created_at < one.created_at;
            is_in_time && one.scope.holds(mail)
        });
        meant.min_by_key(|one| match one.kind {
            InterventionKind::Expire => 0,
            InterventionKind::Pause => 1,
            InterventionKind::Reroute | InterventionKind::Resume => 2,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{ApiKeyId, UserId};

    fn one(
        kind: InterventionKind,
        project: Option<i64>,
        domain: Option<&str>,
        site: Option<&str>,
    ) -> Intervention {
        Intervention {
            id: InterventionId::new(Timestamp(5), rand_like(kind as u8)),
            kind,
            scope: Scope {
                project: project.map(ProjectNumber),
                domain: domain.map(str::to_owned),
                site: site.map(str::to_owned),
            },
            transport: None,
            reason: None,
            created_by: "operator".into(),
            created_name: None,
            created_at: Timestamp(5),
            ended_at: None,
        }
    }

    fn rand_like(byte: u8) -> [u8; 10] {
        [byte; 10]
    }

    fn mail<'m>(project: i64, domain: &'m str, site: Option<&'m str>, at: i64) -> Waiting<'m> {
        Waiting { project: ProjectNumber(project), domain, site, created_at: Timestamp(at) }
    }

    #[test]
    fn every_part_of_a_scope_has_to_be_met() {
        use InterventionKind::{Expire, Pause, Reroute};
        let all = Interventions::new(vec![
            one(Pause, Some(1), None, None),
            one(Reroute, None, Some("a.test"), None),
            one(Expire, None, Some("a.test"), None),
            one(Pause, Some(2), Some("b.test"), Some("site.test")),
            one(Pause, None, None, Some("other.test")),
        ]);
        let kind = |mail| all.of(mail).map(|one| one.kind);
        assert_eq!(kind(mail(1, "c.test", None, 9)), Some(Pause));
        assert_eq!(kind(mail(2, "a.test", None, 9)), Some(Reroute));
        assert_eq!(kind(mail(2, "a.test", None, 4)), Some(Expire), "it was there before");
        assert_eq!(kind(mail(1, "a.test", None, 9)), Some(Pause), "waiting comes before another way");
        assert_eq!(kind(mail(2, "b.test", None, 9)), None, "its site is not known");
        assert_eq!(kind(mail(2, "b.test", Some("site.test"), 9)), Some(Pause));
        assert_eq!(kind(mail(3, "b.test", Some("site.test"), 9)), None);
        assert_eq!(kind(mail(3, "c.test", Some("other.test"), 9)), Some(Pause));
        assert!(all.pauses_project(ProjectNumber(1)) && !all.pauses_project(ProjectNumber(2)));
        assert!(
            all.pauses_site("other.test") && !all.pauses_site("site.test") && all.names_site("site.test")
        );
    }

    #[test]
    fn who_wanted_it_is_read_as_it_was_noted() {
        let user = UserId::new(Timestamp(5), rand_like(1));
        let key = ApiKeyId::new(Timestamp(5), rand_like(2));
        for (actor, name) in [
            (Actor::User { id: user, email: "ada@example.com".into() }, Some("ada@example.com")),
            (Actor::Key { id: key, name: Some("Shop".into()) }, Some("Shop")),
            (Actor::Key { id: key, name: None }, None),
            (Actor::Operator, None),
            (Actor::Service, None),
        ] {
            let noted = Intervention {
                created_by: actor.to_string(),
                created_name: name.map(str::to_owned),
                ..one(InterventionKind::Pause, Some(1), None, None)
            };
            assert_eq!(noted.begun_by(), actor);
        }
    }

    #[test]
    fn a_site_is_named_as_its_servers_are() {
        for (given, name) in [
            ("google.com", "google.com"),
            ("Mail.Protection.Outlook.COM.", "mail.protection.outlook.com"),
            ("a.example.+B.example", "a.example+b.example"),
            ("b.test+A.test", "a.test+b.test"),
            ("b.test+a.test+B.test+a.test.", "a.test+b.test"),
            ("a.test+b.test+c.test+0123456789abcdef", "a.test+b.test+c.test+0123456789abcdef"),
            ("c.test+b.test+a.test+0123456789ABCDEF", "a.test+b.test+c.test+0123456789abcdef"),
            ("b.test+0123456789abcdef", "0123456789abcdef+b.test"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("mail_host", "mail_host"),
            ("_a-b_.example", "_a-b_.example"),
            ("2.1", "2.1"),
        ] {
            assert_eq!(site_name(given).as_deref(), Some(name));
        }
        let long_label = format!("{}.example", "a".repeat(64));
        let long = format!("{}example", "a.".repeat(124));
        for wrong in [
            "",
            ".",
            "a..example",
            "a.example..",
            "+a.example",
            "a.example+",
            "a+b+c+d",
            "a+b+c+d+0123456789abcdef",
            "a+b+b+0123456789abcdef",
            "-",
            "-a.example",
            "a.example-",
            "1.2.3.4",
            "a.example+1.2.3.4.",
            "a.example  by=operator",
            "a.example\n",
            "bücher.example",
            "a.example/24",
            "[192.0.2.1]",
            &long_label,
            &long,
        ] {
            assert_eq!(site_name(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn that_a_site_is_resumed_says_nothing_of_a_mail() {
        let resume = one(InterventionKind::Resume, None, None, Some("site.test"));
        let all = Interventions::new(vec![resume.clone()]);
        assert_eq!((all.resumed_at("site.test"), all.resumed_at("other.test")), (Some(Timestamp(5)), None));
        assert!(all.is_empty() && !all.names_site("site.test") && !all.pauses_site("site.test"));
        assert_eq!(all.of(mail(1, "a.test", Some("site.test"), 4)), None);
        let ended = Interventions::new(vec![Intervention { ended_at: Some(Timestamp(6)), ..resume }]);
        assert_eq!(ended.resumed_at("site.test"), None);
    }

    #[test]
    fn what_has_ended_is_not_in_force() {
        let ended = Intervention {
            ended_at: Some(Timestamp(6)),
            ..one(InterventionKind::Pause, Some(1), None, None)
        };
        let all = Interventions::new(vec![ended]);
        assert!(all.is_empty() && all.of(mail(1, "a.test", None, 9)).is_none());
    }
}

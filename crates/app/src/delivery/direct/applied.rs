//! The policy about TLS under which a connection is opened, as a report names it (RFC 8460 section 4.2).

use mailwright_mail::mta_sts::{Mode, Policy};
use mailwright_mail::tls_report::{PolicyType, ResultType};
use mailwright_store::delivery::tls_report::PolicyRow;
use sha2::{Digest, Sha256};

use super::policies::{Fault, Found};

/// The longest policy of MTA-STS that reports quote, in bytes. Of a longer one they have the kind alone, and what it names is
/// not looked at.
const MOST_BYTES: usize = 4096;
/// Bytes of a hash that tell the policies of a domain apart.
const NAME_BYTES: usize = 16;

/// A policy about TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Applied {
    kind: PolicyType,
    /// Its lines: those of the policy of MTA-STS, or TLSA records in their form of text.
    lines: Vec<String>,
    /// The policy of MTA-STS.
    policy: Option<Policy>,
    /// Why it cannot be had, although the domain has one.
    fault: Option<Fault>,
    /// Tells the policies of a domain apart.
    name: String,
}

impl Applied {
    fn new(kind: PolicyType, lines: Vec<String>, policy: Option<Policy>, fault: Option<Fault>) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(kind.as_str());
        for line in &lines {
            hasher.update(b"\n");
            hasher.update(line);
        }
        let name = hex::encode(&hasher.finalize()[..NAME_BYTES]);
        Self { kind, lines, policy, fault, name }
    }

    /// A policy of a kind that its lines say all of: TLSA records, or no lines where there is no policy.
    pub(super) fn of_kind(kind: PolicyType, lines: Vec<String>) -> Self {
        Self::new(kind, lines, None, None)
    }

    /// What was found of MTA-STS.
    pub(super) fn sts(found: &Found) -> Self {
        if let Some(fault) = &found.fault {
            return Self::new(PolicyType::Sts, Vec::new(), None, Some(fault.clone()));
        }
        match &found.policy {
            Some((policy, text)) if policy.mode != Mode::None => {
                let is_short = text.len() <= MOST_BYTES;
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && is_short);
                let policy = is_short.then(|| policy.clone());
                Self::new(PolicyType::Sts, lines.map(str::to_owned).collect(), policy, None)
            }
            _ => Self::of_kind(PolicyType::NoPolicyFound, Vec::new()),
        }
    }

    /// Tells the policies of a domain apart.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Why it cannot be had, although the domain has one.
    pub(super) fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Whether it only asks for reports: mail goes on without what it asks for.
    pub(super) fn is_tested(&self) -> bool {
        self.policy.as_ref().is_some_and(|policy| policy.mode == Mode::Testing)
    }

    /// Whether a mail server is one of those that it names, where it names any.
    pub(super) fn names(&self, host: &str) -> bool {
        self.policy.as_ref().is_none_or(|policy| policy.names(host))
    }

    /// The result of a session that nothing but [`Applied::names`] speaks against.
    pub(super) const UNNAMED: (ResultType, &'static str) =
        (ResultType::ValidationFailure, "the policy does not name this mail server");

    /// The policy of a domain, as it is stored.
    pub(super) fn row(&self, domain: &str) -> PolicyRow {
        let servers = self.policy.iter().flat_map(|policy| policy.servers.iter().map(String::as_str));
        PolicyRow {
            domain: domain.to_owned(),
            policy: self.name.clone(),
            kind: self.kind.as_str().to_owned(),
            lines: self.lines.join("\n"),
            servers: servers.collect::<Vec<_>>().join("\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sts(text: &str) -> Applied {
        let policy = Policy::parse(text).ok().map(|policy| (policy, text.to_owned()));
        Applied::sts(&Found { policy, fault: None })
    }

    #[test]
    fn a_policy_is_quoted_by_its_lines() {
        let text = "version: STSv1\r\nmode: testing\r\nmx: *.one.example\r\n\r\nmax_age: 86400\r\n";
        let applied = sts(text);
        let row = applied.row("one.example");
        assert_eq!(row.lines, "version: STSv1\nmode: testing\nmx: *.one.example\nmax_age: 86400");
        assert_eq!((&*row.kind, &*row.servers, &*row.policy), ("sts", "*.one.example", applied.name()));
        assert!(applied.is_tested() && applied.names("mx.one.example") && !applied.names("mx.other.example"));
        let enforced = sts(&text.replace("testing", "enforce"));
        assert!(!enforced.is_tested());
        assert_ne!(applied.name(), enforced.name());
    }

    #[test]
    fn what_is_no_policy_and_what_cannot_be_had_are_told_apart() {
        let none = Applied::sts(&Found::default());
        assert_eq!((none.row("a.example").kind, none.names("any.example")), ("no-policy-found".into(), true));
        let withdrawn = sts("version: STSv1\nmode: none\nmax_age: 1\n");
        assert_eq!(withdrawn, none);
        let fault = Fault { kind: ResultType::StsWebpkiInvalid, error: "expired".into() };
        let missing = Applied::sts(&Found { policy: None, fault: Some(fault.clone()) });
        assert_eq!((missing.row("a.example").kind, missing.fault()), ("sts".into(), Some(&fault)));
        let tlsa = Applied::of_kind(PolicyType::Tlsa, vec!["3 1 1 00".into()]);
        assert_eq!((&*tlsa.row("a.example").kind, tlsa.is_tested()), ("tlsa", false));
    }

    #[test]
    fn a_long_policy_is_left_out() {
        let long =
            format!("version: STSv1\nmode: testing\nmx: a.example\nmax_age: 1\n{}", "x: y\n".repeat(1_000));
        let applied = sts(&long);
        assert_eq!((applied.row("a.example").kind, applied.is_tested()), ("sts".into(), false));
        assert!(applied.row("a.example").lines.is_empty() && applied.names("b.example"));
    }
}

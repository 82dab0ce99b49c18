//! What would pass at a receiver, by what the last check of a domain's records found. No name server is asked.

use mailwright_core::mail_check::Expectation;
use mailwright_mail::domain::{Purpose, RecordStatus, policy};
use serde_json::Value;

use crate::sending::domain::{Obstacle, has_key, has_record, status_of, values_of};

/// What receivers will find of a mail's authentication.
#[derive(Debug)]
pub struct Expected {
    /// The signature (RFC 6376).
    pub dkim: Outcome,
    /// Whether the sender of the envelope may send from where the mail comes (RFC 7208).
    pub spf: Outcome,
    /// Whether one of the two speaks for the domain in `From` (RFC 7489).
    pub dmarc: Outcome,
    /// What the domain asks receivers to do with mail that fails DMARC; nothing where it has no such record.
    pub policy: Option<String>,
    /// Whether the domain may be sent from; nothing where the project does not have it.
    pub is_domain_verified: Option<bool>,
}

/// What a receiver will find, and why.
#[derive(Debug)]
pub struct Outcome {
    /// What.
    pub result: Expectation,
    /// Why, in words.
    pub reason: String,
}

impl Outcome {
    fn is(&self, result: Expectation) -> bool {
        self.result == result
    }
}

/// What is known of a sender's domain.
#[derive(Debug)]
pub(super) struct Sender {
    /// Its name.
    pub(super) domain: String,
    /// Whether it may be sent from; nothing where the project does not have it.
    pub(super) may_send: Option<bool>,
    /// Why nothing signs, where the project has it.
    pub(super) obstacle: Option<Obstacle>,
    /// The selectors of the keys that sign.
    pub(super) selectors: Vec<String>,
    /// What the last check of its records found; null before the first one.
    pub(super) findings: Value,
}

/// What the operator set up.
#[derive(Debug, Clone, Copy)]
pub(super) struct SetUp<'a> {
    /// The domain that bounces return to where a sender's domain has no name for them; nothing where they return to the
    /// sender.
    pub(super) return_path: Option<&'a str>,
    /// What SPF records should contain.
    pub(super) spf: Option<&'a str>,
}

impl Sender {
    /// What receivers will find.
    pub(super) fn expected(&self, set_up: SetUp<'_>) -> Expected {
        let dkim = self.dkim();
        let spf = self.spf(set_up);
        // bounces that return to a domain of the operator's say nothing for the sender's
        let is_aligned = set_up.return_path.is_none() || has_record(&self.findings, Purpose::ReturnPath);
        let policy = values_of(&self.findings, Purpose::Dmarc).find_map(policy);
        Expected {
            dmarc: self.dmarc(&dkim, is_aligned.then_some(&spf), policy.as_deref()),
            dkim,
            spf,
            policy,
            is_domain_verified: self.may_send,
        }
    }

    fn dkim(&self) -> Outcome {
        let Self { domain, findings, .. } = self;
        if self.may_send.is_none() {
            let reason = format!(
                "The project does not have the domain {domain}, so nothing signs its mail or sends it."
            );
            return Outcome { result: Expectation::None, reason };
        }
        if self.selectors.is_empty() {
            let why = self.obstacle.unwrap_or(Obstacle::Unverified).of_mail(domain);
            return Outcome {
                result: Expectation::None,
                reason: format!("{why} Until then its mail is not signed, and not sent."),
            };
        }
        if let Some(selector) = self.selectors.iter().find(|selector| has_key(findings, selector)) {
            let reason =
                format!("The mail is signed by the key {selector} of {domain}, whose record was found.");
            return Outcome { result: Expectation::Pass, reason };
        }
        match status_of(findings, Purpose::Dkim) {
            None => unknown("The mail is signed. The records of the domain were not looked up yet."),
            Some(RecordStatus::Unavailable) => {
                unknown("The mail is signed. The name server gave no answer about the record of its key.")
            }
            Some(_) => Outcome {
                result: Expectation::Fail,
                reason: format!("The mail is signed, and {domain} has no record of the key that signs it."),
            },
        }
    }

    fn spf(&self, set_up: SetUp<'_>) -> Outcome {
        let (domain, findings) = (&self.domain, &self.findings);
        if let Some(ours) = set_up.return_path {
            if has_record(findings, Purpose::ReturnPath) {
                let reason = format!("Bounces return to a name under {domain}, whose record was found.");
                return Outcome { result: Expectation::Pass, reason };
            }
            return unknown(&format!(
                "Bounces return to {ours}, whose SPF record is the operator's, since no record was found by which they \
                 return to a name under {domain}. So SPF says nothing for {domain}."
            ));
        }
        let Some(mechanism) = set_up.spf else {
            return unknown(
                "The operator does not say what an SPF record should contain, so it is not looked up.",
            );
        };
        if has_record(findings, Purpose::Spf) {
            let reason = format!("The SPF record of {domain} was found, with {mechanism}.");
            return Outcome { result: Expectation::Pass, reason };
        }
        match status_of(findings, Purpose::Spf) {
            None => unknown("The SPF record of the domain was not looked up yet."),
            Some(RecordStatus::Unavailable) => {
                unknown("The name server gave no answer about the SPF record of the domain.")
            }
            Some(RecordStatus::Missing) => {
                Outcome { result: Expectation::None, reason: format!("{domain} has no SPF record.") }
            }
            Some(RecordStatus::Mismatch | RecordStatus::Found) => Outcome {
                result: Expectation::Fail,
                reason: format!(
                    "The SPF record of {domain} does not contain {mechanism}, or there are several."
                ),
            },
        }
    }

    /// `spf`: nothing where it does not speak for the domain.
    fn dmarc(&self, dkim: &Outcome, spf: Option<&Outcome>, policy: Option<&str>) -> Outcome {
        let by = [Some(("DKIM", dkim)), spf.map(|spf| ("SPF", spf))];
        let mut by = by.into_iter().flatten();
        let domain = &self.domain;
        let asks = match policy {
            Some(policy) => format!("{domain} asks receivers for {policy:?} where it fails."),
            None => format!(
                "No DMARC record of {domain} is known. Large mailbox providers ask bulk senders for one."
            ),
        };
        if let Some((name, _)) = by.clone().find(|(_, outcome)| outcome.is(Expectation::Pass)) {
            let reason = format!("{name} passes, and speaks for {domain}. {asks}");
            return Outcome { result: Expectation::Pass, reason };
        }
        if by.any(|(_, outcome)| outcome.is(Expectation::Unknown)) {
            return unknown(&format!("It is not known whether DKIM or SPF passes for {domain}. {asks}"));
        }
        let reason = format!("Neither DKIM nor SPF passes for {domain}. {asks}");
        Outcome { result: Expectation::Fail, reason }
    }
}

fn unknown(reason: &str) -> Outcome {
    Outcome { result: Expectation::Unknown, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BOUNCES: SetUp<'_> = SetUp { return_path: Some("bounces.host.test"), spf: None };
    const SPF: SetUp<'_> = SetUp { return_path: None, spf: Some("include:host.test") };
    const NOTHING: SetUp<'_> = SetUp { return_path: None, spf: None };

    fn sender(findings: Value) -> Sender {
        Sender {
            domain: "acme.test".into(),
            may_send: Some(true),
            obstacle: None,
            selectors: vec!["mw1".into(), "mw2".into()],
            findings,
        }
    }

    fn finding(purpose: &str, name: &str, status: &str, found: &[&str]) -> Value {
        json!({"purpose": purpose, "name": name, "status": status, "found": found, "was_found": false})
    }

    fn results(sender: &Sender, set_up: SetUp<'_>) -> [&'static str; 3] {
        let found = sender.expected(set_up);
        [&found.dkim, &found.spf, &found.dmarc].map(|outcome| outcome.result.as_str())
    }

    #[test]
    fn records_that_were_found_let_a_mail_pass() {
        let key = |status| finding("dkim", "mw2._domainkey.acme.test", status, &[]);
        let path = |status| finding("return_path", "bounce.acme.test", status, &[]);
        let spf = |status| finding("spf", "acme.test", status, &[]);
        for (findings, set_up, expected) in [
            (Value::Null, NOTHING, ["unknown", "unknown", "unknown"]),
            (json!([key("found")]), NOTHING, ["pass", "unknown", "pass"]),
            (json!([key("missing")]), NOTHING, ["fail", "unknown", "unknown"]),
            (json!([key("missing"), path("missing")]), BOUNCES, ["fail", "unknown", "fail"]),
            (json!([key("missing"), path("found")]), BOUNCES, ["fail", "pass", "pass"]),
            (json!([key("unavailable"), path("missing")]), BOUNCES, ["unknown", "unknown", "unknown"]),
            (json!([key("missing"), spf("missing")]), SPF, ["fail", "none", "fail"]),
            (json!([key("missing"), spf("mismatch")]), SPF, ["fail", "fail", "fail"]),
            (json!([key("missing"), spf("unavailable")]), SPF, ["fail", "unknown", "unknown"]),
            (json!([key("found"), spf("found")]), SPF, ["pass", "pass", "pass"]),
        ] {
            let shown = findings.to_string();
            assert_eq!(results(&sender(findings), set_up), expected, "{shown}");
        }
    }

    #[test]
    fn what_is_not_signed_has_no_signature_that_could_pass() {
        let unverified = Sender {
            may_send: Some(false),
            obstacle: Some(Obstacle::Unverified),
            selectors: Vec::new(),
            ..sender(json!([finding("spf", "acme.test", "missing", &[])]))
        };
        assert_eq!(results(&unverified, SPF), ["none", "none", "fail"]);
        assert!(
            unverified
                .expected(SPF)
                .dkim
                .reason
                .starts_with("The sender's domain acme.test is not verified.")
        );
        let foreign = Sender { may_send: None, selectors: Vec::new(), ..sender(Value::Null) };
        assert_eq!(results(&foreign, NOTHING)[0], "none");
        assert_eq!(foreign.expected(NOTHING).is_domain_verified, None);
    }

    #[test]
    fn the_policy_is_told() {
        let records = ["v=DMARC1; p=Reject"];
        let found =
            sender(json!([finding("dmarc", "_dmarc.acme.test", "found", &records)])).expected(NOTHING);
        assert_eq!(found.policy.as_deref(), Some("reject"));
        assert!(found.dmarc.reason.contains("\"reject\""), "{}", found.dmarc.reason);
    }
}

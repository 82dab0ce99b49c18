//! MTA-STS (RFC 8461): a domain says that its mail servers have TLS and valid certificates, and which they are.
//!
//! A record in DNS says that there is a policy and which version. The policy is fetched by HTTPS and kept as long as it
//! says. Without a usable answer the policy that is kept holds on: an attacker who suppresses one or the other gains
//! nothing.

use std::time::Duration;

use mailwright_core::hex;
use ring::digest::{SHA256, digest};

/// Most bytes of a policy that are read (RFC 8461 section 3.3 advises a limit).
pub const MOST_BYTES: usize = 64 * 1024;
/// Most patterns of mail servers in a policy.
const MOST_PATTERNS: usize = 200;
/// The longest time that a policy is kept: a year, as section 3.2 says.
const LONGEST: u64 = 31_557_600;
/// Most characters of the version in the record.
const MOST_ID: usize = 32;

/// What a sender does where a mail server does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The mail does not go to that server.
    Enforce,
    /// The mail goes there, and a report says so.
    Testing,
    /// There is no policy any more.
    None,
}

impl Mode {
    /// The mode of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Enforce, Self::Testing, Self::None].into_iter().find(|mode| mode.as_str() == name)
    }

    /// The name in a policy.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Testing => "testing",
            Self::None => "none",
        }
    }
}

/// A domain's policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// What it asks for.
    pub mode: Mode,
    /// How long it is kept.
    pub max_age: Duration,
    /// Names of the mail servers, in lower case; `*.` at the front stands for one label.
    pub servers: Vec<String>,
}

/// What is wrong with a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// It is not text, or does not begin as a policy.
    #[error("the policy does not say version: STSv1")]
    Version,
    /// The mode is missing or unknown.
    #[error("the policy's mode is not enforce, testing or none")]
    Mode,
    /// The time is missing or no number.
    #[error("the policy's max_age is not a number of seconds")]
    MaxAge,
    /// No mail servers, or too many.
    #[error("the policy names no mail servers, or more than {}", MOST_PATTERNS)]
    Servers,
}

/// Where a domain's policy is.
pub fn policy_url(domain: &str) -> String {
    format!("https://mta-sts.{domain}/.well-known/mta-sts.txt")
}

/// The version that the TXT records of `_mta-sts.` and the domain name; `None` when there is no policy: without such a
/// record, or with several (section 3.1).
pub fn version<'r>(records: impl IntoIterator<Item = &'r str>) -> Option<&'r str> {
    let mut of_policies = records.into_iter().filter(|record| {
        let mut fields = record.split(';');
        fields.next().is_some_and(|version| version.trim_end() == "v=STSv1")
    });
    let record = of_policies.next()?;
    if of_policies.next().is_some() {
        return None;
    }
    let id = record.split(';').find_map(|field| field.trim().strip_prefix("id="))?;
    let is_valid = (1..=MOST_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_valid.then_some(id)
}

impl Policy {
    /// Reads a policy (section 3.2). Unknown fields are nothing; of a field that stands several times the first counts,
    /// but for `mx`.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let (mut version, mut mode, mut max_age, mut servers) = (None, None, None, Vec::new());
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            match name.trim() {
                "version" => version = version.or(Some(value)),
                "mode" => mode = mode.or(Some(value)),
                "max_age" => max_age = max_age.or(Some(value)),
                "mx" => servers.push(value.trim_end_matches('.').to_ascii_lowercase()),
                _ => {}
            }
        }
        if version != Some("STSv1") {
            return Err(PolicyError::Version);
        }
        let mode = mode.and_then(Mode::from_name).ok_or(PolicyError::Mode)?;
        let max_age: u64 = max_age.and_then(|value| value.parse().ok()).ok_or(PolicyError::MaxAge)?;
        if servers.len() > MOST_PATTERNS || servers.is_empty() && mode != Mode::None {
            return Err(PolicyError::Servers);
        }
        Ok(Self { mode, max_age: Duration::from_secs(max_age.min(LONGEST)), servers })
    }

    /// The policy as it is served (section 3.2).
    pub fn text(&self) -> String {
        let mut text = format!("version: STSv1\r\nmode: {}\r\n", self.mode.as_str());
        for server in &self.servers {
            text.push_str(&format!("mx: {server}\r\n"));
        }
        text.push_str(&format!("max_age: {}\r\n", self.max_age.as_secs()));
        text
    }

    /// What the record says of it, another for each policy: whoever keeps a former one notices the new one by that.
    pub fn id(&self) -> String {
        let mut id = hex::encode(digest(&SHA256, self.text().as_bytes()).as_ref());
        id.truncate(MOST_ID);
        id
    }

    /// Whether a mail server is one of those that the policy names (section 4.1).
    pub fn names(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        self.servers.iter().any(|pattern| match pattern.strip_prefix("*.") {
            Some(domain) => {
                host.split_once('.').is_some_and(|(label, rest)| !label.is_empty() && rest == domain)
            }
            None => *pattern == host,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = "version: STSv1\r\nmode: enforce\r\nmx: mail.example.com\r\nmx: *.Example.net\r\n\
                          mx: backup.example.com.\r\nmax_age: 604800\r\n";

    #[test]
    fn the_policy_of_the_rfc_is_read() {
        let policy = Policy::parse(POLICY).unwrap();
        assert_eq!((policy.mode, policy.max_age), (Mode::Enforce, Duration::from_hours(7 * 24)));
        for host in ["mail.example.com", "MX1.example.net.", "backup.example.com"] {
            assert!(policy.names(host), "{host}");
        }
        for host in ["example.net", "a.b.example.net", ".example.net", "mail.example.com.evil.test", ""] {
            assert!(!policy.names(host), "{host}");
        }
    }

    #[test]
    fn a_policy_of_ours_is_read_back_and_has_an_id_of_its_own() {
        let policy = |mode, host: &str| Policy {
            mode,
            max_age: Duration::from_hours(7 * 24),
            servers: vec![host.to_owned()],
        };
        let ours = policy(Mode::Testing, "mx.example.net");
        assert_eq!(
            ours.text(),
            "version: STSv1\r\nmode: testing\r\nmx: mx.example.net\r\nmax_age: 604800\r\n"
        );
        assert_eq!(Policy::parse(&ours.text()), Ok(ours.clone()));
        let record = format!("v=STSv1; id={}", ours.id());
        assert_eq!(version([record.as_str()]), Some(ours.id().as_str()));
        assert_eq!(ours.id(), policy(Mode::Testing, "mx.example.net").id());
        assert_ne!(ours.id(), policy(Mode::Enforce, "mx.example.net").id());
        assert_ne!(ours.id(), policy(Mode::Testing, "mx2.example.net").id());
    }

    #[test]
    fn what_is_no_policy_is_refused() {
        let cases = [
            ("", PolicyError::Version),
            ("<html>", PolicyError::Version),
            ("version: STSv2\nmode: none\nmax_age: 1", PolicyError::Version),
            ("version: STSv1\nmode: all\nmax_age: 1\nmx: a", PolicyError::Mode),
            ("version: STSv1\nmode: enforce\nmax_age: -1\nmx: a", PolicyError::MaxAge),
            ("version: STSv1\nmode: enforce\nmax_age: 1", PolicyError::Servers),
        ];
        for (text, wanted) in cases {
            assert_eq!(Policy::parse(text), Err(wanted), "{text}");
        }
        let many = format!("version: STSv1\nmode: none\nmax_age: 1\n{}", "mx: a\n".repeat(MOST_PATTERNS + 1));
        assert_eq!(Policy::parse(&many), Err(PolicyError::Servers));
    }

    #[test]
    fn a_policy_may_be_withdrawn_and_is_kept_for_a_year_at_most() {
        let policy = Policy::parse("version: STSv1\nmode: none\nmax_age: 99999999999\n").unwrap();
        assert_eq!((policy.mode, policy.max_age.as_secs()), (Mode::None, LONGEST));
    }

    #[test]
    fn the_record_has_a_version() {
        assert_eq!(version(["v=spf1 -all", "v=STSv1; id=20160831085700Z;"]), Some("20160831085700Z"));
        assert_eq!(version(["v=STSv1;id=1"]), Some("1"));
        for records in [
            &["v=STSv1; id=1", "v=STSv1; id=2"][..],
            &["v=STSv1"],
            &["v=STSv1; id="],
            &["v=STSv10; id=1"],
            &[],
        ] {
            assert_eq!(version(records.iter().copied()), None, "{records:?}");
        }
        assert_eq!(version(["v=STSv1; id=with-dash"]), None);
        assert_eq!(policy_url("example.com"), "https://mta-sts.example.com/.well-known/mta-sts.txt");
    }
}

//! Opens connections, and counts what their TLS came to for the report to the domain that they are opened for.
//!
//! What a policy that is only tested (MTA-STS, mode `testing`) asks for is tried first, so that its domain learns whether it
//! could be had; then the mail goes on without.

use std::net::IpAddr;
use std::sync::Arc;

use mailwright_mail::smtp::{Connection, OpenError, OpenStage, RelayConfig, Security, TlsFailure};
use mailwright_mail::tls_report::{PolicyType, ResultType};
use mailwright_tls::Dane;

use super::Direct;
use super::applied::Applied;
use super::tls_results::{Outcome, Session};
use crate::http_client::may_connect;

/// What came of opening a connection: with it, whether the server's certificate is valid for the server.
pub(super) type Opened = Result<(Connection, bool), OpenError>;

impl Direct {
    /// Opens a connection to a mail server, and counts it for `domain`; for nobody where that is `None`.
    pub(super) async fn open_counted(
        &self,
        config: &RelayConfig,
        addresses: &[IpAddr],
        domain: Option<&str>,
    ) -> Opened {
        let counted = domain.and_then(|domain| Some((domain, self.applied(domain, config.dane.as_ref())?)));
        let Some((domain, applied)) = counted else { return self.open_as(config, addresses).await };
        if !applied.is_tested() || config.security != Security::Opportunistic {
            let opened = self.open_as(config, addresses).await;
            self.count(domain, &applied, &config.host, &opened);
            return opened;
        }
        let mut strict = config.clone();
        strict.security = Security::StartTls;
        let opened = self.open_as(&strict, addresses).await;
        self.count(domain, &applied, &config.host, &opened);
        if opened.as_ref().is_err_and(may_lie_in_tls) {
            self.open_as(config, addresses).await
        } else {
            opened
        }
    }

    async fn open_as(&self, config: &RelayConfig, addresses: &[IpAddr]) -> Opened {
        let connection = Connection::open_to(config, addresses, self.config.source).await?;
        Ok((connection, config.security == Security::StartTls && !config.accept_invalid_certs))
    }

    /// The policy under which a connection is opened for a domain: the TLSA records of the server, where they name a
    /// certificate, before that of the domain. `None` where nothing is to be counted.
    fn applied(&self, domain: &str, dane: Option<&Dane>) -> Option<Arc<Applied>> {
        let of_domain = self.tls_results.of(domain)?;
        let of_server = dane.map(|dane| {
            let lines = dane.records().iter().map(ToString::to_string).collect();
            Arc::new(Applied::of_kind(PolicyType::Tlsa, lines))
        });
        Some(of_server.unwrap_or(of_domain))
    }

    /// Counts a connection that was not opened, since nothing is known of the server's TLSA records.
    pub(super) fn count_unproven(&self, domain: Option<&str>, host: &str, why: &str) {
        let Some(domain) = domain else { return };
        let applied = Applied::of_kind(PolicyType::Tlsa, Vec::new());
        let outcome = Outcome::Failure(ResultType::DnssecInvalid, why.to_owned());
        self.tls_results.count(domain, &applied, &Session { host, receiver: None, source: None, outcome });
    }

    /// Counts what came of a connection. One that failed before TLS, or after it, is none of its sessions.
    fn count(&self, domain: &str, applied: &Applied, host: &str, opened: &Opened) {
        let (outcome, ends) = match opened {
            Ok((connection, _)) => {
                let outcome = match connection.unencrypted() {
                    None => Outcome::Success,
                    Some((failure, error)) => Outcome::Failure(result_of(failure), error.to_owned()),
                };
                (outcome, connection.ends())
            }
            Err(OpenError { tls: Some(failure), error, ends, .. }) => {
                (Outcome::Failure(result_of(*failure), error.clone()), *ends)
            }
            Err(_) => return,
        };
        // an address behind a translation says nothing to others
        let source = ends.map(|ends| ends.ours).filter(|address| may_connect(*address, self.allows_private));
        let session = Session { host, receiver: ends.map(|ends| ends.theirs), source, outcome };
        self.tls_results.count(domain, applied, &session);
    }

    /// Counts a mail that went nowhere, since the domain's policy names none of its mail servers.
    pub(super) fn count_unnamed(&self, domain: &str) {
        let Some(applied) = self.tls_results.of(domain) else { return };
        let (result, _) = Applied::UNNAMED;
        let outcome = Outcome::Failure(result, "the policy names none of the mail servers".to_owned());
        let session = Session { host: "", receiver: None, source: None, outcome };
        self.tls_results.count(domain, &applied, &session);
    }
}

/// Whether a connection may come about without TLS that did not with it: also one that broke right after the handshake, where
/// a server says late that it does not like it.
fn may_lie_in_tls(error: &OpenError) -> bool {
    error.tls.is_some() || error.stage == OpenStage::Hello && error.reply.is_none()
}

/// As RFC 8460 section 4.3.1 names it.
fn result_of(failure: TlsFailure) -> ResultType {
    match failure {
        TlsFailure::NotOffered => ResultType::StarttlsNotSupported,
        TlsFailure::HostMismatch => ResultType::CertificateHostMismatch,
        TlsFailure::Expired => ResultType::CertificateExpired,
        TlsFailure::NotTrusted => ResultType::CertificateNotTrusted,
        TlsFailure::Other => ResultType::ValidationFailure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(stage: OpenStage, tls: Option<TlsFailure>) -> OpenError {
        OpenError { stage, reply: None, error: "failed".into(), permanent: false, tls, ends: None }
    }

    #[test]
    fn failures_have_the_names_of_the_rfc() {
        for (failure, name) in [
            (TlsFailure::NotOffered, "starttls-not-supported"),
            (TlsFailure::HostMismatch, "certificate-host-mismatch"),
            (TlsFailure::Expired, "certificate-expired"),
            (TlsFailure::NotTrusted, "certificate-not-trusted"),
            (TlsFailure::Other, "validation-failure"),
        ] {
            assert_eq!(result_of(failure).as_str(), name);
        }
    }

    #[test]
    fn what_does_not_lie_in_tls_is_not_tried_without() {
        assert!(may_lie_in_tls(&error(OpenStage::Tls, Some(TlsFailure::Expired))));
        assert!(may_lie_in_tls(&error(OpenStage::Hello, None)));
        assert!(!may_lie_in_tls(&error(OpenStage::Connect, None)));
        assert!(!may_lie_in_tls(&error(OpenStage::Greeting, None)));
    }
}

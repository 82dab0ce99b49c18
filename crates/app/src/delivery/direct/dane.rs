//! What mail servers' TLSA records demand of connections to them (DANE, RFC 7672), before what the domain's policy demands
//! (MTA-STS).
//!
//! TLSA records are of a server, a policy is of a domain. The records count where DNSSEC proves that the domain's mail goes to
//! the server ([`Path::minds_tlsa`]). Where they name a certificate, they alone decide: a policy must not make good what they
//! refuse (RFC 8461 section 2), and need not agree. Where they demand encryption alone, or nothing, the policy holds as well.

use mailwright_mail::dane::Demand;
use mailwright_mail::mta_sts::Policy;
use mailwright_mail::route::{MailHost, MailServer};
use mailwright_mail::smtp::{RelayConfig, Security};
use mailwright_tls::Dane;

use super::Direct;
use super::path::{Need, Path};

/// Why a server is left alone of whose records nothing is known.
const UNKNOWN: &str =
    "the name server gave no answer about its TLSA records, and without one nothing is sent to it (RFC 7672)";

impl Direct {
    /// How a server is connected to for mail to a domain, or why it must not be.
    pub(super) async fn connection_to(
        &self,
        host: &str,
        found: &MailHost,
        path: &Path,
        domain: &str,
    ) -> Result<RelayConfig, &'static str> {
        let mut config = self.config.connection.clone();
        host.clone_into(&mut config.host);
        let demand =
            if path.minds_tlsa { self.dns.demand(found, config.port).await } else { Demand::Nothing };
        match demand {
            Demand::Unknown => return Err(UNKNOWN),
            Demand::Certificate { base, records } => {
                config.security = Security::StartTls;
                config.dane = Some(Dane::new(records, &base, host, domain));
            }
            Demand::Encryption => {
                config.security = Security::StartTls;
                config.accept_invalid_certs = path.need == Need::Opportunistic;
            }
            Demand::Nothing if path.need == Need::Verified => config.security = Security::StartTls,
            Demand::Nothing => {}
        }
        Ok(config)
    }

    /// The servers that a policy allows: those that it names, and those whose TLSA records name a certificate.
    pub(super) async fn allowed(
        &self,
        servers: Vec<MailServer>,
        policy: &Policy,
        minds_tlsa: bool,
    ) -> Vec<MailServer> {
        let mut allowed = Vec::new();
        for server in servers {
            if policy.names(&server.host) || minds_tlsa && self.is_certain(&server.host).await {
                allowed.push(server);
            }
        }
        allowed
    }

    /// Whether TLSA records name the certificate of a server.
    async fn is_certain(&self, host: &str) -> bool {
        let found = self.dns.mail_host(host).await;
        let demand = self.dns.demand(&found, self.config.connection.port).await;
        matches!(demand, Demand::Certificate { .. })
    }
}

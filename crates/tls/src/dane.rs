//! Certificates that DNS names by TLSA records (RFC 6698, RFC 7671), as mail servers use them (RFC 7672 section 3).
//!
//! Of the usages, DANE-EE(3) and DANE-TA(2) count. A record with another usage, or with a selector or a matching type that
//! is not known, cannot be used (RFC 7672 section 3.1.3). Of several records one that fits is enough: the digests have no
//! order here (RFC 7671 section 9), so a SHA-256 counts beside a SHA-512.
//!
//! The signatures of the handshake are checked in any case: a certificate without its key proves nothing. No session is
//! resumed, because nothing is checked then.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ring::digest::{self, SHA256, SHA512};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Usages (RFC 6698 section 2.1.1, with the names of RFC 7218).
const DANE_TA: u8 = 2;
const DANE_EE: u8 = 3;
/// Selectors (section 2.1.2): the whole certificate, or its public key.
const CERTIFICATE: u8 = 0;
const KEY: u8 = 1;
/// Matching types (section 2.1.3).
const EXACT: u8 = 0;
const BY_SHA256: u8 = 1;
const BY_SHA512: u8 = 2;

/// A TLSA record (RFC 6698 section 2.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tlsa {
    /// What the record names: 2 an issuer, 3 the server's own certificate; 0 and 1 do not count for mail.
    pub usage: u8,
    /// Of the certificate: 0 all of it, 1 its public key.
    pub selector: u8,
    /// How that is given: 0 as it is, 1 by its SHA-256, 2 by its SHA-512.
    pub matching: u8,
    /// What is named.
    pub data: Vec<u8>,
}

impl fmt::Display for Tlsa {
    /// In the form of text that zone files have (RFC 6698 section 2.2).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} ", self.usage, self.selector, self.matching)?;
        self.data.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Tlsa {
    /// Whether a certificate can be checked by the record.
    pub fn is_usable(&self) -> bool {
        let is_complete = match self.matching {
            EXACT => !self.data.is_empty(),
            BY_SHA256 => self.data.len() == SHA256.output_len(),
            BY_SHA512 => self.data.len() == SHA512.output_len(),
            _ => false,
        };
        matches!(self.usage, DANE_TA | DANE_EE) && matches!(self.selector, CERTIFICATE | KEY) && is_complete
    }

    /// Whether the record names a certificate, whatever it names it as.
    fn names(&self, certificate: &CertificateDer<'_>) -> bool {
        let selected = match self.selector {
            CERTIFICATE => Some(certificate.to_vec()),
            KEY => key_of(certificate),
            _ => None,
        };
        let Some(selected) = selected else { return false };
        match self.matching {
            EXACT => self.data == selected,
            BY_SHA256 => self.data == hash(&SHA256, &selected),
            BY_SHA512 => self.data == hash(&SHA512, &selected),
            _ => false,
        }
    }
}

/// The public key of a certificate, as it stands there (`SubjectPublicKeyInfo`).
fn key_of(certificate: &CertificateDer<'_>) -> Option<Vec<u8>> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    Some(parsed.subject_public_key_info().to_vec())
}

fn hash(algorithm: &'static digest::Algorithm, data: &[u8]) -> Vec<u8> {
    digest::digest(algorithm, data).as_ref().to_vec()
}

/// What the certificate of a server turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The server's.
    OfServer,
    /// One whose issuer the records name, and that is valid for the recipient's domain, but not for the server (RFC 7672
    /// section 3.2.2). The connection is good for mail to that domain alone.
    OfDomain,
    /// Not the server's, for this reason.
    Refused(String),
}

/// How the certificate of a server is checked on one connection. Clones share what it turned out to be.
#[derive(Debug, Clone)]
pub struct Dane(Arc<Check>);

#[derive(Debug)]
struct Check {
    base: String,
    records: Vec<Tlsa>,
    host: String,
    domain: String,
    verdict: Mutex<Option<Verdict>>,
}

impl Dane {
    /// Checks by these records, those of the TLSA base domain (RFC 7672 section 2.2.3). A certificate that an issuer made
    /// has to be valid for the base domain, for the host as it is in the MX record, or for the recipient's domain.
    pub fn new(records: Vec<Tlsa>, base: &str, host: &str, domain: &str) -> Self {
        Self(Arc::new(Check {
            base: base.to_owned(),
            records,
            host: host.to_owned(),
            domain: domain.to_owned(),
            verdict: Mutex::new(None),
        }))
    }

    /// The name that the server is asked for (SNI): the TLSA base domain (RFC 7672 section 8.1).
    pub fn server_name(&self) -> &str {
        &self.0.base
    }

    /// The records.
    pub fn records(&self) -> &[Tlsa] {
        &self.0.records
    }

    /// What the certificate turned out to be; `None` before the server showed one.
    pub fn verdict(&self) -> Option<Verdict> {
        self.0.verdict.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The configuration to connect with, or why there is none.
    pub fn config(&self) -> Result<Arc<ClientConfig>, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Verifier { dane: self.clone(), provider: Arc::clone(&provider) };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.resumption = Resumption::disabled();
        Ok(Arc::new(config))
    }
}

impl Check {
    fn judge(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        now: UnixTime,
        provider: &CryptoProvider,
    ) -> Verdict {
        // neither names nor dates count (RFC 7672 section 3.1.1)
        if self.records.iter().any(|record| record.usage == DANE_EE && record.names(certificate)) {
            return Verdict::OfServer;
        }
        let issuers = self.issuers(others);
        if issuers.is_empty() {
            return Verdict::Refused("its certificate is none that its TLSA records name".to_owned());
        }
        self.judge_issued(certificate, &issuers, others, now, provider).unwrap_or_else(|error| {
            Verdict::Refused(format!(
                "its certificate is not valid under the issuer that its TLSA records name: {error}"
            ))
        })
    }

    /// The issuers that records name: of the certificates that the server shows, as it has to (RFC 7672 section 3.1.2), or
    /// in the record itself.
    fn issuers(&self, shown: &[CertificateDer<'_>]) -> RootCertStore {
        let mut issuers = RootCertStore::empty();
        for record in self.records.iter().filter(|record| record.usage == DANE_TA) {
            issuers.add_parsable_certificates(shown.iter().filter(|issuer| record.names(issuer)).cloned());
            if record.selector == CERTIFICATE && record.matching == EXACT {
                issuers.add_parsable_certificates([CertificateDer::from(record.data.as_slice())]);
            }
        }
        issuers
    }

    fn judge_issued(
        &self,
        certificate: &CertificateDer<'_>,
        issuers: &RootCertStore,
        others: &[CertificateDer<'_>],
        now: UnixTime,
        provider: &CryptoProvider,
    ) -> Result<Verdict, Error> {
        let parsed = ParsedCertificate::try_from(certificate)?;
        let algorithms = provider.signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&parsed, issuers, others, now, algorithms)?;
        let is_for = |name: &str| {
            ServerName::try_from(name).is_ok_and(|name| verify_server_name(&parsed, &name).is_ok())
        };
        Ok(if is_for(&self.base) || is_for(&self.host) {
            Verdict::OfServer
        } else if is_for(&self.domain) {
            Verdict::OfDomain
        } else {
            Verdict::Refused(format!(
                "its certificate is valid neither for {} nor for {}",
                self.base, self.domain
            ))
        })
    }
}

/// Has certificates checked by TLSA records.
#[derive(Debug)]
struct Verifier {
    dane: Dane,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let check = &self.dane.0;
        let verdict = check.judge(end_entity, intermediates, now, &self.provider);
        let is_refused = matches!(verdict, Verdict::Refused(_));
        *check.verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
        if is_refused {
            return Err(CertificateError::ApplicationVerificationFailure.into());
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
#[path = "dane_tests.rs"]
mod tests;

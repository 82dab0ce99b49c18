//! TLS on `rustls`: as a client speaks it, to the mail server, to PostgreSQL, and over HTTP, and as the server does for
//! mail that comes in (`server.rs`). Certificates that DNS names are checked in `dane.rs`.
//!
//! The provider, `ring`, is named explicitly: nothing here depends on a provider of the process. The roots are those of
//! the system.

mod dane;
mod server;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

pub use dane::{Dane, Tlsa, Verdict};
pub use server::{ServerError, self_signed_server_config, server_config_of};

/// Whether the server has to prove who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// Its certificate is checked against the roots, and against the name that is connected to.
    Certificate,
    /// Any certificate will do: the operator asked for it, or TLS is better than none (opportunistic, RFC 7435).
    Nothing,
}

/// The configurations of TLS, each made at its first use: reading the roots of the system takes milliseconds, and
/// sessions can only be resumed within one configuration. Clones share them.
#[derive(Clone, Default)]
pub struct ClientTls(Arc<Inner>);

#[derive(Default)]
struct Inner {
    extra_roots: Vec<CertificateDer<'static>>,
    verifying: OnceLock<Result<Arc<ClientConfig>, String>>,
    trusting: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls").field("extra_roots", &self.0.extra_roots.len()).finish_non_exhaustive()
    }
}

impl ClientTls {
    /// Trusts these roots beside those of the system.
    pub fn with_extra_roots(extra_roots: Vec<CertificateDer<'static>>) -> Self {
        Self(Arc::new(Inner { extra_roots, ..Inner::default() }))
    }

    /// The configuration to connect with, or why there is none.
    pub fn get(&self, verify: Verify) -> Result<Arc<ClientConfig>, String> {
        let inner = &*self.0;
        let cell = match verify {
            Verify::Certificate => &inner.verifying,
            Verify::Nothing => &inner.trusting,
        };
        cell.get_or_init(|| build(verify, &inner.extra_roots)).clone()
    }

    /// Why a client that checks certificates would not take those in a file (PEM) from a server of this name, at a time
    /// since 1970; `None` where it takes them. An error where that cannot be found out.
    pub fn objection(&self, certificate: &Path, host: &str, now: Duration) -> Result<Option<String>, String> {
        let chain = server::chain_of(certificate).map_err(|error| error.to_string())?;
        let Some((own, issuers)) = chain.split_first() else { return Ok(None) };
        let name = ServerName::try_from(host)
            .map_err(|_| format!("no certificate can be for {host}, which is not a host name"))?;
        // what `checking` checks with
        let roots = Arc::new(roots(&self.0.extra_roots)?);
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider)
            .build()
            .map_err(|error| error.to_string())?;
        let now = UnixTime::since_unix_epoch(now);
        Ok(verifier.verify_server_cert(own, issuers, &name, &[], now).err().map(|error| fault_of(&error)))
    }

    /// The configuration that checks certificates, for drivers that want one before they know whether the server speaks
    /// TLS at all. Without roots it accepts no certificate.
    pub fn get_before_it_is_needed(&self) -> Result<ClientConfig, String> {
        match self.get(Verify::Certificate) {
            Ok(config) => Ok((*config).clone()),
            Err(why) => {
                tracing::debug!(why, "certificates of servers cannot be checked");
                checking(RootCertStore::empty())
            }
        }
    }
}

fn build(verify: Verify, extra_roots: &[CertificateDer<'static>]) -> Result<Arc<ClientConfig>, String> {
    let config = match verify {
        Verify::Certificate => checking(roots(extra_roots)?)?,
        Verify::Nothing => {
            let provider = Arc::new(ring::default_provider());
            ClientConfig::builder_with_provider(Arc::clone(&provider))
                .with_safe_default_protocol_versions()
                .map_err(|error| error.to_string())?
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AcceptAnything(provider)))
                .with_no_client_auth()
        }
    };
    Ok(Arc::new(config))
}

fn checking(roots: RootCertStore) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn roots(extra: &[CertificateDer<'static>]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    let (_, unreadable) = roots.add_parsable_certificates(system.certs);
    if unreadable > 0 || !system.errors.is_empty() {
        tracing::debug!(
            unreadable,
            errors = system.errors.len(),
            "some root certificates of the system were skipped"
        );
    }
    for root in extra {
        roots
            .add(root.clone())
            .map_err(|error| format!("an extra root certificate cannot be used: {error}"))?;
    }
    if roots.is_empty() {
        return Err(
            "the system has no root certificates to check the server's with; install ca-certificates".into(),
        );
    }
    Ok(roots)
}

/// What is wrong with a certificate, in words.
fn fault_of(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "no authority that is trusted issued it, or the certificates in between are missing".to_owned()
        }
        other => other.to_string(),
    }
}

/// Accepts every certificate: for `insecure=true` and for opportunistic TLS.
#[derive(Debug)]
struct AcceptAnything(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnything {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::generate_simple_self_signed;

    use super::*;

    /// Some time in 2026.
    const NOW: Duration = Duration::from_secs(1_780_000_000);

    #[test]
    fn a_certificate_is_taken_for_its_name_from_an_issuer_that_is_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("chain.pem");
        let made = generate_simple_self_signed(["mx.example.com".to_owned()]).unwrap();
        std::fs::write(&file, made.cert.pem()).unwrap();
        let trusting = ClientTls::with_extra_roots(vec![made.cert.der().clone()]);
        assert_eq!(trusting.objection(&file, "mx.example.com", NOW), Ok(None));
        assert!(trusting.objection(&file, "mx.example.net", NOW).unwrap().is_some(), "for another name");
        let other = generate_simple_self_signed(["mx.example.com".to_owned()]).unwrap();
        let distrusting = ClientTls::with_extra_roots(vec![other.cert.der().clone()]);
        assert!(
            distrusting.objection(&file, "mx.example.com", NOW).unwrap().is_some(),
            "from another issuer"
        );
        let long_ago = Duration::from_secs(1);
        assert!(trusting.objection(&file, "mx.example.com", long_ago).unwrap().is_some(), "not yet valid");
        assert!(trusting.objection(&folder.path().join("none.pem"), "mx.example.com", NOW).is_err());
        assert!(trusting.objection(&file, "not a name", NOW).is_err());
    }
}

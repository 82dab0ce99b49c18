//! Certificates for servers of the harness.

use std::path::Path;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::NamedTempFile;

/// A self-made certificate, for `localhost` and `127.0.0.1` unless other names are given.
#[derive(Clone, Debug)]
pub struct Certificate {
    file: Arc<NamedTempFile>,
    chain: Vec<CertificateDer<'static>>,
    pub(crate) server: Arc<ServerConfig>,
}

impl Certificate {
    /// Makes a certificate with a key of its own.
    pub fn generate() -> Self {
        Self::of(&["localhost", "127.0.0.1"])
    }

    /// The same for other names.
    pub fn of(names: &[&str]) -> Self {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), cert.pem()).unwrap();
        Self { file: Arc::new(file), chain: vec![cert.der().clone()], server: Arc::new(server) }
    }

    /// The certificate as rustls takes it, for clients of the harness that are to trust it.
    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        self.chain.clone()
    }

    /// A file with the certificate, for `SSL_CERT_FILE`; it is there as long as this value or a clone.
    pub fn path(&self) -> &Path {
        self.file.path()
    }
}

//! TLS as a server speaks it: for mail that comes in.

use std::path::Path;
use std::sync::Arc;

use rcgen::generate_simple_self_signed;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The configuration with the certificate chain and the key in two files (PEM).
pub fn server_config_of(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, ServerError> {
    let chain = chain_of(certificate)?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, error.to_string()))?;
    build(chain, key)
}

/// The certificates in a file (PEM), that of the server first; never empty.
pub(crate) fn chain_of(certificate: &Path) -> Result<Vec<CertificateDer<'static>>, ServerError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate)
        .map_err(|error| unreadable(certificate, error.to_string()))?
        .collect();
    let chain = chain.map_err(|error| unreadable(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(unreadable(certificate, "it holds no certificate".to_owned()));
    }
    Ok(chain)
}

fn unreadable(path: &Path, why: String) -> ServerError {
    ServerError::Unreadable { path: path.display().to_string(), why }
}

/// The configuration with a certificate for a host that nobody vouches for, made now. Mail servers take it: to them any
/// encryption is better than none (RFC 7435).
pub fn self_signed_server_config(host: &str) -> Result<Arc<ServerConfig>, ServerError> {
    let made = generate_simple_self_signed([host.to_owned()])
        .map_err(|e| ServerError::Certificate(e.to_string()))?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())
        .map_err(|error| ServerError::Certificate(error.to_owned()))?;
    build(vec![made.cert.der().clone()], key)
}

fn build(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>, ServerError> {
    let failed = |error: rustls::Error| ServerError::Certificate(error.to_string());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(failed)?;
    Ok(Arc::new(config))
}

/// Why a server cannot speak TLS.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A file cannot be read.
    #[error("{path}: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// Certificate or key cannot be used.
    #[error("the certificate or its key cannot be used: {0}")]
    Certificate(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_made_and_read() {
        assert!(self_signed_server_config("mx.example.com").is_ok());
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = (folder.path().join("chain.pem"), folder.path().join("key.pem"));
        let made = generate_simple_self_signed(["mx.example.com".to_owned()]).unwrap();
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        assert!(server_config_of(&certificate, &key).is_ok());
        assert!(server_config_of(&key, &key).is_err());
        assert!(server_config_of(&certificate, &folder.path().join("none.pem")).is_err());
    }
}

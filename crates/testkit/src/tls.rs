//! Certificates for servers of the harness.

use std::path::Path;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedKey, DnType, IsCa, Issuer, KeyPair, PublicKeyData,
    generate_simple_self_signed,
};
use ring::digest::{SHA256, SHA512, digest};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::NamedTempFile;

/// A self-made certificate, for `localhost` and `127.0.0.1` unless other names are given.
#[derive(Clone, Debug)]
pub struct Certificate {
    file: Arc<NamedTempFile>,
    chain: Vec<CertificateDer<'static>>,
    /// The public keys of the chain.
    keys: Vec<Vec<u8>>,
    pub(crate) server: Arc<ServerConfig>,
}

impl Certificate {
    /// Makes a certificate with a key of its own.
    pub fn generate() -> Self {
        Self::of(&["localhost", "127.0.0.1"])
    }

    /// The same for other names.
    pub fn of(names: &[&str]) -> Self {
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(texts(names)).unwrap();
        Self::new(
            vec![cert.der().clone()],
            vec![signing_key.subject_public_key_info()],
            &signing_key,
            &cert.pem(),
        )
    }

    /// A certificate for other names with an issuer of its own, whose certificate a server shows as well. The file is
    /// the issuer's.
    pub fn issued(names: &[&str]) -> Self {
        let mut of_issuer = CertificateParams::default();
        of_issuer.distinguished_name.push(DnType::CommonName, "issuer of the harness");
        of_issuer.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer_key = KeyPair::generate().unwrap();
        let issuer_certificate = of_issuer.self_signed(&issuer_key).unwrap();
        let key = KeyPair::generate().unwrap();
        let keys = vec![key.subject_public_key_info(), issuer_key.subject_public_key_info()];
        let params = CertificateParams::new(texts(names)).unwrap();
        let certificate = params.signed_by(&key, &Issuer::new(of_issuer, issuer_key)).unwrap();
        let chain = vec![certificate.der().clone(), issuer_certificate.der().clone()];
        Self::new(chain, keys, &key, &issuer_certificate.pem())
    }

    fn new(chain: Vec<CertificateDer<'static>>, keys: Vec<Vec<u8>>, key: &KeyPair, pem: &str) -> Self {
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain.clone(), key)
            .unwrap();
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), pem).unwrap();
        Self { file: Arc::new(file), chain, keys, server: Arc::new(server) }
    }

    /// The certificate as rustls takes it, for clients of the harness that are to trust it.
    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        self.chain.clone()
    }

    /// A file with the certificate, for `SSL_CERT_FILE`; it is there as long as this value or a clone.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The TLSA record that names the certificate, or its issuer where the usage is 2 (or 0), for
    /// [`FakeDns::set_tlsa`](crate::dns::FakeDns::set_tlsa).
    pub fn tlsa(&self, usage: u8, selector: u8, matching: u8) -> (u8, u8, u8, Vec<u8>) {
        let number = if matches!(usage, 0 | 2) { self.chain.len() - 1 } else { 0 };
        let selected = if selector == 0 { self.chain[number].to_vec() } else { self.keys[number].clone() };
        let data = match matching {
            0 => selected,
            1 => digest(&SHA256, &selected).as_ref().to_vec(),
            _ => digest(&SHA512, &selected).as_ref().to_vec(),
        };
        (usage, selector, matching, data)
    }
}

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

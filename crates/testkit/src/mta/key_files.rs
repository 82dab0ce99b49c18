//! A key and its certificate in files, for servers that read them there.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;

use crate::tls::Certificate;

/// A self-made certificate and its key.
#[derive(Debug)]
pub struct KeyFiles {
    folder: TempDir,
}

impl KeyFiles {
    /// Makes a certificate for these names, with a key of its own.
    pub fn of(names: &[&str]) -> Self {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
        let files = Self { folder: super::folder() };
        fs::write(files.certificate(), cert.pem()).unwrap();
        fs::write(files.key(), signing_key.serialize_pem()).unwrap();
        files
    }

    /// The file with the certificate.
    pub fn certificate(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    /// The file with the key.
    pub fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// A file with this certificate and another one, for `SSL_CERT_FILE`; it is there as long as this value.
    pub fn trusted_with(&self, other: &Certificate) -> PathBuf {
        let path = self.folder.path().join("trusted.pem");
        fs::write(&path, read(&self.certificate()) + &read(other.path())).unwrap();
        path
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

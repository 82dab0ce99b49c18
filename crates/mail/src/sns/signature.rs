//! Whether SNS signed an envelope.
//!
//! RSASSA-PKCS1-v1_5 with SHA-1 or SHA-256 (RFC 8017 section 8.2). That the certificate is Amazon's follows from where
//! it was fetched, by HTTPS from a host of SNS; its own chain is not checked.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use mailwright_core::time::Timestamp;
use ring::signature::{
    RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::time::Time;

use super::envelope::{Envelope, SignatureVersion};

/// The most bytes of the file with the certificate, its chain included.
const MAX_CERTIFICATE: usize = 64 * 1024;

/// The algorithm of RSA keys (RFC 8017 appendix A.1).
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");

/// The bytes of the shortest and the longest modulus: 2048 and 8192 bits.
const MODULUS: std::ops::RangeInclusive<usize> = 256..=1024;

/// Why an envelope counts as not signed by SNS.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The message is of a type that is not known, so nobody knows what is signed.
    #[error("how messages of this type are signed is not known")]
    Type,
    /// The signature is not in base64.
    #[error("the signature is not in base64")]
    Encoding,
    /// What was fetched is no certificate.
    #[error("the certificate cannot be read: {0}")]
    Certificate(String),
    /// The certificate is not valid yet, or no longer: another one may be at its address.
    #[error("the certificate is not valid at this time")]
    Validity,
    /// The certificate has no RSA key of 2048 to 8192 bits.
    #[error("the certificate has no RSA key of 2048 to 8192 bits")]
    Key,
    /// The key did not sign this message as it is.
    #[error("the signature does not match")]
    Mismatch,
}

/// Checks that the key of a certificate signed the message as it is.
///
/// `certificate_pem` is what is at [`certificate_url`](super::certificate_url), in PEM (RFC 7468); of several
/// certificates the first one counts. The message may be of any age: see [`Envelope::age`].
pub fn verify(envelope: &Envelope, certificate_pem: &[u8], now: Timestamp) -> Result<(), SignatureError> {
    let text = envelope.signed_text().ok_or(SignatureError::Type)?;
    let signature = BASE64.decode(&envelope.signature).map_err(|_| SignatureError::Encoding)?;
    let certificate = parse(certificate_pem)?;
    let validity = certificate.tbs_certificate.validity;
    if now < instant(validity.not_before) || instant(validity.not_after).0.saturating_add(999) < now.0 {
        return Err(SignatureError::Validity);
    }
    let key = certificate.tbs_certificate.subject_public_key_info;
    if key.algorithm.oid != RSA {
        return Err(SignatureError::Key);
    }
    let key = key.subject_public_key.as_bytes().ok_or(SignatureError::Key)?;
    let modulus = rsa::pkcs1::RsaPublicKey::try_from(key).map_err(|_| SignatureError::Key)?.modulus;
    if !MODULUS.contains(&modulus.as_bytes().len()) {
        return Err(SignatureError::Key);
    }
    let algorithm = match envelope.signature_version {
        SignatureVersion::One => &RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
        SignatureVersion::Two => &RSA_PKCS1_2048_8192_SHA256,
    };
    UnparsedPublicKey::new(algorithm, key)
        .verify(text.as_bytes(), &signature)
        .map_err(|_| SignatureError::Mismatch)
}

fn parse(pem: &[u8]) -> Result<Certificate, SignatureError> {
    if pem.len() > MAX_CERTIFICATE {
        return Err(SignatureError::Certificate(format!("it has more than {MAX_CERTIFICATE} bytes")));
    }
    let der = CertificateDer::from_pem_slice(pem)
        .map_err(|error| SignatureError::Certificate(format!("it is not in PEM: {error:?}")))?;
    Certificate::from_der(&der).map_err(|error| SignatureError::Certificate(error.to_string()))
}

fn instant(time: Time) -> Timestamp {
    Timestamp(0).plus(time.to_unix_duration())
}

//! How a connection was opened: between which addresses, and why it is not encrypted.

use std::io;
use std::net::IpAddr;

use rustls::{CertificateError, Error};
use tokio::net::TcpStream;

/// Why there is no TLS with a server, as far as RFC 8460 section 4.3.1 tells reasons apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TlsFailure {
    /// The server does not offer STARTTLS, or refuses it.
    NotOffered,
    /// The certificate is for other names.
    HostMismatch,
    /// The certificate is not valid any more.
    Expired,
    /// Something else is wrong with the certificate: nobody who is trusted vouches for it, or it is broken.
    NotTrusted,
    /// The handshake failed for another reason.
    Other,
}

impl TlsFailure {
    /// Why a handshake failed.
    pub(super) fn of(error: &io::Error) -> Self {
        let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<Error>());
        let Some(Error::InvalidCertificate(error)) = cause else { return Self::Other };
        match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::Expired,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Self::HostMismatch
            }
            _ => Self::NotTrusted,
        }
    }
}

/// The addresses at both ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// Ours.
    pub ours: IpAddr,
    /// The server's.
    pub theirs: IpAddr,
}

impl Ends {
    /// Those of a connection, where the system knows them.
    pub(super) fn of(stream: &TcpStream) -> Option<Self> {
        let (ours, theirs) = (stream.local_addr().ok()?, stream.peer_addr().ok()?);
        Some(Self { ours: ours.ip(), theirs: theirs.ip() })
    }
}

/// What is remembered of how a connection was opened.
#[derive(Debug, Clone, Default)]
pub(super) struct Opening {
    pub(super) ends: Option<Ends>,
    /// Why TLS failed, where it was tried and the connection went on without.
    pub(super) fallback: Option<(TlsFailure, String)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_apart() {
        let of = |error: Error| TlsFailure::of(&io::Error::new(io::ErrorKind::InvalidData, error));
        let certificate = |error: CertificateError| of(Error::InvalidCertificate(error));
        assert_eq!(certificate(CertificateError::Expired), TlsFailure::Expired);
        assert_eq!(certificate(CertificateError::NotValidForName), TlsFailure::HostMismatch);
        assert_eq!(certificate(CertificateError::UnknownIssuer), TlsFailure::NotTrusted);
        assert_eq!(certificate(CertificateError::Revoked), TlsFailure::NotTrusted);
        assert_eq!(certificate(CertificateError::BadEncoding), TlsFailure::NotTrusted);
        assert_eq!(of(Error::HandshakeNotComplete), TlsFailure::Other);
        assert_eq!(TlsFailure::of(&io::Error::other("reset")), TlsFailure::Other);
    }
}

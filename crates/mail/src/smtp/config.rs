//! The configuration of a connection: the server, the credentials, the limits.

use std::fmt;
use std::time::Duration;

use mailwright_tls::{ClientTls, Dane};
use rustls::pki_types::CertificateDer;

/// How the connection is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Security {
    /// STARTTLS when the server offers it (opportunistic, RFC 7435); plain text otherwise, also when the handshake
    /// fails. Certificates are not checked, since an attacker could as well hide the offer. With credentials this is
    /// stricter: the certificate is checked, and nothing is sent without TLS.
    Opportunistic,
    /// STARTTLS or nothing; the certificate is checked.
    StartTls,
    /// TLS from the first byte (RFC 8314, usually port 465); the certificate is checked.
    ImplicitTls,
    /// Never TLS, credentials in plain text included: for a relay on the same machine or network.
    None,
}

/// A name and a password for AUTH. `Debug` shows neither.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The name to log in with.
    pub username: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("username", &"***").field("password", &"***").finish()
    }
}

/// How long each step may take. The limits of RFC 5321 section 4.5.3.2 are those for `block` (3 min) and `data_end`
/// (10 min); for `command` it recommends 5 min.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Resolving the name and connecting, the reply to STARTTLS, and the TLS handshake; each. Default 30 s.
    pub connect: Duration,
    /// The greeting, and the reply to EHLO; each. Default 60 s.
    pub opening: Duration,
    /// The reply to each other command. Default 60 s.
    pub command: Duration,
    /// Writing 64 KiB of content. Default 3 min.
    pub block: Duration,
    /// The reply to the end of the content: giving up here makes the message in doubt. Default 10 min.
    pub data_end: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            opening: Duration::from_mins(1),
            command: Duration::from_mins(1),
            block: Duration::from_mins(3),
            data_end: Duration::from_mins(10),
        }
    }
}

/// A server that takes messages, and how to talk to it.
///
/// Clones share what was read from the system for TLS, so make one per configuration and clone it per destination.
#[derive(Debug, Clone)]
pub struct RelayConfig {
    /// A host name or an IP address, IPv6 without brackets. The certificate has to be valid for it.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// How the connection is protected.
    pub security: Security,
    /// The credentials for AUTH; without them there is no AUTH.
    pub credentials: Option<Credentials>,
    /// Our name in EHLO; when empty, the address literal of our end of the connection (RFC 5321 section 4.1.4).
    pub helo_name: String,
    /// Accept any certificate: for tests and for relays whose certificate cannot be fixed.
    pub accept_invalid_certs: bool,
    /// Send content by BDAT where the server offers CHUNKING (RFC 3030).
    pub chunking: bool,
    /// Check the certificate by what DNS says of it, and by nothing else: neither by the roots of the system, nor not at
    /// all. It is for one connection, with `security` being [`Security::StartTls`].
    pub dane: Option<Dane>,
    /// The limits.
    pub timeouts: Timeouts,
    pub(super) tls: ClientTls,
}

impl RelayConfig {
    /// A server without credentials, with the default limits, and with CHUNKING where it is offered.
    pub fn new(host: impl Into<String>, port: u16, security: Security) -> Self {
        Self {
            host: host.into(),
            port,
            security,
            credentials: None,
            helo_name: String::new(),
            accept_invalid_certs: false,
            chunking: true,
            dane: None,
            timeouts: Timeouts::default(),
            tls: ClientTls::default(),
        }
    }

    /// Host and port, as people write them.
    pub fn name(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// The same server, trusted also when its certificate was issued by one of `roots`, next to those of the system.
    #[must_use]
    pub fn with_extra_roots(self, roots: Vec<CertificateDer<'static>>) -> Self {
        Self { tls: ClientTls::with_extra_roots(roots), ..self }
    }
}

/// What is wrong with the URL of a relay. Never holds the password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Another scheme, or none.
    #[error("the URL of a relay begins with smtp:// or smtps://")]
    Scheme,
    /// No host, or one with characters that a host cannot have.
    #[error("the URL of a relay needs a host, such as smtp://relay.example.com")]
    Host,
    /// The port is not a number from 1 to 65535.
    #[error("the port {0:?} in the URL of a relay is not a number from 1 to 65535")]
    Port(String),
    /// A name without a password or the reverse.
    #[error("the URL of a relay needs both name and password: smtp://name:password@host")]
    Credentials,
    /// A `%` that two hexadecimal digits do not follow, or bytes that are not UTF-8.
    #[error("the {0} in the URL of a relay is not percent-encoded correctly")]
    Encoding(&'static str),
    /// A parameter that is not known.
    #[error("the URL of a relay has the unknown parameter {0:?}; known are tls, helo, insecure and chunking")]
    Parameter(String),
    /// A value that the parameter cannot have.
    #[error("the parameter {name} in the URL of a relay is {expected}")]
    Value {
        /// The parameter.
        name: &'static str,
        /// Allowed values.
        expected: &'static str,
    },
    /// Something after the host, as in `smtp://host/path`.
    #[error("the URL of a relay has no path")]
    Path,
}

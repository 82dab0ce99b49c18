//! AUTH PLAIN and LOGIN (RFC 4954, RFC 4616).

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::config::Credentials;
use super::reply::Reply;
use super::wire::{Wire, WireError};

/// The mechanisms that a server offers, of those that we know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mechanisms {
    pub(super) plain: bool,
    pub(super) login: bool,
}

impl Mechanisms {
    /// Reads what follows `AUTH` in a line of EHLO.
    pub(super) fn parse(text: &str) -> Self {
        let offers =
            |name: &str| text.split_ascii_whitespace().any(|offered| offered.eq_ignore_ascii_case(name));
        Self { plain: offers("PLAIN"), login: offers("LOGIN") }
    }

    pub(super) fn any(self) -> bool {
        self.plain || self.login
    }
}

/// Logs in; the reply says whether that succeeded (235). PLAIN is preferred, for it takes one round trip.
pub(super) async fn authenticate(
    wire: &mut Wire,
    mechanisms: Mechanisms,
    credentials: &Credentials,
    limit: Duration,
) -> Result<Reply, WireError> {
    let Credentials { username, password } = credentials;
    let plain = BASE64.encode(format!("\0{username}\0{password}"));
    let (command, answers) = if mechanisms.plain {
        // Some servers ask for the response although it came with the command.
        (format!("AUTH PLAIN {plain}"), vec![plain])
    } else {
        ("AUTH LOGIN".to_owned(), vec![BASE64.encode(username), BASE64.encode(password)])
    };
    let mut reply = exchange(wire, &command, limit).await?;
    for answer in answers {
        if reply.code != 334 {
            break;
        }
        reply = exchange(wire, &answer, limit).await?;
    }
    Ok(reply)
}

async fn exchange(wire: &mut Wire, line: &str, limit: Duration) -> Result<Reply, WireError> {
    wire.write(format!("{line}\r\n").as_bytes(), limit).await?;
    Ok(wire.reply(limit).await?.into())
}

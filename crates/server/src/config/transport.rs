//! Where mail goes: the setting `transport`.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use mailwright_app::{DirectConfig, Transport};
use mailwright_mail::smtp::{RelayConfig, Security};

use super::Config;

/// The port on which mail servers take mail for their domains (RFC 5321 section 4.5.4.2).
const SMTP: u16 = 25;

impl Config {
    pub(crate) fn transport(&self) -> Result<Transport> {
        let url = self.transport.0.as_str();
        if url == "capture" {
            return Ok(Transport::Capture);
        }
        if let Some(rest) = url.strip_prefix("direct") {
            return Ok(Transport::Direct(Box::new(self.direct(rest)?)));
        }
        if !url.starts_with("smtp://") && !url.starts_with("smtps://") {
            bail!("MAILWRIGHT_TRANSPORT must be capture, direct, smtp://host:port or smtps://host:port");
        }
        let relay = RelayConfig::from_url(url).map_err(|e| anyhow!("MAILWRIGHT_TRANSPORT: {e}"))?;
        Ok(Transport::Smtp(Box::new(self.with_limits(relay))))
    }

    /// Whether mail leaves the machine.
    pub(crate) fn mail_leaves(&self) -> bool {
        !matches!(self.transport(), Ok(Transport::Capture) | Err(_))
    }

    /// The limits that hold for every connection, and our name where none is given.
    fn with_limits(&self, mut relay: RelayConfig) -> RelayConfig {
        relay.timeouts.command = Duration::from_millis(self.delivery.reply_timeout_ms);
        relay.timeouts.data_end = Duration::from_millis(self.delivery.final_reply_timeout_ms);
        if relay.helo_name.is_empty() {
            relay.helo_name = self.host_name().unwrap_or_default();
        }
        relay
    }

    /// Reads what follows `direct`: nothing, or `:?helo=mail.example.com&from=192.0.2.1&port=25`.
    fn direct(&self, rest: &str) -> Result<DirectConfig> {
        let mut config =
            DirectConfig { connection: RelayConfig::new("", SMTP, Security::Opportunistic), source: None };
        let query = match rest {
            "" => "",
            _ => rest.strip_prefix(":?").or_else(|| rest.strip_prefix("://?")).ok_or_else(|| {
                anyhow!("MAILWRIGHT_TRANSPORT: after direct comes nothing, or :? and parameters")
            })?,
        };
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            match name {
                "helo" if is_full_name(value) => value.clone_into(&mut config.connection.helo_name),
                "helo" => bail!("MAILWRIGHT_TRANSPORT: helo is a full host name, such as mail.example.com"),
                "from" => {
                    let address: IpAddr = value.parse().map_err(|_| {
                        anyhow!("MAILWRIGHT_TRANSPORT: from is an IP address of this machine")
                    })?;
                    config.source = Some(address);
                }
                "port" => {
                    let port = value.parse().ok().filter(|port| *port != 0);
                    config.connection.port = port
                        .ok_or_else(|| anyhow!("MAILWRIGHT_TRANSPORT: port is a number from 1 to 65535"))?;
                }
                _ => bail!(
                    "MAILWRIGHT_TRANSPORT: direct has the unknown parameter {name:?}; known are helo, from and port"
                ),
            }
        }
        config.connection = self.with_limits(config.connection);
        if config.connection.helo_name.is_empty() {
            bail!(
                "MAILWRIGHT_TRANSPORT: mail servers want to know who calls; set MAILWRIGHT_BASE_URL to a host name, or \
                 add :?helo=mail.example.com after direct"
            );
        }
        Ok(config)
    }
}

fn is_full_name(text: &str) -> bool {
    (3..=253).contains(&text.len())
        && text.contains('.')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
        && text.parse::<IpAddr>().is_err()
}

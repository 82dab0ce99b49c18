//! Where mail goes: the setting `transport`, or the lists `transports` and `routes`.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use mailwright_app::{ConfiguredRoute, DirectConfig, NamedTransport, Transport, Transports};
use mailwright_core::email::Lane;
use mailwright_core::routing::{DomainPattern, TransportNumber};
use mailwright_mail::ses::config::SesConfig;
use mailwright_mail::smtp::{RelayConfig, Security};
use serde::Deserialize;

use super::Config;
use super::sections::Hidden;

/// The port on which mail servers take mail for their domains (RFC 5321 section 4.5.4.2).
const SMTP: u16 = 25;

/// How long a recipient's own server may take to greet. A longer wait would be right for one's own relay; of strangers, each
/// that says nothing takes a connection from the others.
const DIRECT_OPENING: Duration = Duration::from_mins(1);

/// Most transports.
const MOST_TRANSPORTS: usize = 50;
/// Most routes.
const MOST_ROUTES: usize = 500;
/// The longest name of a transport.
const MAX_NAME: usize = 32;

/// A transport, as it stands in the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TransportEntry {
    name: String,
    url: Hidden,
}

/// A route, as it stands in the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RouteEntry {
    #[serde(default)]
    projects: Vec<String>,
    #[serde(default)]
    lanes: Vec<String>,
    #[serde(default)]
    sender_domains: Vec<String>,
    #[serde(default)]
    recipient_domains: Vec<String>,
    share: Option<u8>,
    via: Vec<String>,
}

impl Config {
    /// The transports and routes: those of the file or, where it has none, the one of `transport`.
    pub(crate) fn transports(&self) -> Result<Transports> {
        if self.transports.is_empty() {
            if !self.routes.is_empty() {
                bail!("routes: there are no transports that they could name; add [[transports]]");
            }
            let transport =
                self.read_transport(&self.transport.0).map_err(|e| anyhow!("MAILWRIGHT_TRANSPORT {e}"))?;
            return Ok(Transports::one(transport));
        }
        if self.transport.0 != "capture" {
            bail!("MAILWRIGHT_TRANSPORT and [[transports]] say both where mail goes; leave one of them out");
        }
        if self.transports.len() > MOST_TRANSPORTS || self.routes.len() > MOST_ROUTES {
            bail!("there can be {MOST_TRANSPORTS} transports and {MOST_ROUTES} routes, no more");
        }
        let mut all: Vec<NamedTransport> = Vec::new();
        for TransportEntry { name, url } in &self.transports {
            if !is_name(name) {
                bail!(
                    "transports: {name:?} is no name; it has up to {MAX_NAME} lower-case letters, digits, - and _"
                );
            }
            if all.iter().any(|known| known.name == *name) {
                bail!("transports: there are two with the name {name}");
            }
            let transport =
                self.read_transport(&url.0).map_err(|e| anyhow!("transports: the url of {name} {e}"))?;
            all.push(NamedTransport { name: name.clone(), transport });
        }
        let routes = self.routes.iter().enumerate();
        let routes = routes.map(|(place, route)| {
            route.read(&all).map_err(|e| anyhow!("routes: the {}. one: {e}", place + 1))
        });
        Ok(Transports { routes: routes.collect::<Result<_>>()?, all })
    }

    /// Reads the URL of a transport. The error follows the name of the setting.
    fn read_transport(&self, url: &str) -> Result<Transport> {
        if url == "capture" {
            return Ok(Transport::Capture);
        }
        if let Some(rest) = url.strip_prefix("direct") {
            return Ok(Transport::Direct(Box::new(self.direct(rest)?)));
        }
        if url.starts_with("ses://") {
            let config = SesConfig::from_url(url).map_err(|e| anyhow!("cannot be read: {e}"))?;
            return Ok(Transport::Ses(Box::new(config)));
        }
        if !url.starts_with("smtp://") && !url.starts_with("smtps://") {
            bail!("must be capture, direct, ses://key:secret@region, smtp://host:port or smtps://host:port");
        }
        let relay = RelayConfig::from_url(url).map_err(|e| anyhow!("cannot be read: {e}"))?;
        Ok(Transport::Smtp(Box::new(self.with_limits(relay))))
    }

    /// What the URL of a transport stands in, for messages.
    pub(crate) fn url_of(&self, transport: &str) -> String {
        if self.transports.is_empty() {
            "MAILWRIGHT_TRANSPORT".to_owned()
        } else {
            format!("the url of transport {transport}")
        }
    }

    /// Whether mail leaves the machine.
    pub(crate) fn mail_leaves(&self) -> bool {
        self.transports().is_ok_and(|transports| transports.leave())
    }

    /// The limits that hold for every connection, and our name where none is given.
    fn with_limits(&self, mut relay: RelayConfig) -> RelayConfig {
        relay.timeouts.command = Duration::from_millis(self.delivery.reply_timeout_ms);
        relay.timeouts.opening = relay.timeouts.command;
        relay.timeouts.data_end = Duration::from_millis(self.delivery.final_reply_timeout_ms);
        if relay.helo_name.is_empty() {
            relay.helo_name = self.host_name().unwrap_or_default();
        }
        relay
    }

    /// Reads what follows `direct`: nothing, or `:?helo=mail.example.com&from=192.0.2.1&port=25`.
    fn direct(&self, rest: &str) -> Result<DirectConfig> {
        let mut config = DirectConfig {
            connection: RelayConfig::new("", SMTP, Security::Opportunistic),
            source: None,
            requires_tls: false,
            warms_up: false,
        };
        let query = match rest {
            "" => "",
            _ => rest
                .strip_prefix(":?")
                .or_else(|| rest.strip_prefix("://?"))
                .ok_or_else(|| anyhow!("cannot be read: after direct comes nothing, or :? and parameters"))?,
        };
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            match name {
                "helo" if is_full_name(value) => value.clone_into(&mut config.connection.helo_name),
                "helo" => bail!("cannot be used: helo is a full host name, such as mail.example.com"),
                "from" => {
                    let address: IpAddr = value
                        .parse()
                        .map_err(|_| anyhow!("cannot be used: from is an IP address of this machine"))?;
                    config.source = Some(address);
                }
                "port" => {
                    let port = value.parse().ok().filter(|port| *port != 0);
                    config.connection.port =
                        port.ok_or_else(|| anyhow!("cannot be used: port is a number from 1 to 65535"))?;
                }
                "tls" => {
                    config.requires_tls = match value {
                        "required" => true,
                        "opportunistic" => false,
                        _ => bail!("cannot be used: tls is required or opportunistic"),
                    }
                }
                "chunking" => {
                    config.connection.chunking = match value {
                        "yes" => true,
                        "no" => false,
                        _ => bail!("cannot be used: chunking is yes or no"),
                    }
                }
                "warmup" => {
                    config.warms_up = match value {
                        "yes" => true,
                        "no" => false,
                        _ => bail!("cannot be used: warmup is yes or no"),
                    }
                }
                _ => bail!(
                    "cannot be used: direct has the unknown parameter {name:?}; known are helo, from, tls, \
                     warmup, chunking and port"
                ),
            }
        }
        if config.warms_up && config.source.is_none() {
            bail!("cannot be used: warmup=yes needs from, the address that warms up");
        }
        config.connection = self.with_limits(config.connection);
        let opening = &mut config.connection.timeouts.opening;
        *opening = DIRECT_OPENING.min(*opening);
        if config.connection.helo_name.is_empty() {
            bail!(
                "needs a name: mail servers want to know who calls; set MAILWRIGHT_BASE_URL to a host name, or add \
                 :?helo=mail.example.com after direct"
            );
        }
        Ok(config)
    }
}

impl RouteEntry {
    fn read(&self, transports: &[NamedTransport]) -> Result<ConfiguredRoute> {
        let number = |name: &String| {
            let place = transports.iter().position(|known| known.name == *name);
            let place = place.and_then(|place| u16::try_from(place).ok());
            place
                .map(TransportNumber)
                .ok_or_else(|| anyhow!("via names {name:?}, and there is no such transport"))
        };
        let domain = |text: &String| {
            DomainPattern::parse(text).ok_or_else(|| {
                anyhow!("{text:?} is no domain; write example.com, or *.example.com for those below it")
            })
        };
        let lane = |text: &String| {
            Lane::from_name(text)
                .ok_or_else(|| anyhow!("{text:?} is no lane; lanes are transactional, workflow and campaign"))
        };
        let project =
            |text: &String| text.parse().map_err(|_| anyhow!("{text:?} is not the id of a project"));
        if self.via.is_empty() {
            bail!("via names no transport");
        }
        if self.share.is_some_and(|share| share > 100) {
            bail!("share is a percentage, 100 at most");
        }
        Ok(ConfiguredRoute {
            projects: self.projects.iter().map(project).collect::<Result<_>>()?,
            lanes: self.lanes.iter().map(lane).collect::<Result<_>>()?,
            sender_domains: self.sender_domains.iter().map(domain).collect::<Result<_>>()?,
            recipient_domains: self.recipient_domains.iter().map(domain).collect::<Result<_>>()?,
            share: self.share,
            via: self.via.iter().map(number).collect::<Result<_>>()?,
        })
    }
}

fn is_name(text: &str) -> bool {
    let is_of_a_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(is_of_a_name)
}

fn is_full_name(text: &str) -> bool {
    (3..=253).contains(&text.len())
        && text.contains('.')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
        && text.parse::<IpAddr>().is_err()
}

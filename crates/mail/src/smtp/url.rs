//! The URL of a relay.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::config::{ConfigError, Credentials, RelayConfig, Security};

impl RelayConfig {
    /// Reads `smtp://user:password@host:587?tls=required&helo=mail.example.com` and the like.
    ///
    /// `smtps` is implicit TLS on port 465. `smtp` is port 587 and takes `tls=required` (the default with
    /// credentials), `opportunistic` (the default without) or `none`. Both take `helo=<name>`, `insecure=true`, which
    /// accepts any certificate, and `chunking=no`, by which content goes by DATA alone. Name and password are
    /// percent-encoded; IPv6 addresses stand in brackets.
    pub fn from_url(url: &str) -> Result<Self, ConfigError> {
        parse(url)
    }
}

fn parse(url: &str) -> Result<RelayConfig, ConfigError> {
    let (scheme, rest) = url.trim().split_once("://").ok_or(ConfigError::Scheme)?;
    let implicit = match scheme.to_ascii_lowercase().as_str() {
        "smtp" => false,
        "smtps" => true,
        _ => return Err(ConfigError::Scheme),
    };
    // The last `@`, before anything else is looked for: names and passwords are often pasted as they are, and no part
    // of them may end up in an error.
    let (credentials, rest) = match rest.rsplit_once('@') {
        Some((user, rest)) => (Some(parse_credentials(user)?), rest),
        None => (None, rest),
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let server = match rest.split_once('/') {
        Some((_, path)) if !path.is_empty() => return Err(ConfigError::Path),
        Some((server, _)) => server,
        None => rest,
    };
    let (host, port) = parse_server(server)?;
    let security = match (implicit, &credentials) {
        (true, _) => Security::ImplicitTls,
        (false, Some(_)) => Security::StartTls,
        (false, None) => Security::Opportunistic,
    };
    let mut config = RelayConfig::new(host, port.unwrap_or(if implicit { 465 } else { 587 }), security);
    config.credentials = credentials;
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        apply(&mut config, name, &decode(value, "query")?)?;
    }
    Ok(config)
}

fn apply(config: &mut RelayConfig, name: &str, value: &str) -> Result<(), ConfigError> {
    let invalid = |name, expected| Err(ConfigError::Value { name, expected });
    match name {
        "tls" if config.security == Security::ImplicitTls => return invalid("tls", "for smtp:// only"),
        "tls" => {
            config.security = match value {
                "required" => Security::StartTls,
                "opportunistic" => Security::Opportunistic,
                "none" => Security::None,
                _ => return invalid("tls", "one of required, opportunistic and none"),
            }
        }
        "helo" if is_host(value) => value.clone_into(&mut config.helo_name),
        "helo" => return invalid("helo", "a host name"),
        "insecure" => {
            config.accept_invalid_certs = match value {
                "true" => true,
                "false" => false,
                _ => return invalid("insecure", "true or false"),
            }
        }
        "chunking" => {
            config.chunking = match value {
                "yes" => true,
                "no" => false,
                _ => return invalid("chunking", "yes or no"),
            }
        }
        _ => return Err(ConfigError::Parameter(name.to_owned())),
    }
    Ok(())
}

fn parse_credentials(text: &str) -> Result<Credentials, ConfigError> {
    let (username, password) = text.split_once(':').ok_or(ConfigError::Credentials)?;
    let (username, password) = (decode(username, "name")?, decode(password, "password")?);
    // NUL separates the two in AUTH PLAIN (RFC 4616 section 2).
    if username.is_empty() || password.is_empty() || username.contains('\0') || password.contains('\0') {
        return Err(ConfigError::Credentials);
    }
    Ok(Credentials { username, password })
}

fn parse_server(text: &str) -> Result<(String, Option<u16>), ConfigError> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (address, rest) = rest.split_once(']').ok_or(ConfigError::Host)?;
        address.parse::<std::net::Ipv6Addr>().map_err(|_| ConfigError::Host)?;
        let port = match rest.strip_prefix(':') {
            None if !rest.is_empty() => return Err(ConfigError::Host),
            port => port,
        };
        (address, port)
    } else {
        let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
        if !is_host(host) {
            return Err(ConfigError::Host);
        }
        (host, port)
    };
    let port = match port {
        None => None,
        Some(text) => {
            let is_number = text.bytes().all(|b| b.is_ascii_digit());
            let port = text.parse().ok().filter(|port| is_number && *port != 0);
            Some(port.ok_or_else(|| ConfigError::Port(text.to_owned()))?)
        }
    };
    Ok((host.to_ascii_lowercase(), port))
}

/// Letters, digits, `-`, `.` and `_`; an address literal is refused, for it is what an empty name stands for.
fn is_host(text: &str) -> bool {
    (1..=253).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
}

fn decode(text: &str, what: &'static str) -> Result<String, ConfigError> {
    // the decoder leaves what is not encoded correctly as it is
    let is_code = |(at, _)| {
        let digits = text.as_bytes().get(at + 1..at + 3);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let decoded = percent_decode_str(text).decode_utf8().ok();
    let decoded = decoded.filter(|_| text.match_indices('%').all(is_code));
    decoded.map(Cow::into_owned).ok_or(ConfigError::Encoding(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(username: &str, password: &str) -> Credentials {
        Credentials { username: username.into(), password: password.into() }
    }

    #[test]
    fn urls_are_read() {
        for (url, host, port, security, credentials) in [
            ("smtp://relay.example.com", "relay.example.com", 587, Security::Opportunistic, None),
            ("smtp://localhost:1025/", "localhost", 1025, Security::Opportunistic, None),
            ("SMTPS://Relay.Example.com", "relay.example.com", 465, Security::ImplicitTls, None),
            ("smtp://u:p@h", "h", 587, Security::StartTls, Some(login("u", "p"))),
            ("smtp://u:p@h?tls=opportunistic", "h", 587, Security::Opportunistic, Some(login("u", "p"))),
            ("smtp://h:25?tls=none", "h", 25, Security::None, None),
            ("smtp://h?tls=required", "h", 587, Security::StartTls, None),
            ("smtps://u:p@h:2465", "h", 2465, Security::ImplicitTls, Some(login("u", "p"))),
            (
                "smtp://a%40b:p%3A%2F%3f%25%C3%BC@h",
                "h",
                587,
                Security::StartTls,
                Some(login("a@b", "p:/?%\u{fc}")),
            ),
            ("smtp://a@b.c:p:q@h", "h", 587, Security::StartTls, Some(login("a@b.c", "p:q"))),
            ("smtp://u:p/?#@q@h:25", "h", 25, Security::StartTls, Some(login("u", "p/?#@q"))),
            ("smtp://[2001:db8::1]:2525", "2001:db8::1", 2525, Security::Opportunistic, None),
            ("smtp://[::1]", "::1", 587, Security::Opportunistic, None),
            ("smtp://192.0.2.1:25", "192.0.2.1", 25, Security::Opportunistic, None),
        ] {
            let config = RelayConfig::from_url(url).unwrap();
            assert_eq!((config.host.as_str(), config.port, config.security), (host, port, security), "{url}");
            assert_eq!(config.credentials, credentials, "{url}");
            assert!(!config.accept_invalid_certs && config.helo_name.is_empty() && config.chunking);
        }
        let config =
            RelayConfig::from_url("smtps://h?helo=mail.example.com&insecure=true&chunking=no").unwrap();
        assert!(config.accept_invalid_certs && !config.chunking);
        assert_eq!(config.helo_name, "mail.example.com");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let value = |name, expected| ConfigError::Value { name, expected };
        for (url, error) in [
            ("", ConfigError::Scheme),
            ("relay.example.com:25", ConfigError::Scheme),
            ("http://h", ConfigError::Scheme),
            ("smtp://", ConfigError::Host),
            ("smtp://:25", ConfigError::Host),
            ("smtp://u:p@", ConfigError::Host),
            ("smtp://h h", ConfigError::Host),
            ("smtp://[::1", ConfigError::Host),
            ("smtp://[h]", ConfigError::Host),
            ("smtp://[::1]25", ConfigError::Host),
            ("smtp://h:0", ConfigError::Port("0".into())),
            ("smtp://h:+25", ConfigError::Port("+25".into())),
            ("smtp://h:", ConfigError::Port(String::new())),
            ("smtp://h:65536", ConfigError::Port("65536".into())),
            ("smtp://u@h", ConfigError::Credentials),
            ("smtp://u:@h", ConfigError::Credentials),
            ("smtp://:p@h", ConfigError::Credentials),
            ("smtp://u:%00@h", ConfigError::Credentials),
            ("smtp://u:%4@h", ConfigError::Encoding("password")),
            ("smtp://%zz:p@h", ConfigError::Encoding("name")),
            ("smtp://u:%ff@h", ConfigError::Encoding("password")),
            ("smtp://h/inbox", ConfigError::Path),
            ("smtp://h?tsl=none", ConfigError::Parameter("tsl".into())),
            ("smtp://h?tls=yes", value("tls", "one of required, opportunistic and none")),
            ("smtps://h?tls=none", value("tls", "for smtp:// only")),
            ("smtp://h?helo=a%0d%0ab", value("helo", "a host name")),
            ("smtp://h?insecure=1", value("insecure", "true or false")),
            ("smtp://h?chunking=false", value("chunking", "yes or no")),
        ] {
            assert_eq!(RelayConfig::from_url(url).map(|_| ()).unwrap_err(), error, "{url}");
        }
    }

    #[test]
    fn debug_does_not_show_credentials() {
        let shown = format!("{:?}", RelayConfig::from_url("smtp://someone:hunter2@h").unwrap());
        assert!(!shown.contains("hunter2") && !shown.contains("someone"), "{shown}");
        assert!(shown.contains("***"));
    }
}

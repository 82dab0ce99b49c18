use mailwright_app::Transport;
use mailwright_core::email::Lane;
use mailwright_core::routing::TransportNumber;
use toml::{Table, Value};

use super::layers::DEFAULTS;
use super::ranges::RANGES;
use super::*;

fn load(variables: &[(&str, &str)]) -> Result<Config> {
    Config::load(None, variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())))
}

/// The one transport.
fn one(config: &Config) -> Result<Transport> {
    let mut all = config.transports()?.all;
    assert_eq!(all.len(), 1);
    Ok(all.remove(0).transport)
}

/// Reads a file.
fn load_file(text: &str) -> Result<Config> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, text).unwrap();
    Config::load(Some(&file.path().to_owned()), std::iter::empty())
}

#[test]
fn variables_reach_their_settings() {
    let config = load(&[
        ("MAILWRIGHT_LISTEN", "0.0.0.0:1"),
        ("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "50"),
        ("MAILWRIGHT_TEST_POSTGRES", "ignored"),
        ("PATH", "ignored"),
    ])
    .unwrap();
    assert_eq!(config.listen, "0.0.0.0:1");
    assert_eq!(config.settings().unwrap().delivery.retry_base, Duration::from_millis(50));
}

#[test]
fn wrong_names_and_values_are_told() {
    for (variable, value, told) in [
        ("MAILWRIGHT_LISTENN", "x", "MAILWRIGHT_LISTENN is not a setting"),
        ("MAILWRIGHT_DELIVERY_CONNECTIONS", "many", "must be a whole number"),
    ] {
        let error = load(&[(variable, value)]).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    assert!(load(&[("MAILWRIGHT_DATABASE_URL", "mysql://x")]).unwrap().location().is_err());
    assert!(load(&[("MAILWRIGHT_TRANSPORT", "pigeon")]).unwrap().transports().is_err());
}

/// Every setting of the defaults with its section, such as `http.idle_seconds`, and its value.
fn every_setting() -> Vec<(String, Value)> {
    let defaults: Table = DEFAULTS.parse().unwrap();
    let named = |(name, value): (String, Value)| match value {
        // lists stand in a file alone, and have a page of their own
        Value::Array(_) => Vec::new(),
        Value::Table(section) => section.into_iter().map(|(n, v)| (format!("{name}.{n}"), v)).collect(),
        value => vec![(name, value)],
    };
    defaults.into_iter().flat_map(named).collect()
}

/// The rows of the tables of settings in docs/configuration.md: the setting with its section, its variable, its
/// default.
fn every_documented_setting() -> Vec<(String, &'static str, &'static str)> {
    let (mut rows, mut section) = (Vec::new(), String::new());
    for line in include_str!("../../../../docs/configuration.md").lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let name = heading.strip_prefix("`[").and_then(|heading| heading.strip_suffix("]`"));
            section = name.map(|name| format!("{name}.")).unwrap_or_default();
        }
        let cells: Vec<_> = line.split(" | ").collect();
        if let [name, variable, default, _meaning, ..] = cells[..]
            && let Some(name) = name.strip_prefix("| `").and_then(|name| name.strip_suffix('`'))
        {
            rows.push((format!("{section}{name}"), variable, default));
        }
    }
    rows
}

#[test]
fn the_document_has_every_setting_with_its_default() {
    let mut documented = every_documented_setting();
    for (name, default) in every_setting() {
        let row = documented.iter().position(|(documented, ..)| *documented == name);
        let Some(row) = row else { panic!("docs/configuration.md has no row for {name}") };
        let (_, variable, told) = documented.swap_remove(row);
        assert_eq!(variable, format!("`MAILWRIGHT_{}`", name.replace('.', "_").to_uppercase()));
        let default = match default {
            Value::String(text) => text,
            Value::Integer(number) => number.to_string(),
            Value::Boolean(is_on) => is_on.to_string(),
            other => panic!("{name} is {other:?}"),
        };
        // an empty text means "not set", which the document says in words
        let agrees =
            if default.is_empty() { told.contains(' ') } else { told.starts_with(&format!("`{default}`")) };
        assert!(agrees, "{name} is {default:?} by default, and docs/configuration.md says {told}");
    }
    assert!(documented.is_empty(), "docs/configuration.md has rows for no setting, or two: {documented:?}");
}

#[test]
fn every_number_has_a_range_and_is_refused_beyond_it() {
    let mut numbers = 0;
    for (name, setting) in every_setting() {
        if setting.is_integer() {
            numbers += 1;
            assert!(RANGES.iter().any(|(known, ..)| *known == name), "{name} has no range");
        }
    }
    assert_eq!(numbers, RANGES.len(), "a range is for no setting, or twice there");
    for (name, least, most) in RANGES {
        let variable = format!("MAILWRIGHT_{}", name.replace('.', "_").to_uppercase());
        for (number, fits) in [(least, true), (most, true), (least - 1, false), (most + 1, false)] {
            let loaded = load(&[(&variable, &number.to_string())]);
            assert_eq!(loaded.is_ok(), fits, "{variable}={number}");
            let Err(error) = loaded else { continue };
            assert!(
                error.to_string().contains(&format!("{variable}) must be from {least} to {most}")),
                "{error}"
            );
        }
    }
}

#[test]
fn addresses_are_looked_at_before_they_are_used() {
    for (listen, fits) in [
        ("127.0.0.1:8080", true),
        ("0.0.0.0:0", true),
        ("[::]:8080", true),
        ("localhost:8080", true),
        ("8080", false),
        (":8080", false),
        ("127.0.0.1", false),
        ("127.0.0.1:http", false),
        ("127.0.0.1:80800", false),
    ] {
        let config = load(&[("MAILWRIGHT_LISTEN", listen)]).unwrap();
        assert_eq!(config.check_listen().is_ok(), fits, "{listen}");
    }
    for (base_url, fits) in [
        ("https://mail.example.com", true),
        ("http://[::1]:8080/sub/", true),
        ("mail.example.com", false),
        ("https://", false),
        ("http://:8080", false),
        ("https://mail example.com", false),
        ("https://mail.example.com?page=1", false),
        ("https://mail.example.com/#top", false),
        ("https://mail.example.com:8443/sub", true),
        ("https://xn--mnchen-3ya.de", true),
        ("https://münchen.de", false),
        ("https://mail.example.com>", false),
        ("https://mail.example.com/<", false),
        ("https://mail\"x", false),
        ("https://mail.example.com:99999", false),
        ("https:mail.example.com", false),
        ("https://you:hunter2@mail.example.com", false),
        ("you:hunter2@mail.example.com", false),
    ] {
        let config = load(&[("MAILWRIGHT_BASE_URL", base_url)]).unwrap();
        let checked = config.base_url();
        assert_eq!(checked.is_ok(), fits, "{base_url}");
        let error = checked.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(!error.contains("hunter2"), "{error}");
    }
    let error = load(&[("MAILWRIGHT_BASE_URL", "https://münchen.de")]).unwrap().base_url().unwrap_err();
    assert!(error.to_string().contains("https://xn--mnchen-3ya.de"), "{error}");
}

#[test]
fn terms_of_spf_are_checked() {
    for (terms, fits) in [
        ("", true),
        ("include:spf.example.net", true),
        (" ip4:192.0.2.0/24  ip6:2001:db8::/32 mx a:mail.example.net/24 ", true),
        ("v=spf1 include:spf.example.net ~all", false),
        ("include:spf.example.net -ALL", false),
        ("include:spf.example.net; mx", false),
        ("spf.example.net", false),
        ("include:spf.bücher.example", false),
    ] {
        let settings = load(&[("MAILWRIGHT_DOMAINS_SPF", terms)]).unwrap().settings();
        assert_eq!(settings.is_ok(), fits, "{terms}");
    }
}

#[test]
fn where_a_spam_filter_is_asked_has_a_port() {
    for (address, fits) in [
        ("", true),
        ("[::1]:783", true),
        ("spamd.example.com:783", true),
        ("127.0.0.1", false),
        (":783", false),
        ("spamd.example.com:spamd", false),
        ("tcp://spamd.example.com:783", false),
    ] {
        let settings = load(&[("MAILWRIGHT_CHECK_SPAMD", address)]).unwrap().settings();
        assert_eq!(settings.is_ok(), fits, "{address}");
    }
    let settings = load(&[("MAILWRIGHT_CHECK_SPAMD", " 127.0.0.1:783 ")]).unwrap().settings().unwrap();
    assert_eq!(settings.check.spamd.as_deref(), Some("127.0.0.1:783"));
}

#[test]
fn addresses_of_providers_are_looked_at_although_none_is_offered() {
    for (variable, url) in [
        ("MAILWRIGHT_OAUTH_GITHUB_URL", "nothing"),
        ("MAILWRIGHT_OAUTH_GITHUB_API_URL", "ftp://api.example.com"),
        ("MAILWRIGHT_OAUTH_GOOGLE_TOKEN_URL", "x"),
    ] {
        let error = load(&[(variable, url)]).unwrap().check().unwrap_err().to_string();
        assert!(error.contains(&format!("{variable} must be")) && error.contains(url), "{error}");
    }
}

#[test]
fn an_empty_variable_changes_nothing() {
    let defaults: Table = DEFAULTS.parse().unwrap();
    let mut variables = Vec::new();
    for (name, setting) in &defaults {
        match setting.as_table() {
            Some(area) => variables.extend(area.keys().map(|inner| format!("{name}_{inner}"))),
            None => variables.push(name.clone()),
        }
    }
    let variables: Vec<_> =
        variables.iter().map(|name| (format!("MAILWRIGHT_{}", name.to_uppercase()), String::new())).collect();
    let config = Config::load(None, variables.into_iter()).unwrap();
    assert_eq!(format!("{config:?}"), format!("{:?}", load(&[]).unwrap()));
}

#[test]
fn a_file_is_told_what_its_settings_take() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for (text, told) in [
        ("listen = 8080", "listen must be a text in quotes"),
        ("disable_signups = \"true\"", "disable_signups must be true or false"),
        ("drain_ms = 1.5", "drain_ms must be a whole number"),
        ("delivery = 3", "delivery must be a section"),
        ("[delivery]\nconnections = \"many\"", "delivery.connections must be a whole number"),
        ("[log]\nlevel = 1", "log must be a text in quotes"),
    ] {
        std::fs::write(file.path(), text).unwrap();
        let path = file.path().to_owned();
        let error = format!("{:#}", Config::load(Some(&path), std::iter::empty()).unwrap_err());
        assert!(error.contains(told) && error.contains(path.to_str().unwrap()), "{error}");
    }
}

#[test]
fn own_mail_has_a_sender_where_the_service_has_a_name() {
    for (variables, from, required) in [
        (&[][..], None, false),
        (&[("MAILWRIGHT_BASE_URL", "http://localhost:8080")], None, false),
        (
            &[("MAILWRIGHT_BASE_URL", "https://mail.example.com:8443/sub")],
            Some("noreply@mail.example.com"),
            false,
        ),
        (&[("MAILWRIGHT_PLATFORM_FROM", "Post@Example.com")], Some("post@example.com"), true),
    ] {
        let settings = load(variables).unwrap().settings().unwrap().system_mail;
        assert_eq!(settings.from.as_ref().map(EmailAddress::as_str), from, "{variables:?}");
        assert_eq!(settings.verification_required, required, "{variables:?}");
    }
    assert!(load(&[("MAILWRIGHT_PLATFORM_FROM", "nobody")]).unwrap().settings().is_err());
}

#[test]
fn the_name_in_ehlo_is_that_of_the_service() {
    let helo = |variables: &[(&str, &str)]| {
        let smtp = [("MAILWRIGHT_TRANSPORT", "smtp://relay.example.net:25")];
        match one(&load(&[&smtp, variables].concat()).unwrap()).unwrap() {
            Transport::Smtp(relay) => relay.helo_name,
            Transport::Capture | Transport::Direct(_) | Transport::Ses(_) => panic!("it was given a server"),
        }
    };
    for (base_url, name) in [
        ("https://Mail.Example.com:8443/sub", "mail.example.com"),
        ("http://mail.example.com", "mail.example.com"),
        ("http://192.0.2.1:8080", ""),
        ("http://[2001:db8::1]:8080", ""),
        ("http://localhost:8080", ""),
    ] {
        assert_eq!(helo(&[("MAILWRIGHT_BASE_URL", base_url)]), name, "{base_url}");
    }
    let own = "smtp://relay.example.net:25?helo=out.example.org";
    let variables = [("MAILWRIGHT_TRANSPORT", own), ("MAILWRIGHT_BASE_URL", "https://mail.example.com")];
    assert_eq!(helo(&variables), "out.example.org", "what is asked for wins");
}

#[test]
fn mail_is_brought_to_the_recipients_servers_under_a_full_name() {
    let direct = |transport: &str, base_url: &str| {
        let variables = [("MAILWRIGHT_TRANSPORT", transport), ("MAILWRIGHT_BASE_URL", base_url)];
        match one(&load(&variables).unwrap())? {
            Transport::Direct(direct) => Ok(direct),
            Transport::Capture | Transport::Smtp(_) | Transport::Ses(_) => panic!("it was asked for"),
        }
    };
    let plain = direct("direct", "https://mail.example.com").unwrap();
    assert_eq!(
        (&*plain.connection.helo_name, plain.connection.port, plain.source),
        ("mail.example.com", 25, None)
    );
    let chosen = direct(
        "direct:?helo=out.example.org&from=192.0.2.1&port=2525&tls=required&chunking=no",
        "http://localhost:8080",
    )
    .unwrap();
    assert_eq!(
        (&*chosen.connection.helo_name, chosen.connection.port, chosen.source),
        ("out.example.org", 2525, Some("192.0.2.1".parse().unwrap()))
    );
    assert_eq!((plain.requires_tls, chosen.requires_tls), (false, true));
    assert_eq!((plain.connection.chunking, chosen.connection.chunking), (true, false));
    for wrong in [
        "direct",
        "direct:?helo=out",
        "direct:?from=here",
        "direct:?port=0",
        "direct:?tls=none",
        "direct:?chunking=maybe",
        "direct:?x=1",
        "directly",
    ] {
        let error: anyhow::Error = direct(wrong, "http://localhost:8080").unwrap_err();
        assert!(error.to_string().starts_with("MAILWRIGHT_TRANSPORT"), "{wrong}: {error}");
    }
}

#[test]
fn transports_and_routes_stand_in_a_file() {
    let two = "base_url = 'https://mail.example.com'\n[[transports]]\nname = 'relay'\nurl = 'smtp://u:p@h:25'\n\
               [[transports]]\nname = 'mx'\nurl = 'direct'\n";
    let route = "[[routes]]\nlanes = ['campaign']\nrecipient_domains = ['*.example.org']\nshare = 30\n\
                 via = ['mx', 'relay']\n";
    let found = load_file(&format!("{two}{route}")).unwrap().transports().unwrap();
    let names: Vec<_> = found.all.iter().map(|one| &*one.name).collect();
    assert_eq!((names, found.leave()), (vec!["relay", "mx"], true));
    assert_eq!(found.routes[0].via, [TransportNumber(1), TransportNumber(0)]);
    assert_eq!((found.routes[0].share, &found.routes[0].lanes[..]), (Some(30), &[Lane::Campaign][..]));
    assert_eq!(load_file(two).unwrap().url_of("mx"), "the url of transport mx");
    assert_eq!(load(&[]).unwrap().url_of("default"), "MAILWRIGHT_TRANSPORT");
    let relay = "[[transports]]\nname = 'relay'\nurl = 'smtp://h:25'\n";
    for (wrong, told) in [
        (format!("transport = 'smtp://h'\n{relay}"), "say both where mail goes"),
        (format!("{relay}{relay}"), "two with the name relay"),
        (relay.replace("'relay'", "'Relay'"), "\"Relay\" is no name"),
        (relay.replace("smtp:", "pigeon:"), "the url of relay must be"),
        ("[[routes]]\nvia = ['relay']\n".to_owned(), "no transports"),
        (format!("{relay}[[routes]]\nvia = []\n"), "the 1. one: via names no transport"),
        (format!("{relay}[[routes]]\nvia = ['mx']\n"), "no such transport"),
        (format!("{relay}[[routes]]\nlanes = ['fast']\nvia = ['relay']\n"), "\"fast\" is no lane"),
        (format!("{relay}[[routes]]\nprojects = ['x']\nvia = ['relay']\n"), "not the id of a project"),
        (format!("{relay}[[routes]]\nsender_domains = ['*']\nvia = ['relay']\n"), "is no domain"),
        (format!("{relay}[[routes]]\nshare = 101\nvia = ['relay']\n"), "a percentage"),
    ] {
        let error = load_file(&wrong).unwrap().transports().unwrap_err().to_string();
        assert!(error.contains(told), "{wrong}: {error}");
    }
    let pasted = load_file("transports = ['smtp://u:secret@h']").unwrap_err();
    assert!(!format!("{pasted:#}").contains("secret"), "{pasted:#}");
    assert!(load(&[("MAILWRIGHT_ROUTES", "x")]).unwrap_err().to_string().contains("stands in the file"));
}

#[test]
fn the_final_reply_is_awaited_as_long_as_the_standard_asks_for() {
    let Transport::Smtp(relay) = one(&load(&[("MAILWRIGHT_TRANSPORT", "smtp://h:25")]).unwrap()).unwrap()
    else {
        panic!("it was given a server")
    };
    let minutes = [relay.timeouts.command, relay.timeouts.block, relay.timeouts.data_end];
    assert_eq!(minutes, [5, 3, 10].map(Duration::from_mins));
}

#[test]
fn passwords_are_not_printed() {
    let config = load(&[
        ("MAILWRIGHT_TRANSPORT", "smtp://u:hunter2@h:25"),
        ("MAILWRIGHT_SECRET", "0123456789abcdefX"),
    ]);
    let text = format!("{:?}", config.unwrap());
    assert!(!text.contains("hunter2") && !text.contains("abcdefX"), "{text}");
}

//! Settings that are refused, and what the doctor says of them.

use super::process::{fail, path, succeed};

#[test]
fn a_bad_setting_is_named_before_anything_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = ("MAILWRIGHT_DATA_DIR", folder.path().to_str().expect("UTF-8"));
    let listen = ("MAILWRIGHT_LISTEN", "127.0.0.1:0");
    for (setting, expected) in [
        (("MAILWRIGHT_TRANSPORT", "pigeon"), "transport"),
        (("MAILWRIGHT_TRANSPORT", "smtp://"), "transport"),
        (("MAILWRIGHT_TRANSPORT", "smtp://127.0.0.1:25?tls=perhaps"), "transport"),
        (("MAILWRIGHT_DATABASE_URL", "mysql://127.0.0.1/mail"), "database"),
        (("MAILWRIGHT_LISTEN", "nowhere"), "listen"),
        (("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "many"), "rate_limit"),
        (("MAILWRIGHT_DELIVERY_CONNECTIONS", "-1"), "connections"),
        (("MAILWRIGHT_DNS_SERVER", "not an address"), "dns"),
        (("MAILWRIGHT_DOMAINS_MTA_STS", "always"), "mta_sts"),
        (("MAILWRIGHT_DOMAINS_TLS_REPORTS_TO", "nobody"), "tls_reports_to"),
        (("MAILWRIGHT_METRICS_KEY", "short"), "metrics_key"),
        (("MAILWRIGHT_METRICS_KEY", "not one word, but several"), "metrics_key"),
        (("MAILWRIGHT_NO_SUCH_SETTING", "1"), "no_such_setting"),
    ] {
        let said = fail(&["serve"], &[data, listen, setting], &[expected]);
        assert!(said.lines().count() < 40, "a message to read: {said}");
    }
}

/// The lines of the doctor that begin with a mark, `ok`, `LOOK` or `WRONG`, and their first words.
fn marked<'l>(said: &'l str, mark: &str) -> Vec<&'l str> {
    let lines = said.lines().filter_map(|line| line.strip_prefix(mark));
    lines.filter_map(|line| line.trim_start().split_once(':')).map(|(what, _)| what).collect()
}

#[test]
fn numbers_out_of_range_and_levels_that_are_none_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = ("MAILWRIGHT_DATA_DIR", path(folder.path()));
    for (variable, value, expected) in [
        ("MAILWRIGHT_DELIVERY_CONNECTIONS", "0", "from 1 to 1000"),
        ("MAILWRIGHT_DELIVERY_CONNECTIONS", "1001", "from 1 to 1000"),
        ("MAILWRIGHT_HTTP_BODY_BUDGET_MB", "99", "from 100 to"),
        ("MAILWRIGHT_LOG", "verbose", "is no level"),
        ("MAILWRIGHT_LOG", "mailwright_app=debug,verbose", "is no level"),
        ("MAILWRIGHT_LOG", "mailwright_app=verbose", "\"verbose\" is no level"),
    ] {
        for command in ["serve", "doctor"] {
            let said = fail(&[command], &[data, (variable, value)], &[expected]);
            assert!(said.contains(variable), "{said}");
        }
    }
    for level in ["", "off", "WARN", "mailwright_app=debug,info"] {
        succeed(&["migrate"], &[data, ("MAILWRIGHT_LOG", level)]);
    }
}

#[test]
fn the_doctor_finds_what_serve_fails_for_and_says_it_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let data = ("MAILWRIGHT_DATA_DIR", path(&data));
    let file = folder.path().join("file");
    std::fs::write(&file, "not a folder").expect("a file");
    // a host that is no address of this machine
    let foreign = ("MAILWRIGHT_LISTEN", "192.0.2.1:8080");
    let inside = file.join("data");
    for (setting, wrong, expected) in [
        (("MAILWRIGHT_LISTEN", "8080"), &["listen"][..], "an address and a port"),
        (foreign, &["listen"], "does not have that address"),
        (("MAILWRIGHT_BASE_URL", "mail.example.com"), &["base URL"], "must be an address such as"),
        (("MAILWRIGHT_TRANSPORT", "pigeon"), &["transport"], "MAILWRIGHT_TRANSPORT"),
        (("MAILWRIGHT_DATA_DIR", path(&file)), &["data directory"], "is a file"),
        (("MAILWRIGHT_DATA_DIR", path(&inside)), &["data directory"], "is not a folder"),
    ] {
        let settings = [data, ("MAILWRIGHT_LISTEN", "127.0.0.1:0"), setting];
        let doctor = fail(&["doctor"], &settings, &[""]);
        let mut found = marked(&doctor, "WRONG");
        // whether the machine has a name server is none of the program's affairs
        found.retain(|what| *what != "name server");
        assert_eq!(found, wrong, "{setting:?}: {doctor}");
        assert!(doctor.contains(expected), "{doctor}");
        fail(&["serve"], &settings, &[""]);
    }
}

#[test]
fn an_address_of_a_database_that_cannot_be_read_is_explained() {
    for (url, expected) in [
        ("postgres://mail:hunter2-secret@127.0.0.1/mail?sslmode=verify-full", "disable, prefer or require"),
        ("postgres://mail:hunter2-secret@127.0.0.1/mail?schema=public", "schema"),
        ("postgres://mail:hunter2-secret@127.0.0.1:many/mail", "port"),
    ] {
        let settings = [("MAILWRIGHT_DATABASE_URL", url)];
        for command in ["migrate", "doctor"] {
            let said = fail(&[command], &settings, &[expected]);
            assert!(said.contains("MAILWRIGHT_DATABASE_URL") && !said.contains("hunter2-secret"), "{said}");
        }
    }
}

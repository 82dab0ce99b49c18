use super::*;

fn source(ip: &str, messages: u64, aligned: u64) -> Source {
    of_reporter("google.com", ip, messages, aligned)
}

fn of_reporter(reporter: &str, ip: &str, messages: u64, aligned: u64) -> Source {
    Source { reporter: reporter.to_owned(), ip: Some(ip.to_owned()), messages, aligned, is_ours: false }
}

fn evidence(sources: Vec<Source>) -> Evidence {
    Evidence { days: DAYS, reporters: FEWEST_REPORTERS, sources }
}

#[test]
fn a_policy_goes_on_step_by_step() {
    let good = evidence(vec![source("192.0.2.1", 100, 98)]);
    assert_eq!(next_policy(DmarcPolicy::None, &good), Ok(DmarcPolicy::Quarantine));
    assert_eq!(next_policy(DmarcPolicy::Quarantine, &good), Ok(DmarcPolicy::Reject));
    assert_eq!(next_policy(DmarcPolicy::Reject, &good), Err("There is no stricter policy.".to_owned()));
}

#[test]
fn it_is_said_what_is_missing() {
    let good = evidence(vec![source("192.0.2.1", 100, 100)]);
    let ours = Source { is_ours: true, ..source("2001:db8::1", 10, 0) };
    for (evidence, reason) in [
        (Evidence { days: 13, ..good.clone() }, "Reports of at least 14 days are needed."),
        (
            Evidence { reporters: 1, ..good.clone() },
            "Reports of at least 2 receivers in the last 14 days are needed.",
        ),
        (
            evidence(vec![source("192.0.2.1", 99, 99), source("192.0.2.2", 5000, 0)]),
            "Reports of at least 100 mails in the last 14 days are needed.",
        ),
        (
            evidence(vec![source("192.0.2.9", 300, 299), source("192.0.2.1", 100, 88)]),
            "12 % of the mail of source 192.0.2.1 is not aligned.",
        ),
        (
            evidence(vec![source("192.0.2.9", 100, 100), ours]),
            "100 % of the mail of source 2001:db8::1 is not aligned.",
        ),
        (
            evidence(vec![Source { ip: None, ..source("", 1000, 500) }]),
            "50 % of the mail of other sources is not aligned.",
        ),
        (evidence(vec![]), "Reports of at least 100 mails in the last 14 days are needed."),
    ] {
        let said = next_policy(DmarcPolicy::None, &evidence).err().unwrap_or_default();
        assert_eq!(said, reason, "{evidence:?}");
    }
}

#[test]
fn sources_that_only_pretend_do_not_count() {
    let forged = source("198.51.100.1", u64::MAX, 0);
    let good = evidence(vec![forged, source("192.0.2.1", 200, 200)]);
    assert_eq!(next_policy(DmarcPolicy::None, &good), Ok(DmarcPolicy::Quarantine));
}

#[test]
fn one_reporter_does_not_outweigh_another() {
    let invented = || of_reporter("invented.example", "192.0.2.1", 900_000_000, 900_000_000);
    let broken = of_reporter("outlook.example", "192.0.2.1", 300, 0);
    let said = next_policy(DmarcPolicy::None, &evidence(vec![invented(), broken]));
    assert_eq!(said, Err("100 % of the mail of source 192.0.2.1 is not aligned.".to_owned()));
    // the worst of two is told, and each is judged by its own figures alone
    let two = [
        of_reporter("one.example", "192.0.2.1", 100, 88),
        of_reporter("two.example", "192.0.2.2", 100, 50),
        of_reporter("three.example", "192.0.2.2", 100, 100),
    ];
    let said = next_policy(DmarcPolicy::None, &evidence([vec![invented()], two.into()].concat()));
    assert_eq!(said, Err("50 % of the mail of source 192.0.2.2 is not aligned.".to_owned()));
}

#[test]
fn a_reporter_with_a_few_forwarded_mails_does_not_object() {
    let most = || of_reporter("large.example", "192.0.2.1", 10_000, 10_000);
    let small = |unaligned| of_reporter("small.example", "192.0.2.1", 20, 20 - unaligned);
    let judged = |unaligned| next_policy(DmarcPolicy::None, &evidence(vec![most(), small(unaligned)]));
    assert_eq!(judged(FEWEST_UNALIGNED - 1), Ok(DmarcPolicy::Quarantine));
    assert_eq!(
        judged(FEWEST_UNALIGNED),
        Err("50 % of the mail of source 192.0.2.1 is not aligned.".to_owned())
    );
    // of many mails as many may be broken as of all
    let large = of_reporter("small.example", "192.0.2.1", 1_000, 980);
    assert_eq!(next_policy(DmarcPolicy::None, &evidence(vec![most(), large])), Ok(DmarcPolicy::Quarantine));
}

#[test]
fn a_source_that_one_reporter_knows_as_yours_counts_for_all() {
    let known = of_reporter("one.example", "192.0.2.1", 200, 200);
    let blind = of_reporter("two.example", "192.0.2.1", 100, 0);
    let stranger = of_reporter("two.example", "198.51.100.1", 5_000, 0);
    let said = next_policy(DmarcPolicy::None, &evidence(vec![known.clone(), blind, stranger.clone()]));
    assert_eq!(said, Err("33 % of the mail of source 192.0.2.1 is not aligned.".to_owned()));
    let said = next_policy(DmarcPolicy::None, &evidence(vec![known, stranger]));
    assert_eq!(said, Ok(DmarcPolicy::Quarantine));
}

#[test]
fn large_counts_do_not_overflow() {
    let many = evidence(vec![source("192.0.2.1", u64::MAX, u64::MAX), source("192.0.2.2", u64::MAX, 1)]);
    assert_eq!(next_policy(DmarcPolicy::None, &many), Ok(DmarcPolicy::Quarantine));
    assert_eq!((percent(1, 1000), percent(u64::MAX, u64::MAX)), ("Less than 1 %".into(), "100 %".into()));
}

#[test]
fn a_record_states_its_policy() {
    for (record, policy) in [
        ("v=DMARC1; p=none", Some(DmarcPolicy::None)),
        ("v=DMARC1;p = Reject ;sp=none", Some(DmarcPolicy::Reject)),
        ("v=DMARC1; sp=reject", None),
        ("v=DMARC1; p=maybe", None),
        ("", None),
    ] {
        assert_eq!(DmarcPolicy::of_record(record), policy, "{record}");
    }
}

#[test]
fn a_new_record_keeps_what_the_old_one_says() {
    let address = Some("dmarc-x@bounces.example.net");
    for (record, address, expected) in [
        (None, None, "v=DMARC1; p=quarantine"),
        (None, address, "v=DMARC1; p=quarantine; rua=mailto:dmarc-x@bounces.example.net"),
        (
            Some("v=DMARC1; p=none; adkim=s;"),
            address,
            "v=DMARC1; p=quarantine; adkim=s; rua=mailto:dmarc-x@bounces.example.net",
        ),
        (
            Some("v=DMARC1;p=none;rua=mailto:a@example.com"),
            address,
            "v=DMARC1; p=quarantine; rua=mailto:a@example.com,mailto:dmarc-x@bounces.example.net",
        ),
        (
            Some("v=DMARC1; p=none; rua=mailto:DMARC-X@bounces.example.net!10m"),
            address,
            "v=DMARC1; p=quarantine; rua=mailto:DMARC-X@bounces.example.net!10m",
        ),
        (Some("v=DMARC1; sp=none"), None, "v=DMARC1; p=quarantine; sp=none"),
    ] {
        assert_eq!(record_with(record, DmarcPolicy::Quarantine, address), expected);
    }
}

//! People, who must stay people.

use super::*;

/// An address of a private customer, which no table knows.
const HOME: &str = "84.170.12.34";
const HOME_V6: &str = "2003:e1:df1a:2b00::5";

#[test]
fn people_open_and_click() {
    for (mail_program, browser) in [
        (CHROME, CHROME),
        (FIREFOX, FIREFOX),
        (SAFARI, SAFARI),
        (OUTLOOK, EDGE),
        (THUNDERBIRD, FIREFOX),
        (IPHONE_MAIL, IPHONE),
        (ANDROID_MAIL, ANDROID),
        (ANDROID_MAIL, CUBOT),
        (IPHONE_MAIL, FACEBOOK_APP),
    ] {
        for address in [HOME, HOME_V6] {
            let hits = [
                open(40_000, mail_program, address),
                click(55_000, 3, browser, address),
                click(58_000, 4, browser, address),
                open(3_600_000, mail_program, address),
            ];
            all(HitClass::Human, &mail(8), &hits);
            assert_eq!(reasons(&mail(8), &hits), [HitReason::Ordinary; 4]);
        }
    }
}

#[test]
fn a_person_may_open_links_in_tabs() {
    // so many links of a mail, each so long after the one before
    for (links, opened, pause) in
        [(2, 2, 1100), (3, 3, 700), (4, 4, 650), (5, 5, 600), (10, 7, 550), (12, 12, 600)]
    {
        let hits: Vec<_> =
            (0..opened).map(|link| click(60_000 + i64::from(link) * pause, link, CHROME, HOME)).collect();
        all(HitClass::Human, &mail(links), &hits);
    }
}

#[test]
fn a_person_may_follow_the_same_link_many_times() {
    let hits: Vec<_> = (0..10).map(|time| click(60_000 + time * 150, 1, CHROME, HOME)).collect();
    all(HitClass::Human, &mail(1), &hits);
    all(HitClass::Human, &mail(3), &hits);
}

#[test]
fn an_image_proxy_shows_that_a_person_opened_the_mail() {
    for (agent, owner) in [(GMAIL, "Gmail"), (YAHOO, "Yahoo Mail")] {
        let hits = [open(20_000, agent, "66.249.84.7"), click(40_000, 1, CHROME, HOME)];
        let found = judged(&mail(3), &hits);
        assert_eq!(found[0].class, HitClass::Human);
        assert_eq!((found[0].reason, found[0].owner.as_deref()), (HitReason::ImageProxy, Some(owner)));
        assert_eq!(found[1].reason, HitReason::Ordinary);
    }
    let outlook_on_the_web = judged(&mail(3), &[open(20_000, CHROME, "40.99.1.2")]);
    assert_eq!(
        (outlook_on_the_web[0].class, outlook_on_the_web[0].reason),
        (HitClass::Human, HitReason::ImageProxy)
    );
}

#[test]
fn a_person_clicks_after_a_scanner_from_elsewhere() {
    let mut hits: Vec<_> =
        (0..6).map(|link| click(5_000 + i64::from(link) * 50, link, CHROME, "20.1.2.3")).collect();
    // with the same user agent, and soon after
    hits.push(click(15_000, 2, CHROME, HOME));
    hits.push(open(14_000, CHROME, HOME));
    let found = classes(&mail(6), &hits);
    assert_eq!(found[..6], [HitClass::Scanner; 6]);
    assert_eq!(found[6..], [HitClass::Human; 2]);
}

#[test]
fn a_person_reads_at_once_while_nothing_else_happens() {
    // the reading pane of a mail program opens what comes in
    all(HitClass::Human, &mail(3), &[open(1_000, OUTLOOK, HOME), click(9_000, 1, EDGE, HOME)]);
}

#[test]
fn people_browse_through_relays() {
    let tables =
        Tables::parse("172.224.224.0/27\tiCloud Private Relay\trelay\ttest\t2026-11-25\n", "").unwrap();
    let relay = "172.224.224.5";
    // a machine of the same relay makes no company
    let hits =
        [click(30_000, TRAP, FIREFOX, relay), click(40_000, 1, SAFARI, relay), open(35_000, SAFARI, relay)];
    let found = judge(&tables, &Timing::default(), &mail(3), &[], &hits).hits;
    let found: Vec<_> = found.iter().map(|judgement| judgement.reason).collect();
    assert_eq!(found, [HitReason::Trap, HitReason::Ordinary, HitReason::Ordinary]);
}

#[test]
fn a_preview_by_the_readers_own_telephone_makes_no_company() {
    let hits = [click(60_000, 1, "WhatsApp/2.23.20.0 A", HOME), click(65_000, 1, ANDROID, HOME)];
    assert_eq!(classes(&mail(3), &hits), [HitClass::Scanner, HitClass::Human]);
}

#[test]
fn without_a_known_hand_over_nothing_is_too_soon() {
    let unknown = MailFacts { handed_over_at: None, ..mail(3) };
    all(HitClass::Human, &unknown, &[click(0, 1, CHROME, HOME)]);
    // a hit of a first hand-over, whose answer was lost
    all(HitClass::Human, &mail(3), &[click(-3_600_000, 1, CHROME, HOME)]);
}

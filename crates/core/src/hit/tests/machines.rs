//! Machines, which must not be counted as people.

use super::*;

/// Addresses of a provider of servers, which no table knows.
const CLOUD: [&str; 3] = ["20.1.2.3", "34.200.7.8", "2600:1f18::9"];

#[test]
fn ten_scanners_are_recognised() {
    let everything = |after: i64, pause: i64, agent: &str, addresses: &[&str]| -> Vec<RawHit> {
        let address = |link: i64| addresses[link as usize % addresses.len()];
        let clicks =
            (0..6_u32).map(|link| click(after + i64::from(link) * pause, link, agent, address(link.into())));
        std::iter::once(open(after, agent, addresses[0])).chain(clicks).collect()
    };
    let scanners: [(&str, Vec<RawHit>); 10] = [
        ("Outlook SafeLinks", everything(4_000, 100, EDGE, &["40.92.10.1", "104.47.5.6"])),
        ("Barracuda, an hour later", everything(3_600_000, 4_000, CHROME, &["209.222.82.7", "64.235.150.1"])),
        ("Proofpoint", everything(90_000, 3_000, CHROME, &["67.231.152.9", "148.163.129.50"])),
        ("Mimecast", everything(60_000, 10_000, "Mozilla/5.0 (compatible; Mimecast)", &["207.211.31.4"])),
        ("Cisco IronPort", everything(60_000, 10_000, SAFARI, &["68.232.140.138"])),
        ("Trend Micro", everything(60_000, 10_000, CHROME, &["150.70.1.2", "18.208.22.70"])),
        ("Symantec", everything(60_000, 10_000, "", &["85.158.137.3"])),
        ("a sandbox in a cloud, all links in a second", everything(900_000, 150, CHROME, &CLOUD)),
        ("a script", everything(900_000, 20_000, "python-requests/2.32.3", &CLOUD)),
        (
            "a browser without a window",
            everything(900_000, 20_000, &CHROME.replace("Chrome", "HeadlessChrome"), &CLOUD),
        ),
    ];
    for (name, hits) in scanners {
        let found = judged(&mail(6), &hits);
        let machines = found.iter().all(|judgement| judgement.class == HitClass::Scanner);
        assert!(machines, "{name}: {found:#?}");
    }
}

#[test]
fn programs_and_previews_are_scanners() {
    for agent in [
        "",
        "curl/8.14.1",
        "Wget/1.25.0",
        "Go-http-client/2.0",
        "Java/17.0.2",
        "node",
        "okhttp crawler",
        "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
        "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com",
        "WhatsApp/2.23.20.0 A",
        "TelegramBot (like TwitterBot)",
        "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
        "Twitterbot/1.0",
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
        "Mozilla/5.0 (compatible; SomethingNewBot/1.0)",
        "Mozilla/4.0 (compatible; Win32; WinHttp.WinHttpRequest.5)",
        "Microsoft Office Existence Discovery",
        APPLE,
        GMAIL,
    ] {
        let found = judged(&mail(3), &[click(3_600_000, 1, agent, CLOUD[0])]);
        assert_eq!(found[0].class, HitClass::Scanner, "{agent}");
    }
}

#[test]
fn proxies_fetch_before_anybody_reads() {
    let apple = [
        ("17.58.1.2", IPHONE_MAIL, HitReason::Address),
        ("17.58.1.2", APPLE, HitReason::Pair),
        (CLOUD[0], APPLE, HitReason::Agent),
    ];
    for (address, agent, reason) in apple {
        for after in [1_000, 50_000, 80_000_000] {
            let found = judged(&mail(3), &[open(after, agent, address)]).remove(0);
            assert_eq!((found.class, found.reason), (HitClass::Proxy, reason), "{agent} at {address}");
        }
    }
    let relay = Tables::parse(
        "172.224.224.0/27\tiCloud Private Relay\trelay\ttest\t2026-11-25\n",
        Tables::embedded_agents(),
    );
    let hits = [open(50_000, APPLE, "172.224.224.5")];
    let found = judge(&relay.unwrap(), &Timing::default(), &mail(3), &[], &hits).hits.remove(0);
    assert_eq!((found.class, found.reason), (HitClass::Proxy, HitReason::Pair));
    for (after, class) in [(2_900, HitClass::Proxy), (3_000, HitClass::Proxy), (3_001, HitClass::Human)] {
        let found = judged(&mail(3), &[open(after, GMAIL, "66.249.84.7")]).remove(0);
        assert_eq!(found.class, class, "{after}");
        assert_eq!(found.reason == HitReason::Prefetch, class == HitClass::Proxy);
    }
}

#[test]
fn nobody_clicks_so_soon() {
    let home = "84.170.12.34";
    for (after, class) in [
        (-60_001, HitClass::Human),
        (-60_000, HitClass::Scanner),
        (-200, HitClass::Scanner),
        (0, HitClass::Scanner),
        (2_000, HitClass::Scanner),
        (2_001, HitClass::Human),
    ] {
        assert_eq!(classes(&mail(3), &[click(after, 1, CHROME, home)]), [class], "{after}");
    }
    // the mailbox's server took the mail later than the next hop
    let delivered_at = Some(Timestamp(HANDED_OVER.0 + 100_000));
    let reported = MailFacts { delivered_at, ..mail(3) };
    for (after, class) in [(97_999, HitClass::Human), (98_000, HitClass::Scanner), (102_001, HitClass::Human)]
    {
        assert_eq!(classes(&reported, &[click(after, 1, CHROME, home)]), [class], "{after}");
    }
}

#[test]
fn an_open_is_early_where_a_machine_was_at_work() {
    let hits = [open(1_500, FIREFOX, "84.170.12.34"), click(1_000, 1, CHROME, CLOUD[0])];
    assert_eq!(reasons(&mail(3), &hits), [HitReason::EarlyOpen, HitReason::TooSoon]);
    let later = [open(2_500, FIREFOX, "84.170.12.34"), click(1_000, 1, CHROME, CLOUD[0])];
    assert_eq!(reasons(&mail(3), &later), [HitReason::Ordinary, HitReason::TooSoon]);
}

#[test]
fn bursts_begin_where_people_end() {
    // links of the mail, links followed, time from the first to the last
    for (links, followed, span, is_burst) in [
        (2, 2, 1_000, true),
        (2, 2, 1_001, false),
        (1, 1, 0, false),
        (3, 2, 0, false),
        (3, 3, 1_100, true),
        (6, 3, 1_100, true),
        (6, 3, 1_102, false),
        (7, 3, 1_100, false),
        (8, 4, 1_698, true),
        (8, 4, 1_704, false),
        (10, 5, 2_000, true),
        (10, 5, 2_004, false),
        (30, 7, 500, false),
        (30, 8, 1_995, true),
        (0, 3, 0, false),
    ] {
        let step = if followed > 1 { span / (i64::from(followed) - 1) } else { 0 };
        // from as many addresses
        let hits: Vec<_> = (0..followed)
            .map(|link| click(600_000 + i64::from(link) * step, link, CHROME, &format!("20.{link}.2.3")))
            .collect();
        let class = if is_burst { HitClass::Scanner } else { HitClass::Human };
        all(class, &mail(links), &hits);
    }
}

#[test]
fn who_follows_the_invisible_link_is_a_machine_with_its_company() {
    let hits = [
        click(300_000, TRAP, FIREFOX, "20.1.2.3"),
        click(310_000, 1, CHROME, "20.1.2.77"),
        click(320_000, 2, FIREFOX, "34.1.1.1"),
        open(250_000, FIREFOX, "34.1.1.2"),
        click(360_001, 1, FIREFOX, "20.1.2.3"),
        click(310_000, 1, CHROME, "20.1.3.1"),
    ];
    let expected = [
        HitReason::Trap,
        HitReason::Company,
        HitReason::Company,
        HitReason::Company,
        HitReason::Ordinary,
        HitReason::Ordinary,
    ];
    assert_eq!(reasons(&mail(9), &hits), expected);
    // whatever else is known of it
    let gmail = judged(&mail(9), &[click(300_000, TRAP, GMAIL, "66.249.84.7")]);
    assert_eq!(gmail[0].reason, HitReason::Trap);
}

#[test]
fn the_network_of_a_burst_is_its_company() {
    let mut hits: Vec<_> = (0..3).map(|link| click(10_000, link, CHROME, "20.1.2.3")).collect();
    hits.push(open(40_000, IPHONE_MAIL, "20.1.2.9"));
    hits.push(click(11_900, 0, CHROME, "34.1.1.1"));
    hits.push(click(12_100, 0, CHROME, "34.1.1.1"));
    hits.push(click(40_000, 0, IPHONE, "2600:1f18::9"));
    let found = reasons(&mail(3), &hits);
    assert_eq!(found[..3], [HitReason::Burst; 3]);
    assert_eq!(
        found[3..],
        [HitReason::Company, HitReason::Company, HitReason::Ordinary, HitReason::Ordinary]
    );
}

#[test]
fn hits_without_an_address_are_judged_by_the_rest() {
    let mut hits = vec![click(60_000, 1, CHROME, "20.1.2.3"), click(60_000, 2, "curl/8.14.1", "20.1.2.3")];
    for hit in &mut hits {
        hit.address = None;
    }
    assert_eq!(classes(&mail(5), &hits), [HitClass::Human, HitClass::Scanner]);
}

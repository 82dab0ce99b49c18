//! What simulated people and machines do with mails, and what comes of it.

mod machines;
mod people;
mod properties;
mod published;
mod tables;

use super::{HitClass, HitReason, Judged, Judgement, MailFacts, RawHit, Tables, Target, Timing, judge};
use crate::time::Timestamp;

const HANDED_OVER: Timestamp = Timestamp(1_800_000_000_000);

const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36";
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0";
const SAFARI: &str = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15";
const IPHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1";
const IPHONE_MAIL: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148";
const ANDROID: &str = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Mobile Safari/537.36";
const ANDROID_MAIL: &str = "Dalvik/2.1.0 (Linux; U; Android 14; Pixel 8 Build/AP2A.240805.005)";
const CUBOT: &str = "Mozilla/5.0 (Linux; Android 11; CUBOT X50 Build/RP1A) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Mobile Safari/537.36";
const OUTLOOK: &str = "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; Win64; x64; Trident/7.0; .NET4.0C; .NET4.0E; ms-office; MSOffice 16)";
const THUNDERBIRD: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Thunderbird/140.5.0";
const EDGE: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36 Edg/143.0.0.0";
const FACEBOOK_APP: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/520.0.0.38.101;FBDV/iPhone14,5]";
const BROWSERS: [&str; 8] = [CHROME, FIREFOX, SAFARI, IPHONE, ANDROID, EDGE, CUBOT, FACEBOOK_APP];
const GMAIL: &str =
    "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)";
const YAHOO: &str = "YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html";
const APPLE: &str = "Mozilla/5.0";

/// The invisible link.
const TRAP: u32 = 99;

/// A mail with so many links and a trap.
fn mail(links: usize) -> MailFacts {
    MailFacts { handed_over_at: Some(HANDED_OVER), delivered_at: None, links, trap: Some(TRAP) }
}

/// A hit so many milliseconds after the hand-over.
fn hit(after: i64, target: Target, agent: &str, address: &str) -> RawHit {
    let at = Timestamp(HANDED_OVER.0 + after);
    RawHit { at, target, agent: agent.to_owned(), address: Some(address.parse().unwrap()) }
}

fn open(after: i64, agent: &str, address: &str) -> RawHit {
    hit(after, Target::Pixel, agent, address)
}

fn click(after: i64, link: u32, agent: &str, address: &str) -> RawHit {
    hit(after, Target::Link(link), agent, address)
}

fn judged(mail: &MailFacts, hits: &[RawHit]) -> Vec<Judgement> {
    let Judged { hits, earlier } = judge(&Tables::embedded(), &Timing::default(), mail, &[], hits);
    assert_eq!(earlier, []);
    hits
}

fn classes(mail: &MailFacts, hits: &[RawHit]) -> Vec<HitClass> {
    judged(mail, hits).into_iter().map(|judgement| judgement.class).collect()
}

fn reasons(mail: &MailFacts, hits: &[RawHit]) -> Vec<HitReason> {
    judged(mail, hits).into_iter().map(|judgement| judgement.reason).collect()
}

/// All hits are of one class.
#[track_caller]
fn all(class: HitClass, mail: &MailFacts, hits: &[RawHit]) {
    let judged = judged(mail, hits);
    assert!(judged.iter().all(|judgement| judgement.class == class), "{judged:#?}");
}

#[test]
fn prefetches_are_told_by_their_headers() {
    use super::is_prefetch;
    for (name, value) in [
        ("Sec-Purpose", "prefetch"),
        ("sec-purpose", "prefetch;prerender"),
        ("Sec-Purpose", "prefetch;anonymous-client-ip"),
        ("Purpose", "prefetch"),
        ("X-Purpose", "preview"),
        ("X-Moz", "Prefetch"),
    ] {
        assert!(is_prefetch([("accept", "*/*"), (name, value)]), "{name}: {value}");
    }
    for (name, value) in [("Sec-Purpose", ""), ("Accept", "prefetch"), ("X-Purpose", "prefetched"), ("", "")]
    {
        assert!(!is_prefetch([(name, value)]), "{name}: {value}");
    }
    assert!(!is_prefetch([]));
}

#[test]
fn reasons_are_sentences_that_name_the_owner() {
    for reason in HitReason::ALL {
        for owner in [None, Some("Barracuda")] {
            let words = reason.words(owner);
            assert!(words.ends_with('.') && words.len() < 120, "{words}");
        }
        assert_eq!(HitReason::from_name(reason.as_str()), Some(reason));
    }
    let barracuda = judged(&mail(3), &[click(600_000, 1, CHROME, "209.222.82.7")]).remove(0);
    assert_eq!(barracuda.words(), "The address belongs to Barracuda.");
}

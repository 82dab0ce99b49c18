use super::rate::FIRST;
use super::*;

const NOW: Timestamp = Timestamp(1_700_000_040_000);
const LIMITS: Limits = Limits { connections: 8, mails_per_connection: 100, per_minute: None };

fn wish(mails: u32, connections: u32) -> Wish {
    Wish { mails, connections }
}

fn after(seconds: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(seconds))
}

fn taken(count: u32) -> Report {
    Report { taken: count, ..Report::default() }
}

fn said(signal: Signal) -> Report {
    Report { said: Some((signal, "a reply".into())), ..Report::default() }
}

/// A pace at a site that is known to take so many connections.
fn known(connections: u32) -> Pace {
    let mut pace = Pace::default();
    pace.rate.took(1_000, NOW.minus(Duration::from_hours(1)));
    (0..5).for_each(|_| pace.connections.grow(connections, NOW));
    pace
}

/// A pace at a site that took so many mails in the minute before `NOW` and then throttled.
fn throttled(count: u32) -> Pace {
    let mut pace = Pace::default();
    for second in 0..10 {
        let at = NOW.minus(Duration::from_secs(10 - second));
        pace.step(1, &taken(count / 10), wish(1, 1), LIMITS, at);
    }
    pace.step(1, &said(Signal::Throttled), wish(1, 1), LIMITS, NOW.minus(Duration::from_millis(1)));
    pace
}

#[test]
fn a_new_site_gets_a_few_mails_on_one_connection_and_then_ever_more() {
    let mut pace = Pace::default();
    let first = pace.step(1, &Report::default(), wish(1_000, 8), LIMITS, NOW);
    assert_eq!((first.mails, first.connections, first.wait), (FIRST, 1, None));
    let other = pace.step(2, &Report::default(), wish(1_000, 8), LIMITS, NOW);
    assert_eq!((other.mails, other.connections), (0, 0), "one process meets the limits");
    assert_eq!(other.wait.map(|wait| wait.reason), Some(PaceReason::Connections));
    let mut pace = Pace::default();
    let mut mails = 0;
    for second in 0..8 {
        let grant = pace.step(1, &taken(mails), wish(1_000, 8), LIMITS, after(second));
        mails = grant.mails;
    }
    let grant = pace.step(1, &taken(mails), wish(1_000, 8), LIMITS, after(8));
    assert_eq!((grant.mails, grant.connections), (1_000.min(FIRST << 7), 8));
}

#[test]
fn connections_are_shared_and_held_in_turns() {
    let mut pace = known(8);
    assert_eq!(pace.step(1, &Report::default(), wish(100, 8), LIMITS, NOW).connections, 8);
    assert_eq!(pace.step(2, &Report::default(), wish(100, 8), LIMITS, NOW).connections, 0);
    assert_eq!(pace.step(1, &Report::default(), wish(100, 8), LIMITS, after(1)).connections, 4);
    assert_eq!(pace.step(2, &Report::default(), wish(100, 8), LIMITS, after(1)).connections, 4);
    // with one connection, the other has it after a turn
    let mut pace = Pace::default();
    pace.connections.lower(1, NOW);
    let mut had = [0, 0];
    for second in 0..120 {
        let mut open = 0;
        for process in 0..2 {
            let grant = pace.step(process, &Report::default(), wish(100, 8), LIMITS, after(second));
            had[process as usize] += grant.connections;
            open += grant.connections;
        }
        assert!(open <= 1);
    }
    assert!(had.iter().all(|had| *had >= 45), "{had:?}");
}

#[test]
fn what_a_dead_process_had_is_free_again() {
    let mut pace = Pace::default();
    pace.step(1, &Report::default(), wish(100, 8), LIMITS, NOW);
    assert_eq!(pace.step(2, &Report::default(), wish(100, 8), LIMITS, after(7)).connections, 0);
    assert_eq!(pace.step(2, &Report::default(), wish(100, 8), LIMITS, after(8)).connections, 1);
    pace.take_back(after(8));
    assert_eq!(pace.step(3, &Report::default(), wish(100, 8), LIMITS, after(8)).connections, 0, "2 has it");
    pace.take_back(after(9));
    assert_eq!(pace.step(3, &Report::default(), wish(100, 8), LIMITS, after(9)).connections, 1);
}

#[test]
fn throttling_rests_a_minute_and_halves() {
    let mut pace = throttled(100);
    assert_eq!(pace.stands_still(NOW).map(|wait| wait.reason), Some(PaceReason::Resting));
    assert_eq!(pace.trouble().map(|(_, reply)| reply), Some("a reply"));
    let grant = pace.step(1, &said(Signal::Throttled), wish(10, 4), LIMITS, after(1));
    assert_eq!((grant.mails, grant.connections), (0, 0));
    assert_eq!(pace.per_minute(), Some(50.0), "of two connections that are refused at once the first counts");
    let grant = pace.step(1, &Report::default(), wish(10, 4), LIMITS, after(61));
    assert_eq!((grant.mails, grant.connections), (1, 1));
}

#[test]
fn a_rate_grows_to_nine_tenths_of_what_was_too_much_and_then_carefully_beyond() {
    let mut pace = throttled(100);
    let (mut highest, mut mails) = (0.0_f64, 0);
    for second in 61..3_600 {
        mails = pace.step(1, &taken(mails), wish(1_000, 8), LIMITS, after(second)).mails;
        highest = highest.max(pace.per_minute().unwrap());
    }
    assert!((highest - 90.0).abs() < 0.01, "{highest}");
    for second in 3_600..3 * 3_600 {
        mails = pace.step(1, &taken(mails), wish(1_000, 8), LIMITS, after(second)).mails;
    }
    let lifted = pace.per_minute().unwrap();
    assert!((100.0..150.0).contains(&lifted), "{lifted}");
    for second in 3 * 3_600..9 * 3_600 {
        mails = pace.step(1, &taken(mails), wish(10_000, 8), LIMITS, after(second)).mails;
    }
    assert!(pace.per_minute().unwrap() > 500.0, "an accident is forgotten: {:?}", pace.per_minute());
}

#[test]
fn a_rate_that_nobody_uses_does_not_grow() {
    let mut pace = throttled(100);
    for second in 61..7_200 {
        pace.step(1, &taken(u32::from(second % 10 == 0)), wish(1, 1), LIMITS, after(second));
    }
    assert_eq!(pace.per_minute(), Some(50.0));
}

#[test]
fn a_site_that_throttles_soon_after_a_rest_is_left_alone_for_longer() {
    let mut pace = throttled(100);
    let mut rests = Vec::new();
    let mut now = NOW;
    for _ in 0..8 {
        now = pace.stands_still(now).map_or(now, |wait| wait.until);
        pace.step(1, &taken(1), wish(10, 1), LIMITS, now);
        pace.step(1, &said(Signal::Throttled), wish(10, 1), LIMITS, now);
        rests.push(pace.stands_still(now).unwrap().until.since(now).as_secs() / 60);
    }
    assert_eq!(rests, [2, 4, 8, 16, 32, 60, 60, 60]);
}

#[test]
fn a_block_pauses_for_longer_each_time() {
    let mut pace = throttled(100);
    pace.step(1, &said(Signal::Blocked), wish(10, 1), LIMITS, NOW);
    let wait = pace.stands_still(NOW).unwrap();
    assert_eq!((wait.reason, wait.until.since(NOW)), (PaceReason::Blocked, PAUSES.first));
    assert_eq!(pace.per_minute(), Some(5.0));
    pace.step(1, &said(Signal::Blocked), wish(10, 1), LIMITS, wait.until);
    assert_eq!(pace.stands_still(wait.until).unwrap().until.since(wait.until), 2 * PAUSES.first);
}

#[test]
fn a_block_that_is_ended_by_hand_pauses_for_longer_when_it_comes_back() {
    let mut pace = throttled(100);
    assert_eq!(pace.resume(NOW), None, "a site that only throttles does not block");
    pace.step(1, &said(Signal::Blocked), wish(10, 1), LIMITS, NOW);
    assert_eq!(pace.resume(after(10)), Some(NOW.plus(PAUSES.first)));
    assert_eq!((pace.stands_still(after(10)), pace.resume(after(10))), (None, None));
    let grant = pace.step(1, &Report::default(), wish(10, 4), LIMITS, after(10));
    assert_eq!((grant.mails, grant.connections, pace.per_minute()), (1, 1, Some(5.0)), "it begins slowly");
    pace.step(1, &said(Signal::Blocked), wish(10, 1), LIMITS, after(11));
    assert_eq!(pace.stands_still(after(11)).unwrap().until, after(11).plus(2 * PAUSES.first));
}

#[test]
fn too_many_connections_are_one_fewer_from_then_on() {
    let mut pace = known(8);
    pace.step(1, &Report::default(), wish(100, 5), LIMITS, NOW);
    let grant = pace.step(1, &said(Signal::Connections), wish(100, 8), LIMITS, after(1));
    assert_eq!((grant.connections, pace.stands_still(after(1))), (4, None));
    for second in 2..600 {
        assert_eq!(pace.step(1, &taken(1), wish(100, 8), LIMITS, after(second)).connections, 4);
    }
    assert_eq!(pace.step(1, &taken(1), wish(100, 8), LIMITS, after(601)).connections, 5);
    // one more is too many again: the next try is twice as far away
    pace.step(1, &said(Signal::Connections), wish(100, 8), LIMITS, after(602));
    assert_eq!(pace.step(1, &taken(1), wish(100, 8), LIMITS, after(602 + 1_199)).connections, 4);
    assert_eq!(pace.step(1, &taken(1), wish(100, 8), LIMITS, after(602 + 1_200)).connections, 5);
}

#[test]
fn a_process_that_says_how_many_it_has_left_finds_the_limit_at_once() {
    let mut pace = known(8);
    assert_eq!(pace.step(1, &Report::default(), wish(100, 8), LIMITS, NOW).connections, 8);
    let refused = |left| Report { left: Some(left), ..said(Signal::Connections) };
    assert_eq!(pace.step(1, &refused(3), wish(100, 8), LIMITS, after(1)).connections, 3);
    // what was tried at the same moment is told a little later
    assert_eq!(pace.step(1, &refused(2), wish(100, 8), LIMITS, after(2)).connections, 2);
    assert_eq!(pace.step(1, &refused(2), wish(100, 8), LIMITS, after(3)).connections, 2);
    assert_eq!(pace.step(1, &taken(1), wish(100, 8), LIMITS, after(602)).connections, 3);
}

#[test]
fn a_published_rate_holds_from_the_first_mail() {
    let limits = Limits { per_minute: Some(60), ..LIMITS };
    let mut pace = Pace::default();
    let mails: u32 =
        (0..60).map(|second| pace.step(1, &taken(1), wish(100, 8), limits, after(second)).mails).sum();
    assert!((58..=66).contains(&mails), "{mails}");
}

#[test]
fn a_pace_is_read_as_it_was_written() {
    let pace = throttled(100);
    let text = serde_json::to_string(&pace).unwrap();
    assert_eq!(serde_json::from_str::<Pace>(&text).unwrap(), pace);
    assert_eq!(serde_json::from_str::<Pace>("{}").unwrap(), Pace::default());
}

#[test]
fn a_quiet_week_forgets_everything() {
    let mut pace = throttled(100);
    pace.step(1, &Report::default(), wish(1, 1), LIMITS, NOW.plus(FORGOTTEN));
    assert_eq!((pace.per_minute(), pace.trouble()), (None, None));
}

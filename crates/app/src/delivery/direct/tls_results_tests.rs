use mailwright_mail::mta_sts::Policy;
use mailwright_mail::tls_report::PolicyType;

use super::super::policies::Fault;
use super::*;

const NOW: Timestamp = Timestamp(1_741_608_000_000);
const DAY: Duration = Duration::from_hours(24);

fn none() -> Applied {
    Applied::of_kind(PolicyType::NoPolicyFound, Vec::new())
}

fn tested() -> Applied {
    let text = "version: STSv1\nmode: testing\nmx: mx.one.example\nmax_age: 86400\n";
    Applied::sts(&Found { policy: Some((Policy::parse(text).unwrap(), text.to_owned())), fault: None })
}

fn success(host: &str) -> Session<'_> {
    Session { host, receiver: None, source: None, outcome: Outcome::Success }
}

fn expired(host: &str) -> Session<'_> {
    let (receiver, source) = (Some([192, 0, 2, 1].into()), Some([192, 0, 2, 9].into()));
    let outcome = Outcome::Failure(ResultType::CertificateExpired, "it has\r\nexpired".into());
    Session { host, receiver, source, outcome }
}

/// Domain, result, host and count of each row.
fn rows(parts: &[Sums]) -> Vec<(&str, &str, &str, i64)> {
    let rows = parts.iter().flat_map(|part| &part.sessions);
    rows.map(|row| (&*row.domain, &*row.result, &*row.host, row.sessions)).collect()
}

#[test]
fn what_comes_to_the_same_is_one_row_and_is_taken_once() {
    let mut state = State::default();
    for _ in 0..3 {
        state.count("one.example", &none(), &success("mx.one.example"), NOW);
    }
    state.count("one.example", &none(), &expired("mx.one.example"), NOW);
    let parts = state.drain();
    assert_eq!(
        rows(&parts),
        [("one.example", "", "", 3), ("one.example", "certificate-expired", "mx.one.example", 1)]
    );
    let failed = &parts[0].sessions[1];
    assert_eq!((&*failed.receiver, &*failed.source), ("192.0.2.1", "192.0.2.9"));
    assert_eq!(failed.reason, "it has  expired");
    assert_eq!((parts[0].day, parts[0].policies.len(), parts[0].domains.len()), (day(NOW), 1, 1));
    assert!(state.drain().is_empty());
    state.count("one.example", &none(), &success("mx.one.example"), NOW);
    let parts = state.drain();
    assert_eq!((rows(&parts), parts[0].policies.len()), (vec![("one.example", "", "", 1)], 0));
}

#[test]
fn a_policy_judges_what_came_about() {
    let mut state = State::default();
    state.count("one.example", &tested(), &success("mx.one.example"), NOW);
    state.count("one.example", &tested(), &success("mx.other.example"), NOW);
    state.count("one.example", &tested(), &expired("mx.other.example"), NOW);
    let fault = Fault { kind: ResultType::StsPolicyFetchError, error: "status 500".into() };
    let missing = Applied::sts(&Found { policy: None, fault: Some(fault) });
    state.count("two.example", &missing, &success("mx.two.example"), NOW);
    assert_eq!(
        rows(&state.drain()),
        [
            ("one.example", "", "", 1),
            ("one.example", "certificate-expired", "mx.other.example", 1),
            ("one.example", "validation-failure", "mx.other.example", 1),
            ("two.example", "sts-policy-fetch-error", "", 1),
        ]
    );
}

#[test]
fn servers_beyond_the_bound_count_without_their_names() {
    let mut state = State::default();
    for number in 0..MOST_DETAILS + 20 {
        state.count("one.example", &none(), &expired(&format!("mx{number:04}.one.example")), NOW);
    }
    state.count("one.example", &none(), &expired("mx0000.one.example"), NOW);
    let parts = state.drain();
    let rows = rows(&parts);
    assert_eq!(rows.len(), MOST_DETAILS + 1);
    assert_eq!(rows[0], ("one.example", "certificate-expired", "", 20));
    assert_eq!(rows[1], ("one.example", "certificate-expired", "mx0000.one.example", 2));
}

#[test]
fn domains_and_policies_beyond_the_bounds_are_left_out() {
    let mut state = State::default();
    for number in 0..MOST_POLICIES + 2 {
        let policy = Applied::of_kind(PolicyType::Tlsa, vec![format!("3 1 1 {number:02x}")]);
        state.count("one.example", &policy, &success("mx.one.example"), NOW);
    }
    assert_eq!(state.left_out, 2);
    for number in 0..MOST_DOMAINS {
        state.count(&format!("d{number}.example"), &none(), &success("mx.host.example"), NOW);
    }
    assert_eq!((state.left_out, state.domains.len()), (3, MOST_DOMAINS));
    let parts = state.drain();
    assert!(parts.iter().all(|part| part.sessions.len() <= AT_ONCE));
    assert_eq!(rows(&parts).len(), MOST_DOMAINS - 1 + MOST_POLICIES);
    // another day begins anew
    state.count("late.example", &none(), &success("mx.host.example"), NOW.plus(DAY));
    assert_eq!(rows(&state.drain()), [("late.example", "", "", 1)]);
}

#[test]
fn policies_are_remembered_of_so_many_domains() {
    let mut state = State::default();
    for number in 0..MOST_DOMAINS {
        state.note(&format!("d{number}.example"), none(), NOW);
    }
    state.note("one.example", tested(), NOW);
    state.note("d0.example", tested(), NOW);
    assert_eq!((state.noted.len(), state.noted.contains_key("one.example")), (MOST_DOMAINS, false));
    assert!(state.noted["d0.example"].0.is_tested());
    state.note("one.example", tested(), NOW.plus(NOTED_FOR));
    assert_eq!(state.noted.len(), 1);
}

#[test]
fn what_is_left_of_a_day_stays_of_that_day() {
    let results = TlsResults::new(true, &Clock::system());
    {
        let (mut state, _) = results.state().unwrap();
        state.count("one.example", &none(), &success("mx.one.example"), NOW);
        state.count("one.example", &none(), &success("mx.one.example"), NOW.plus(DAY));
    }
    let (parts, left_out) = results.take();
    let days: Vec<_> = parts.iter().map(|part| part.day).collect();
    assert_eq!((days, left_out), (vec![day(NOW), day(NOW) + 1], 0));
    assert!(parts.iter().all(|part| part.policies.len() == 1));
}

#[test]
fn what_could_not_be_stored_of_policies_comes_again() {
    let results = TlsResults::new(true, &Clock::system());
    let count = || results.count("one.example", &none(), &success("mx.one.example"));
    count();
    let (mut parts, _) = results.take();
    let (of_day, policies) = (parts[0].day, std::mem::take(&mut parts[0].policies));
    assert_eq!(policies.len(), 1);
    results.put_back(of_day, policies);
    count();
    assert_eq!(results.take().0[0].policies.len(), 1);
}

#[test]
fn nothing_is_counted_where_no_reports_are_sent() {
    let results = TlsResults::new(false, &Clock::system());
    results.found("one.example", &Found::default());
    assert!(results.of("one.example").is_none());
    results.count("one.example", &none(), &success("mx.one.example"));
    assert_eq!(results.take(), (Vec::new(), 0));
}

#[test]
fn reports_are_spread_over_four_hours() {
    let today = day(NOW);
    let due: Vec<_> = (0..500).map(|number| due_at(today, &format!("d{number}.example"))).collect();
    let end = begin(today + 1);
    assert!(due.iter().all(|at| at.since(end) >= SETTLED_AFTER && at.since(end) < SPREAD));
    let early = due.iter().filter(|at| at.since(end) < SPREAD / 2).count();
    assert!((150..350).contains(&early), "{early}");
}

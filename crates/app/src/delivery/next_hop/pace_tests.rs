use super::*;

const A: ProjectNumber = ProjectNumber(1);
const B: ProjectNumber = ProjectNumber(2);

fn at(millis: i64) -> Timestamp {
    Timestamp(1_000_000 + millis)
}

fn mail() -> EmailId {
    EmailId::new(Timestamp(1), rand::random())
}

impl Paces {
    fn refuse(&mut self, mail: EmailId, project: ProjectNumber, now: Timestamp) -> Option<Duration> {
        match self.refused(mail, project, "450 4.7.1".to_owned(), now) {
            Slowed::No => None,
            Slowed::Yes { wait, .. } => Some(wait),
        }
    }
}

/// What came of handing over.
#[derive(Debug, Default)]
struct Came {
    /// Taken in each minute.
    taken: Vec<u32>,
    /// Taken of each project.
    of: Vec<u32>,
    refused: u32,
    /// Refused as the mail's own fault.
    own: u32,
}

/// Several projects hand over for `seconds` at a next hop that takes `limit` mails in each minute.
fn minutes(limit: u32, seconds: i64, projects: i64) -> Came {
    let mut paces = Paces::default();
    let mut came =
        Came { taken: vec![0; seconds as usize / 60], of: vec![0; projects as usize], ..Came::default() };
    for millis in (0..seconds * 1000).step_by(20) {
        let now = at(millis);
        for number in 0..projects {
            let project = ProjectNumber((number + millis / 20) % projects);
            if paces.ready_at(project, now).is_some() {
                continue;
            }
            paces.took(project, now);
            let minute = millis as usize / 60_000;
            let mail = mail();
            if came.taken[minute] < limit {
                came.taken[minute] += 1;
                came.of[project.0 as usize] += 1;
                paces.accepted(mail, project, now);
            } else {
                came.refused += 1;
                came.own += u32::from(paces.refuse(mail, project, now).is_none());
            }
        }
    }
    came
}

#[test]
fn a_limit_by_the_minute_is_used_and_blames_no_mail() {
    let came = minutes(60, 600, 1);
    assert!(came.taken.iter().all(|taken| *taken >= 50), "{came:?}");
    assert!(came.own < SEVERAL as u32, "{came:?} were blamed");
    let came = minutes(600, 600, 1);
    assert!(came.taken.iter().all(|taken| *taken >= 400), "{came:?}");
}

#[test]
fn projects_find_a_limit_for_all_together_and_share_it() {
    let came = minutes(300, 900, 10);
    assert!(came.taken[2..].iter().all(|taken| *taken >= 200), "{came:?}");
    assert!(came.own <= 10 * SEVERAL as u32, "{came:?}");
    let (fewest, most) = (came.of.iter().min().unwrap(), came.of.iter().max().unwrap());
    assert!(most <= &(fewest * 4), "{came:?}");
    // where nothing is taken any more, the projects are tried one after the other
    let came = minutes(0, 600, 10);
    assert!(came.refused < 300, "{} refused in ten minutes", came.refused);
}

#[test]
fn nothing_is_slowed_down_by_one_mail() {
    let mut paces = Paces::default();
    let stubborn = mail();
    for round in 0..100 {
        assert_eq!(paces.refuse(stubborn, A, at(round)), None);
    }
    assert_eq!(paces.rate_of(A), None);
    for _ in 0..100 {
        assert_eq!(paces.refuse(mail(), A, at(200)), None);
        paces.accepted(mail(), A, at(200));
    }
    assert_eq!(paces.rate_of(A), None, "others are taken in between");
}

#[test]
fn a_project_that_may_send_no_more_slows_down_nobody_else() {
    let mut paces = Paces::default();
    let mut tried = 0;
    for second in 0..600 {
        for _ in 0..20 {
            if paces.ready_at(A, at(second * 1000)).is_none() {
                paces.took(A, at(second * 1000));
                tried += 1;
                paces.refuse(mail(), A, at(second * 1000));
            }
        }
        paces.took(B, at(second * 1000));
        paces.accepted(mail(), B, at(second * 1000));
        assert_eq!(paces.ready_at(B, at(second * 1000)), None);
    }
    assert_eq!((paces.rate_of(B), paces.codes(B)), (None, None));
    assert_eq!(paces.rate(at(600_000)), None, "the process is not slow");
    assert_eq!((paces.rate_of(A), paces.codes(A)), (Some(SLOWEST), Some("450 4.7.1")));
    // it rests ever longer, and recovers with the first mail that is taken
    assert!(tried < 50, "{tried} tries in ten minutes");
    paces.accepted(mail(), A, at(600_000));
    assert!(paces.ready_at(A, at(603_000)).is_none());
}

#[test]
fn a_refusal_next_to_others_that_are_slowed_down_is_forgiven_once() {
    let mut paces = Paces::default();
    for _ in 0..SEVERAL {
        let _ = paces.refuse(mail(), A, at(0));
    }
    let second = mail();
    assert!(paces.refuse(second, B, at(1000)).is_some());
    assert_eq!(paces.refuse(second, B, at(6000)), None);
    assert_eq!(paces.refuse(mail(), B, at(60_000)), None, "that was long ago");
}

#[test]
fn a_mail_that_others_of_its_project_overtake_is_blamed() {
    let mut paces = Paces::default();
    let stubborn = mail();
    for _ in 0..SEVERAL {
        let _ = paces.refuse(mail(), A, at(0));
    }
    assert!(paces.refuse(stubborn, A, at(1)).is_some());
    paces.accepted(mail(), B, at(2));
    assert!(paces.refuse(stubborn, A, at(2)).is_some(), "nothing of it was taken in between");
    paces.accepted(mail(), A, at(3));
    assert_eq!(paces.refuse(stubborn, A, at(4)), None);
}

#[test]
fn a_fresh_connection_is_tried_in_vain_once() {
    let mut paces = Paces::default();
    assert!(paces.may_exchange(A));
    paces.exchanged_in_vain(A, at(0));
    assert!(!paces.may_exchange(A) && paces.may_exchange(B));
    paces.accepted(mail(), A, at(1));
    assert!(paces.may_exchange(A));
}

#[test]
fn it_is_bounded_below_and_forgets() {
    let mut paces = Paces::default();
    for second in 0..100 {
        let _ = paces.refuse(mail(), A, at(second * 1000));
    }
    assert!(paces.rate_of(A).is_some_and(|rate| (rate - SLOWEST).abs() < 1e-9));
    let wait = paces.ready_at(A, at(99_000)).expect("it rests").since(at(99_000));
    assert!(wait <= LONGEST_REST, "{wait:?}");
    assert!(paces.spared.len() <= REMEMBERED);
    paces.accepted(mail(), A, at(100_000).plus(CALM));
    assert_eq!((paces.rate_of(A), paces.is_any_slow()), (None, false));
    for number in 0..3 * REMEMBERED as i64 {
        paces.accepted(mail(), ProjectNumber(number), at(0));
    }
    assert!(paces.projects.len() <= REMEMBERED);
}

#[test]
fn a_project_without_mail_left_to_try_is_forgotten() {
    let mut paces = Paces::default();
    for project in [A, B] {
        for _ in 0..SEVERAL {
            let _ = paces.refuse(mail(), project, at(0));
        }
    }
    paces.forget(at(0).plus(CALM));
    assert!(paces.is_any_slow(), "each may still have to wait for the other's turn");
    let _ = paces.refuse(mail(), B, at(1000).plus(CALM));
    paces.forget(at(2000).plus(CALM));
    assert_eq!((paces.rate_of(A), paces.slow), (None, 1));
    paces.forget(at(2000).plus(CALM * 2));
    assert_eq!((paces.rate_of(B), paces.is_any_slow()), (None, false));
}

#[test]
fn what_is_refused_together_halves_once() {
    let mut paces = Paces::default();
    (0..1000).for_each(|_| paces.accepted(mail(), A, at(0)));
    for _ in 0..64 {
        let _ = paces.refuse(mail(), A, at(10));
    }
    let rate = paces.rate_of(A).expect("it is slower now");
    assert!(rate > 50.0, "{rate}");
}

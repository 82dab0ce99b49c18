use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const A: ProjectNumber = ProjectNumber(1);
const B: ProjectNumber = ProjectNumber(2);
const C: ProjectNumber = ProjectNumber(3);
const MAIL: Verdict = Verdict::Mail { overtaken: false };

fn refusals() -> Refusals {
    Refusals::new(Pauses { first: Duration::from_mins(2), longest: Duration::from_mins(30) })
}

fn mail() -> EmailId {
    EmailId::new(Timestamp(1), rand::random())
}

fn minutes(minutes: u64) -> Timestamp {
    Timestamp(0).plus(Duration::from_mins(minutes))
}

fn refuse(refusals: &mut Refusals, mail: EmailId, project: ProjectNumber, now: Timestamp) -> Verdict {
    refusals.refused(mail, project, "554 5.7.1".to_owned(), now)
}

fn missing(refusals: &mut Refusals, mail: EmailId, recipient: u64, certain: bool, now: Timestamp) -> Verdict {
    refusals.missing(mail, A, Missing { certain, recipient, words: 7 }, "550".to_owned(), now)
}

fn held(minutes: u64, begins: bool) -> Verdict {
    Verdict::Project { wait: Duration::from_mins(minutes), begins }
}

#[test]
fn a_single_mail_is_to_blame_however_often_it_is_refused() {
    let mut refusals = refusals();
    let stubborn = mail();
    for _ in 0..20 {
        assert_eq!(refuse(&mut refusals, stubborn, A, minutes(0)), MAIL);
    }
    refusals.served(B, minutes(0));
    assert_eq!(refuse(&mut refusals, stubborn, A, minutes(0)), Verdict::Mail { overtaken: true });
    assert_eq!(refuse(&mut refusals, stubborn, A, minutes(0)), MAIL, "since the last time");
}

#[test]
fn mail_of_a_project_waits_when_none_of_it_is_taken() {
    let mut refusals = refusals();
    let verdicts: Vec<_> = (0..4)
        .map(|_| {
            // that others are served does not help it
            refusals.served(B, minutes(0));
            refuse(&mut refusals, mail(), A, minutes(0))
        })
        .collect();
    assert_eq!(verdicts, [MAIL, MAIL, held(2, true), held(2, false)]);
    assert_eq!(refusals.waits(A, minutes(1)), Some(Duration::from_mins(1)));
    assert_eq!(refusals.waits(B, minutes(1)), None, "others go on");
    assert_eq!((refusals.codes(A), refusals.codes(B)), (Some("554 5.7.1"), None));
    let trial = mail();
    assert_eq!(refusals.waits(A, minutes(2)), None);
    refusals.begun(trial, A);
    assert_eq!(refusals.waits(A, minutes(2)), Some(AFTER_TRIAL), "one at a time");
    assert_eq!(refuse(&mut refusals, trial, A, minutes(2)), held(4, false));
    refusals.ended(trial, A);
    assert_eq!(refusals.waits(A, minutes(6)), None);
    refusals.served(A, minutes(6));
    assert_eq!((refusals.waits(A, minutes(6)), refusals.extent(minutes(6))), (None, Extent::Nobody));
}

#[test]
fn a_trial_that_tells_nothing_is_followed_by_another() {
    let mut refusals = refusals();
    for _ in 0..3 {
        refuse(&mut refusals, mail(), A, minutes(0));
    }
    let trial = mail();
    refusals.begun(trial, A);
    refusals.ended(trial, A);
    assert_eq!(refusals.waits(A, minutes(2)), None);
}

#[test]
fn a_success_forgives_the_project_only() {
    let mut refusals = refusals();
    for project in [A, B] {
        refuse(&mut refusals, mail(), project, minutes(0));
        refuse(&mut refusals, mail(), project, minutes(0));
    }
    refusals.served(A, minutes(0));
    assert_eq!(refuse(&mut refusals, mail(), A, minutes(0)), MAIL);
    assert_eq!(refuse(&mut refusals, mail(), B, minutes(0)), held(2, true));
    assert_eq!(refuse(&mut refusals, mail(), A, minutes(20)), MAIL);
    assert_eq!(refuse(&mut refusals, mail(), A, minutes(20)), MAIL, "the first is long ago");
}

#[test]
fn a_next_hop_that_refuses_everybody_is_known_as_such_and_tried_by_all_when_it_takes_mail_again() {
    let mut refusals = refusals();
    for project in [A, B, C] {
        assert_eq!(refusals.waits(project, minutes(0)), None, "its own mail was not refused yet");
        for _ in 0..3 {
            let _ = refuse(&mut refusals, mail(), project, minutes(0));
        }
    }
    assert_eq!(refusals.extent(minutes(1)), Extent::All);
    let trial = mail();
    refusals.begun(trial, A);
    refusals.served(A, minutes(1));
    assert_eq!((refusals.waits(B, minutes(1)), refusals.waits(C, minutes(1))), (None, None));
    assert_eq!((refusals.extent(minutes(1)), refusals.extent(minutes(2))), (Extent::Some, Extent::All));
}

#[test]
fn a_project_without_mail_left_to_try_is_forgotten() {
    let mut refusals = refusals();
    for project in [A, B, C] {
        for _ in 0..3 {
            refuse(&mut refusals, mail(), project, minutes(0));
        }
    }
    let trial = mail();
    refusals.begun(trial, A);
    refusals.forget(minutes(5));
    assert_eq!((refusals.benched, refusals.extent(minutes(5))), (3, Extent::All));
    refusals.forget(minutes(60));
    assert_eq!((refusals.benched, refusals.extent(minutes(60))), (1, Extent::Some), "one is being tried");
    refusals.ended(trial, A);
    refusals.forget(minutes(60));
    assert_eq!((refusals.benched, refusals.extent(minutes(60))), (0, Extent::Nobody));
    assert_eq!(refuse(&mut refusals, mail(), A, minutes(60)), MAIL, "it begins anew");
}

#[test]
fn the_same_words_about_every_address_are_not_believed() {
    let mut refusals = refusals();
    let verdicts: Vec<_> = (0..6).map(|n| missing(&mut refusals, mail(), n, false, minutes(0))).collect();
    assert_eq!(verdicts, [MAIL, MAIL, MAIL, MAIL, held(2, true), held(2, false)]);
    // of one address, or where the code is clear, they are
    let mut refusals = super::tests::refusals();
    for _ in 0..20 {
        assert_eq!(missing(&mut refusals, mail(), 1, false, minutes(0)), MAIL);
    }
    for n in 0..100 {
        assert_eq!(missing(&mut refusals, mail(), n, true, minutes(0)), MAIL);
    }
    // and where something is taken in between
    for n in 0..100 {
        assert_eq!(missing(&mut refusals, mail(), n, false, minutes(0)), MAIL);
        if n % 4 == 3 {
            refusals.served(A, minutes(0));
        }
    }
}

#[test]
fn addresses_that_were_doubted_are_believed_once_others_are_taken_or_nothing_changes_for_hours() {
    let mut refusals = refusals();
    for n in 0..4 {
        let _ = missing(&mut refusals, mail(), n, false, minutes(0));
    }
    let doubted = mail();
    assert_eq!(missing(&mut refusals, doubted, 4, false, minutes(0)), held(2, true));
    refusals.served(A, minutes(1));
    assert_eq!(missing(&mut refusals, doubted, 4, false, minutes(1)), MAIL);

    let (mut now, mut bounced) = (minutes(2), 0);
    for n in 0..30 {
        let trial = mail();
        now = now.plus(refusals.waits(A, now).unwrap_or_default());
        refusals.begun(trial, A);
        bounced += usize::from(missing(&mut refusals, trial, n, false, now) == MAIL);
        refusals.ended(trial, A);
    }
    // four before it is noticed, then none for ten trials, then one each
    assert_eq!(bounced, 4 + (30 - 5 - TRIALS as usize));
    assert!(now.since(minutes(2)) > Duration::from_hours(10));
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut refusals = refusals();
    for number in 0..2 * REMEMBERED as i64 {
        for _ in 0..3 {
            refuse(&mut refusals, mail(), ProjectNumber(number), minutes(0));
        }
    }
    assert!(refusals.projects.len() <= REMEMBERED && refusals.seen.len() <= REMEMBERED);
}

proptest! {
    /// Whatever becomes of the others' mail, a project whose own is taken never waits, and one of each that waits is
    /// tried again within the longest pause.
    #[test]
    fn nobody_waits_for_others(steps in prop::collection::vec((0..6_i64, 0..4_u8, 0..300_u64), 1..300)) {
        let mut refusals = refusals();
        let mut now = minutes(0);
        let mut last: BTreeMap<i64, bool> = BTreeMap::new();
        for (number, what, pause) in steps {
            now = now.plus(Duration::from_secs(pause));
            let (project, mail) = (ProjectNumber(number), mail());
            if let Some(wait) = refusals.waits(project, now) {
                prop_assert!(last.get(&number) == Some(&false), "{number} waits though nothing of it was refused");
                prop_assert!(wait <= Duration::from_mins(30));
                continue;
            }
            refusals.begun(mail, project);
            match what {
                0 => refusals.served(project, now),
                1 => {
                    let _ = missing(&mut refusals, mail, 1, true, now);
                }
                _ => {
                    let _ = refuse(&mut refusals, mail, project, now);
                }
            }
            refusals.ended(mail, project);
            // of an address only `A` is told in these tests
            last.insert(if what == 1 { A.0 } else { number }, what < 2);
            let waiting = (0..6).filter(|n| refusals.bench(ProjectNumber(*n)).is_some()).count();
            prop_assert_eq!(waiting, refusals.benched);
        }
    }
}

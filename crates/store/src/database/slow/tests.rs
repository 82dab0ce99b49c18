//! Whose turn it is.

use std::task::{Context, Poll, Waker};

use super::*;

const PATIENCE: Duration = Duration::from_mins(1);

fn request(number: i64) -> Reader {
    Reader::Request(ProjectNumber(number))
}

fn background(number: i64) -> Reader {
    Reader::Background(ProjectNumber(number))
}

/// A reader that asks for a place.
struct Asking(std::pin::Pin<Box<dyn Future<Output = Result<Place>>>>);

impl Asking {
    fn new(places: &Places, reader: Reader) -> Self {
        let places = places.clone();
        Self(Box::pin(async move { places.take(reader, PATIENCE).await }))
    }

    fn place(&mut self) -> Option<Result<Place>> {
        match self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => Some(outcome),
            Poll::Pending => None,
        }
    }

    fn waits(mut self) -> Self {
        assert!(self.place().is_none(), "there is a place for it");
        self
    }
}

fn taken(places: &Places, reader: Reader) -> Place {
    Asking::new(places, reader).place().expect("there is a place").unwrap()
}

/// Makes it known that a reader reads so long.
fn reads(places: &Places, reader: Reader, seconds: u64) {
    let now = Instant::now();
    places.lock().charge(reader, now, now + Duration::from_secs(seconds));
}

#[tokio::test]
async fn a_project_holds_one_place_and_leaves_the_others() {
    let places = Places::new(3);
    let first = taken(&places, request(1));
    let mut second = Asking::new(&places, request(1)).waits();
    reads(&places, request(3), 0);
    let (_two, _three) = (taken(&places, request(2)), taken(&places, request(3)));
    let mut fourth = Asking::new(&places, request(4)).waits();
    drop(first);
    // the place is the next project's: the first one had its turn
    assert!(second.place().is_none(), "its project had a turn before");
    assert!(matches!(fourth.place(), Some(Ok(_))));
}

#[tokio::test]
async fn one_place_is_left_to_those_who_are_quick() {
    let places = Places::new(3);
    reads(&places, request(3), 0);
    reads(&places, request(4), 20);
    let _held = (taken(&places, request(1)), taken(&places, request(2)));
    let _heavy = Asking::new(&places, request(4)).waits();
    let _new = Asking::new(&places, request(5)).waits();
    taken(&places, request(3));
}

#[tokio::test]
async fn who_read_for_long_comes_after_the_others_and_hurries() {
    let places = Places::new(1);
    (1..9).for_each(|project| reads(&places, request(project), 20));
    let limit = Duration::from_secs(20);
    let held = taken(&places, request(1));
    assert_eq!(held.limit(limit), limit, "nobody else waits");
    let mut heavy: Vec<_> = (2..9).map(|n| Asking::new(&places, request(n)).waits()).collect();
    let mut light = Asking::new(&places, request(10)).waits();
    drop(held);
    let Some(Ok(place)) = light.place() else { panic!("it is its turn") };
    assert_eq!(place.limit(limit), limit);
    drop(place);
    let Some(Ok(place)) = heavy[0].place() else { panic!("it is its turn") };
    assert_eq!(place.limit(limit), limit / HURRIED, "others wait");
}

#[test]
fn what_was_used_is_forgotten() {
    let now = Instant::now();
    let used = Used { seconds: 20.0, at: now };
    assert!((used.lately(now + HALF_LIFE) - 10.0).abs() < 1e-9);
    assert!(used.lately(now + 4 * HALF_LIFE) < HEAVY);
    let places = Places::new(1);
    (0..=REMEMBERED as i64).for_each(|project| reads(&places, request(project), 0));
    assert!(places.lock().used.is_empty(), "only the heavy ones are remembered");
}

#[tokio::test]
async fn turns_go_from_project_to_project() {
    let places = Places::new(1);
    let mut held = taken(&places, request(2));
    let mut waiting: Vec<_> = [2, 2, 2, 1, 3, 3]
        .into_iter()
        .map(|number| (number, Asking::new(&places, request(number)).waits()))
        .collect();
    let mut order = Vec::new();
    while !waiting.is_empty() {
        drop(held);
        let mut served: Vec<_> = Vec::new();
        waiting.retain_mut(|(number, asking)| match asking.place() {
            Some(place) => {
                served.push((*number, place.unwrap()));
                false
            }
            None => true,
        });
        assert_eq!(served.len(), 1, "one place");
        let (number, place) = served.remove(0);
        order.push(number);
        held = place;
    }
    assert_eq!(order, [3, 1, 2, 3, 2, 2]);
}

#[tokio::test]
async fn the_queue_of_a_project_is_bounded_and_nobody_elses() {
    let places = Places::new(1);
    let held = taken(&places, request(1));
    let mut waiting: Vec<_> = (0..QUEUE).map(|_| Asking::new(&places, request(1)).waits()).collect();
    assert!(matches!(Asking::new(&places, request(1)).place(), Some(Err(Error::Crowded(QUEUE)))));
    let _other = Asking::new(&places, request(2)).waits();
    // one that went away makes room
    waiting.pop();
    let _again = Asking::new(&places, request(1)).waits();
    drop(held);
}

#[tokio::test]
async fn who_goes_away_while_waiting_takes_no_place_along() {
    let places = Places::new(1);
    let held = taken(&places, request(1));
    let gone = Asking::new(&places, request(2)).waits();
    let mut next = Asking::new(&places, request(3)).waits();
    drop(gone);
    drop(held);
    assert!(matches!(next.place(), Some(Ok(_))));
    // given a place, and gone before it was told
    let held = taken(&places, request(1));
    let told = Asking::new(&places, request(2)).waits();
    drop(held);
    drop(told);
    taken(&places, request(1));
}

#[tokio::test]
async fn background_work_leaves_a_place_to_requests() {
    let places = Places::new(3);
    let _two = (taken(&places, background(1)), taken(&places, background(2)));
    let mut third = Asking::new(&places, background(3)).waits();
    reads(&places, request(1), 0);
    let asked = taken(&places, request(1));
    drop(asked);
    assert!(third.place().is_none(), "the last place is for requests");
    let alone = Places::new(1);
    let only = taken(&alone, background(1));
    drop(only);
    taken(&alone, request(1));
}

#[tokio::test]
async fn the_wait_for_a_turn_has_an_end() {
    let places = Places::new(1);
    let _held = taken(&places, request(1));
    let patience = Duration::from_millis(1);
    let outcome = places.take(request(2), patience).await;
    assert!(matches!(outcome, Err(Error::NoTurn(waited)) if waited == patience));
}

#[test]
fn half_of_the_connections_at_most_are_for_slow_reads() {
    let slow = SlowReads { at_once: 3, ..SlowReads::default() };
    assert_eq!([2, 3, 4, 5, 6, 16].map(|n| slow.split(n)), [(1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (3, 13)]);
}

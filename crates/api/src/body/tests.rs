use std::net::IpAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, EXPECT};
use bytes::Bytes;
use futures_util::stream::poll_fn;
use mailwright_app::account::client_key::ClientKey;
use mailwright_app::settings::BodySettings;
use mailwright_core::ids::ProjectNumber;

use super::bodies::Bodies;
use super::failure::failure;
use super::room::{Hold, Owner, SMALL, STRANGERS, Standing};
use super::source::{lock, vouch};
use super::watch::{MOST_DRAINED, watch};

const MB: usize = 1024 * 1024;

fn client(last: u8) -> ClientKey {
    ClientKey::of(IpAddr::from([10, 0, 0, last]))
}

fn owner(standing: Standing, last: u8, project: Option<i64>) -> Owner {
    Owner { standing, client: client(last), project: project.map(ProjectNumber) }
}

fn body(owner: Owner) -> Hold {
    Hold { owner, taken: 0, announced: 0 }
}

fn bodies() -> Arc<Bodies> {
    let (pause, whole) = (Duration::from_millis(20), Duration::from_mins(5));
    Bodies::new(BodySettings { pause, whole, budget: 100 * MB })
}

/// A request whose body comes in these pieces and then, if it is not `complete`, no further.
fn request(pieces: &[&'static str], complete: bool) -> Request {
    let pieces: Vec<_> = pieces.iter().map(|piece| Ok::<_, std::io::Error>(Bytes::from(*piece))).collect();
    let pieces = futures_util::stream::iter(pieces);
    let rest = poll_fn(move |_| if complete { Poll::Ready(None) } else { Poll::Pending });
    Request::new(Body::from_stream(futures_util::StreamExt::chain(pieces, rest)))
}

#[tokio::test]
async fn what_nobody_reads_is_read_a_little() {
    let bodies = bodies();
    let mut short = request(&["some", "more"], true);
    assert!(watch(&mut short, &bodies, client(1)).unwrap().read().await);
    let mut long = request(&["x"; 2], true);
    long.headers_mut().insert(CONTENT_LENGTH, (MOST_DRAINED + 1).into());
    assert!(!watch(&mut long, &bodies, client(1)).unwrap().read().await);
    let mut waits = request(&["x"], true);
    waits.headers_mut().insert(EXPECT, axum::http::HeaderValue::from_static("100-continue"));
    assert!(!watch(&mut waits, &bodies, client(1)).unwrap().read().await);
    assert!(watch(&mut Request::new(Body::empty()), &bodies, client(1)).is_none());
}

#[tokio::test]
async fn who_pauses_too_long_is_told() {
    let bodies = bodies();
    let mut request = request(&["some"], false);
    let rest = watch(&mut request, &bodies, client(1)).unwrap();
    let error = axum::body::to_bytes(request.into_body(), MB).await.unwrap_err();
    let answer = axum::response::IntoResponse::into_response(failure(&error));
    assert_eq!(answer.status(), 408);
    assert!(!rest.read().await, "the connection is of no use any more");
    assert_eq!(bodies.held().all, 0, "what was taken is given back");
}

#[tokio::test]
async fn bodies_share_what_there_is() {
    let bodies = bodies();
    let known = |last| body(owner(Standing::Known, last, None));
    assert!(bodies.take(known(1), 50 * MB), "the largest body fits");
    assert!(!bodies.take(known(1), SMALL + 1), "a client has half");
    assert!(bodies.take(known(1), SMALL), "and small ones beside that");
    assert!(bodies.take(known(2), 25 * MB));
    assert!(!bodies.take(known(2).with(25 * MB), 1), "a quarter is for others");
    assert!(bodies.take(known(2), SMALL));
    assert!(bodies.take(known(3), 14 * MB));
    assert!(!bodies.take(known(4), 4 * MB), "the last of it is for small ones");
    assert!(bodies.take(known(4), SMALL));
    assert!(!Arc::clone(&bodies).wait_for_room(known(4).with(SMALL), 4 * MB).await);
    bodies.give_back(known(3).with(14 * MB));
    assert!(Arc::clone(&bodies).wait_for_room(known(4), MB).await);
    for hold in [known(1).with(50 * MB), known(2).with(25 * MB), known(1).with(SMALL)] {
        bodies.give_back(hold);
    }
    bodies.give_back(known(2).with(SMALL));
    bodies.give_back(known(4).with(MB));
    let held = bodies.held();
    assert!(held.all == 0 && held.shares.is_empty(), "{held:?}");
}

#[test]
fn a_client_or_project_leaves_room_for_others_with_small_bodies_and_with_large_ones() {
    let of_client = |n: u8| owner(Standing::Known, 1, Some(i64::from(n)));
    let of_project = |n: u8| owner(Standing::Known, n, Some(1));
    let owners: [&dyn Fn(u8) -> Owner; 2] = [&of_client, &of_project];
    for (sizes, of_owner) in [vec![SMALL], vec![MB], vec![MB, SMALL], vec![SMALL, MB]]
        .into_iter()
        .flat_map(|sizes| owners.map(|of_owner| (sizes.clone(), of_owner)))
    {
        let bodies = bodies();
        for size in &sizes {
            let taken = (0..2000_u32).filter(|n| bodies.take(body(of_owner((n % 100) as u8)), *size)).count();
            assert_eq!(taken * size / MB, if *size == SMALL { 7 } else { 50 });
        }
        let other = |last| body(owner(Standing::Known, last, Some(i64::from(last))));
        assert!(bodies.take(other(200), 20 * MB), "{sizes:?}");
        assert!(bodies.take(other(200), SMALL), "{sizes:?}");
        assert!(bodies.take(other(201), MB), "{sizes:?}");
    }
}

#[test]
fn however_many_take_what_they_may_there_is_room_for_one_more() {
    for size in [1000, SMALL, MB] {
        let bodies = bodies();
        let known = |n: u8| body(owner(Standing::Known, n, Some(i64::from(n))));
        let stranger = |n: u8| body(owner(Standing::Stranger, n, None));
        for n in 0..20 {
            while bodies.take(known(n), size) {}
            while size == 1000 && bodies.take(stranger(n), size) {}
        }
        for fits in [100, SMALL].into_iter().filter(|fits| *fits <= size) {
            assert!(bodies.take(known(200), fits), "{fits} beside {size}");
        }
        assert!(bodies.take(stranger(200), 100));
    }
}

#[test]
fn as_many_bodies_are_read_as_fit() {
    let bodies = bodies();
    let hold = |project| Hold { announced: 24 * MB, ..body(owner(Standing::Known, 1, Some(project))) };
    assert!(bodies.take(hold(1), SMALL + 1) && bodies.take(hold(1), SMALL + 1));
    assert!(!bodies.take(hold(1), SMALL + 1), "it would not fit");
    assert!(bodies.take(hold(1), SMALL), "its beginning does");
    let another = body(owner(Standing::Known, 1, Some(2)));
    assert!(bodies.take(another, 49 * MB), "what was announced only takes nothing from others");
    bodies.give_back(another.with(49 * MB));
    for _ in 0..2 {
        assert!(bodies.take(hold(1).with(SMALL + 1), 24 * MB - SMALL - 1));
    }
}

#[test]
fn of_bodies_that_wait_one_makes_room_for_the_others() {
    let bodies = bodies();
    let mut holds = [1, 2, 3, 4].map(|project| body(owner(Standing::Known, 1, Some(project)))).to_vec();
    let grow = |holds: &mut Vec<Hold>| {
        for _ in 0..24 {
            for hold in holds.iter_mut().filter(|hold| hold.taken < 24 * MB) {
                if bodies.take(*hold, MB) {
                    *hold = hold.with(MB);
                }
            }
        }
    };
    grow(&mut holds);
    assert!(holds.iter().all(|hold| hold.taken < 14 * MB), "all are half read");
    while let Some(at) = holds.iter().position(|hold| hold.taken < 24 * MB) {
        let hold = holds.remove(at);
        assert!(!bodies.take_or_leave(hold, MB));
        if let Some(next) = holds.get_mut(at) {
            assert!(bodies.take_or_leave(*next, MB), "there is room now");
            *next = next.with(MB);
        }
        grow(&mut holds);
    }
    assert_eq!(holds.len(), 2);
    assert_eq!(bodies.held().all, 48 * MB, "what gave way holds nothing");
}

#[tokio::test]
async fn who_finds_no_room_is_told_and_holds_nothing() {
    let bodies = bodies();
    let mut request = request(&["some", "more"], true);
    let rest = watch(&mut request, &bodies, client(1)).unwrap();
    let mut pieces = request.into_body().into_data_stream();
    assert!(futures_util::StreamExt::next(&mut pieces).await.unwrap().is_ok());
    let others = 100 * MB / 64 * STRANGERS.0 / 5 - 4;
    assert!(bodies.take(body(owner(Standing::Stranger, 1, None)), others));
    let error = futures_util::StreamExt::next(&mut pieces).await.unwrap().unwrap_err();
    let answer = axum::response::IntoResponse::into_response(failure(&error));
    assert_eq!(answer.status(), 503);
    assert_eq!(bodies.held().all, others, "at once");
    drop((pieces, rest));
    assert_eq!(bodies.held().all, others, "and not once more");
}

#[test]
fn strangers_leave_room_for_those_who_are_known() {
    let bodies = bodies();
    let small = |owner: Owner| {
        std::iter::repeat_with(|| bodies.take(body(owner), SMALL)).take_while(|taken| *taken).count()
    };
    let stranger = |last| owner(Standing::Stranger, last, None);
    let room = 100 * MB / 8 / SMALL;
    assert_eq!(small(stranger(1)), room / 5, "one of them has a part of it");
    let others: usize = (2..200).map(|last| small(stranger(last))).sum();
    assert!((room - room / 5 - 6..room - room / 5).contains(&others), "{others} of {room}");
    assert!(!bodies.take(body(stranger(250)), SMALL), "all of them together have an eighth");
    assert!(bodies.take(body(stranger(250)), 1000), "there is some left for those who ask for little");
    // those who show public keys have a part of their own
    let public = |last, project| owner(Standing::Public, last, Some(project));
    let room = 100 * MB / 4 / SMALL;
    assert_eq!(small(public(1, 1)), room / 16, "a client");
    let project: usize = (2..200).map(|last| small(public(last, 1))).sum();
    assert_eq!(project, room / 5 - room / 16, "a project from all clients");
    assert_eq!((2..10).map(|number| small(public(200, number))).sum::<usize>(), room / 16);
    let others: usize = (2..10).map(|number| small(public(200 + number, i64::from(number)))).sum();
    assert!(others <= room - room / 4);
    // who is known has their part nevertheless, also from there
    let known = owner(Standing::Known, 1, Some(1));
    assert_eq!(small(known), 100 * MB / 8 * 3 / 5 / SMALL);
    assert!(bodies.take(body(known), 25 * MB));
}

#[tokio::test]
async fn who_shows_a_key_before_the_body_is_known() {
    let bodies = bodies();
    let content =
        || Body::from_stream(futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from("x"))]));
    for standing in [Standing::Stranger, Standing::Public, Standing::Known] {
        let mut request = Request::new(content());
        let rest = watch(&mut request, &bodies, client(1)).unwrap();
        let (parts, body) = request.into_parts();
        let project = Some(ProjectNumber(1)).filter(|_| standing != Standing::Stranger);
        if standing != Standing::Stranger {
            vouch(&parts, standing, project);
        }
        axum::body::to_bytes(body, MB).await.unwrap();
        assert_eq!(lock(&rest.source).hold.owner, Owner { standing, client: client(1), project });
    }
}

//! What holds for all hits.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::hit::JudgedHit;

const ADDRESSES: [&str; 8] = [
    "20.1.2.3",
    "20.1.2.4",
    "84.170.12.34",
    "2600:1f18::9",
    "209.222.82.7",
    "66.249.84.7",
    "40.99.1.2",
    "17.1.2.3",
];

fn any_hit() -> impl Strategy<Value = RawHit> {
    let agents = [&BROWSERS[..4], &[GMAIL, APPLE, OUTLOOK, "curl/8.14.1", ""]].concat();
    let target = prop_oneof![
        3 => Just(Target::Pixel),
        8 => (0_u32..6).prop_map(Target::Link),
        1 => Just(Target::Link(TRAP)),
    ];
    let after = prop_oneof![-500_i64..4_000, 60_000_i64..64_000, 0_i64..200_000];
    (after, target, select(agents), select(ADDRESSES.to_vec()))
        .prop_map(|(after, target, agent, address)| hit(after, target, agent, address))
}

fn any_mail() -> impl Strategy<Value = MailFacts> {
    (1_usize..8, any::<bool>(), proptest::option::of(0_i64..120_000)).prop_map(
        |(links, handed_over, delivered)| MailFacts {
            handed_over_at: handed_over.then_some(HANDED_OVER),
            delivered_at: delivered.map(|after| Timestamp(HANDED_OVER.0 + after)),
            ..mail(links)
        },
    )
}

/// Judges the pieces one after the other, each with all that went before.
fn in_pieces(mail: &MailFacts, pieces: &[&[RawHit]]) -> Vec<HitClass> {
    let mut known: Vec<JudgedHit> = Vec::new();
    for piece in pieces {
        let Judged { hits, earlier } = judge(&Tables::embedded(), &Timing::default(), mail, &known, piece);
        for (index, now) in earlier {
            assert!(now.class > known[index].class);
            (known[index].class, known[index].reason) = (now.class, now.reason);
        }
        known.extend(piece.iter().zip(hits).map(|(hit, judgement)| JudgedHit {
            hit: hit.clone(),
            class: judgement.class,
            reason: judgement.reason,
        }));
    }
    known.into_iter().map(|judged| judged.class).collect()
}

proptest! {
    #[test]
    fn pieces_end_with_the_same_classes(
        mail in any_mail(),
        hits in vec(any_hit(), 0..40),
        cuts in vec(0_usize..40, 0..6),
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(hits.len())).collect();
        cuts.extend([0, hits.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[RawHit]> = cuts.windows(2).map(|ends| &hits[ends[0]..ends[1]]).collect();
        prop_assert_eq!(in_pieces(&mail, &pieces), classes(&mail, &hits));
    }

    #[test]
    fn the_order_does_not_matter(
        (mail, hits, shuffled) in (any_mail(), vec(any_hit(), 0..40)).prop_flat_map(|(mail, hits)| {
            let order: Vec<usize> = (0..hits.len()).collect();
            (Just(mail), Just(hits), Just(order).prop_shuffle())
        }),
    ) {
        let moved: Vec<RawHit> = shuffled.iter().map(|&index| hits[index].clone()).collect();
        let expected = judged(&mail, &hits);
        let expected: Vec<Judgement> = shuffled.iter().map(|&index| expected[index].clone()).collect();
        prop_assert_eq!(judged(&mail, &moved), expected);
    }

    #[test]
    fn a_lone_click_of_a_browser_a_minute_after_the_delivery_is_a_persons(
        agent in select(BROWSERS.to_vec()),
        address: u32,
        v6: u128,
        is_v6: bool,
        links in 1_usize..40,
        link in 0_u32..40,
        reported in proptest::option::of(0_i64..3_600_000),
        after in 60_000_i64..10_000_000_000,
    ) {
        let address: std::net::IpAddr = if is_v6 {
            std::net::Ipv6Addr::from_bits(v6).into()
        } else {
            std::net::Ipv4Addr::from_bits(address).into()
        };
        prop_assume!(Tables::embedded().network(address).is_none());
        let delivered_at = reported.map(|after| Timestamp(HANDED_OVER.0 + after));
        let mail = MailFacts { delivered_at, ..mail(links) };
        let at = Timestamp(delivered_at.unwrap_or(HANDED_OVER).0 + after);
        let agent = agent.to_owned();
        let lone = [RawHit { at, target: Target::Link(link), agent, address: Some(address) }];
        prop_assert_eq!(reasons(&mail, &lone), [HitReason::Ordinary]);
    }

    #[test]
    fn nothing_makes_it_panic(
        mail in any_mail(),
        hits in vec((any::<i64>(), proptest::option::of(any::<u32>()), ".{0,300}", any::<[u8; 16]>()), 0..20),
    ) {
        let hits: Vec<RawHit> = hits
            .into_iter()
            .map(|(at, link, agent, address)| RawHit {
                at: Timestamp(at),
                target: link.map_or(Target::Pixel, Target::Link),
                agent,
                address: Some(std::net::Ipv6Addr::from(address).into()),
            })
            .collect();
        prop_assert_eq!(classes(&mail, &hits).len(), hits.len());
    }
}

#[test]
fn an_earlier_hit_is_judged_again() {
    // settled one by one: the first click alone was a person's
    let hits: Vec<_> =
        (0..4).map(|link| click(10_000 + i64::from(link) * 300, link, CHROME, "20.1.2.3")).collect();
    let first = JudgedHit { hit: hits[0].clone(), class: HitClass::Human, reason: HitReason::Ordinary };
    let found = judge(&Tables::embedded(), &Timing::default(), &mail(4), &[first], &hits[1..]);
    assert!(found.hits.iter().all(|judgement| judgement.reason == HitReason::Burst));
    assert_eq!(found.earlier.len(), 1);
    assert_eq!((found.earlier[0].0, found.earlier[0].1.reason), (0, HitReason::Burst));
}

#[test]
fn a_burst_is_remembered_without_its_hits() {
    let first = JudgedHit {
        hit: click(10_000, 1, CHROME, "20.1.2.3"),
        class: HitClass::Scanner,
        reason: HitReason::Burst,
    };
    let next = click(30_000, 2, FIREFOX, "20.1.2.9");
    let found = judge(&Tables::embedded(), &Timing::default(), &mail(9), &[first], &[next]);
    assert_eq!((found.earlier, found.hits[0].reason), (vec![], HitReason::Company));
}

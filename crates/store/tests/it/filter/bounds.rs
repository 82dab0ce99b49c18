//! Filters at their bounds: segments in a circle, the longest filter, and more events than one query reads.

use std::sync::Arc;

use mailwright_core::ids::ProjectNumber;
use mailwright_store::Result;
use mailwright_store::audience::filter::{self, Segments};
use mailwright_store::body;
use serde_json::json;

use super::{Database, NOW, parse, segment};

/// A segment that refers to itself through others has no members that could be found.
fn refuses_circles(database: &Database) {
    let of = |index: u128| {
        json!({ "logic": "AND", "groups": [{ "filters": [
        { "field": format!("segment.{}", segment(index)), "operator": "memberOfSegment" },
    ] }] })
    };
    let mut segments = Segments::new();
    segments.tree(segment(1), Arc::new(parse(&of(2))));
    segments.tree(segment(2), Arc::new(parse(&of(1))));
    let tree = parse(&of(1));
    let counted = database.runtime.block_on(
        database.db.read(body!(async |rx| filter::count(rx, ProjectNumber(1), &tree, &segments, NOW).await)),
    );
    assert!(counted.unwrap_err().to_string().contains("refers to itself"));
}

/// The longest filter that is valid, ten levels deep, can be run; so can one whose segments make it ten times as long.
fn runs_the_longest(database: &Database) {
    let condition = json!({ "field": "data.a.b", "operator": "notEquals", "value": "2025-03-01" });
    let deep = |levels: usize, filters: usize| {
        (1..levels).fold(
            json!({ "logic": "OR", "groups": [{ "filters": vec![condition.clone(); filters] }] }),
            |inner, _| json!({ "logic": "AND", "groups": [{ "filters": [condition], "conditions": inner }] }),
        )
    };
    let longest = parse(&deep(10, 191));
    let mut segments = Segments::new();
    for index in 10..19 {
        segments.tree(segment(index), Arc::new(longest.clone()));
    }
    let members: Vec<_> = (10..19)
        .map(|index| json!({ "field": format!("segment.{}", segment(index)), "operator": "notMemberOfSegment" }))
        .collect();
    let tree =
        parse(&json!({ "logic": "AND", "groups": [{ "filters": members, "conditions": deep(9, 180) }] }));
    let counted = database.runtime.block_on(database.db.read(body!(async |rx| {
        let longest = filter::count(rx, ProjectNumber(1), &longest, &Segments::new(), NOW).await?;
        Ok((longest, filter::count(rx, ProjectNumber(1), &tree, &segments, NOW).await?))
    })));
    assert_eq!(counted.unwrap(), (0, 0));
}

#[test]
fn bounds_hold_on_sqlite() {
    let database = Database::sqlite();
    refuses_circles(&database);
    runs_the_longest(&database);
}

#[test]
fn bounds_hold_on_postgres() {
    let database = Database::postgres("bounds");
    refuses_circles(&database);
    runs_the_longest(&database);
}

/// More events than one query reads are counted by the contacts that have them.
#[test]
fn counts_whoever_has_many_events() {
    const COUNT: i64 = 120_000;
    let database = Database::sqlite();
    let counted: Result<Vec<i64>> = database.runtime.block_on(async {
        let write = database.db.write(body!(async |tx| {
            // each a millisecond before the last one; some contacts have two, the second one long before
            tx.execute(
                "with recursive n(n) as (select 0 union all select n + 1 from n where n + 1 < $1) \
                 insert into events (project_id, id, name, contact_id, created_at) \
                 select 1, unhex(printf('%012x70008000000000000000', $2 - n)), 'visit', unhex(printf('%032x', n % 100000)), 0 \
                 from n",
                &[COUNT.into(), NOW.0.into()],
            )
            .await
        }));
        write.await?;
        let filter = |operator| json!({ "field": "event.visit", "operator": operator, "value": 1, "unit": "minutes" });
        let mut counted = Vec::new();
        for operator in ["triggered", "triggeredWithin", "triggeredOlderThan"] {
            let tree = parse(&json!({ "logic": "AND", "groups": [{ "filters": [filter(operator)] }] }));
            let read = database.db.read(body!(async |rx| filter::count(rx, ProjectNumber(1), &tree, &Segments::new(), NOW).await));
            counted.push(read.await?);
        }
        Ok(counted)
    });
    assert_eq!(counted.unwrap(), [100_000, 60_001, 39_999]);
}

//! What each server is asked.

use super::*;

fn part(node: i64, of: &str, name: &str, from: &str) -> Part {
    let server = Server { node, host: format!("host{node}"), port: 5432 };
    Part { server, of: of.to_owned(), name: name.to_owned(), from: from.to_owned() }
}

#[test]
fn each_server_is_asked_for_the_parts_that_it_holds() {
    let look =
        "select distinct e.project_id from emails e left join campaigns c on c.project_id = e.project_id";
    assert_eq!(tables(look), ["campaigns", "emails"]);
    let parts = vec![
        part(2, "emails", "emails_1", "-9"),
        part(3, "emails", "emails_2", "0"),
        part(2, "campaigns", "campaigns_3", "-9"),
        part(3, "campaigns", "campaigns_4", "0"),
        part(2, "campaigns", "campaigns_6", "5"),
        part(2, "emails", "emails_5", "5"),
    ];
    let asked = queries(look, parts);
    let nodes: Vec<i64> = asked.iter().map(|(server, _)| server.node).collect();
    assert_eq!(nodes, [2, 3]);
    assert_eq!(
        asked[0].1,
        format!(
            "select string_agg(cast(w.project_id as text), ',') from (\
             (with emails as not materialized (select * from emails_1), \
             campaigns as not materialized (select * from campaigns_3) {look}) union all \
             (with campaigns as not materialized (select * from campaigns_6), \
             emails as not materialized (select * from emails_5) {look})) as w(project_id)"
        )
    );
    assert!(asked[1].1.contains("emails_2") && !asked[1].1.contains("emails_1"), "{}", asked[1].1);
}

#[test]
fn the_tables_of_a_part_of_a_query_are_found() {
    let look = "select u.project_id from segment_upkeep u where exists (select 1 from segments) limit $2";
    assert_eq!(tables(look), ["segments", "segment_upkeep"]);
}

#[test]
fn arguments_become_values() {
    let look = "select 1 where a = $2 and b <= $1 and c in ($3, $4)";
    let args = [Arg::Int(-7), Arg::Int(5), Arg::Bool(false), Arg::Bool(true)];
    assert_eq!(
        with_values(look, &args).unwrap(),
        "select 1 where a = '5'::bigint and b <= '-7'::bigint and c in (false, true)"
    );
    for args in [vec![], vec![Arg::Text("a".into())]] {
        assert!(with_values("select $1", &args).is_err());
    }
}

#[test]
fn the_answer_of_a_server_has_numbers() {
    let read = |answer| numbers(answer).map(|number| number.0).collect::<Vec<_>>();
    assert_eq!(read("3,12"), [3, 12]);
    assert_eq!(read(""), [0_i64; 0]);
}

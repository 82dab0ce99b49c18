//! Where a way divides and comes together: CONDITION in its three modes, `RANDOM_SPLIT`, steps that several lead to.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::{Flow, output, taken};
use mailwright_tests::{contact, create_contact, items, members, read, sized, text, track_ok, with};
use serde_json::{Value, json};

/// A chain of conditions, each of which leads on by its expected branch only, with an EXIT at its end.
async fn chain<'a>(app: &'a App, conditions: &[(Value, &str)]) -> Flow<'a> {
    let flow = Flow::new(app, "begun").await;
    let mut last = (flow.trigger.clone(), json!({}));
    for (config, branch) in conditions {
        let step = flow.loose("CONDITION", config.clone()).await;
        flow.link(&last.0, &step, last.1).await;
        last = (step, json!({"branch": branch}));
    }
    let exit = flow.loose("EXIT", json!({})).await;
    flow.link(&last.0, &exit, last.1).await;
    flow.enable().await;
    flow
}

/// An enabled workflow with an EXIT for each of these branches of its one step, whose reason is the branch.
async fn exits<'a>(app: &'a App, kind: &str, config: Value, branches: &[&str]) -> Flow<'a> {
    let flow = Flow::new(app, "begun").await;
    let step = flow.then(kind, config).await;
    for branch in branches {
        let exit = flow.loose("EXIT", json!({"reason": branch})).await;
        flow.link(&step, &exit, json!({"branch": branch})).await;
    }
    flow.enable().await;
    flow
}

/// An execution once it is over, however.
async fn over(app: &App, flow: &Flow<'_>, id: &str) -> Value {
    app.eventually(&format!("execution {id} is over"), async || {
        let found = flow.execution(id).await;
        (!found["completedAt"].is_null()).then_some(found)
    })
    .await
}

/// Leads a contact through a chain, and checks each branch.
async fn assert_branches(app: &App, conditions: &[(Value, &str)], contact: &Value, context: Value) {
    let flow = chain(app, conditions).await;
    let id = flow.start(&contact["id"], context).await;
    let ended = over(app, &flow, &id).await;
    let steps = items(&ended["stepExecutions"]).iter().filter(|step| step["step"]["type"] == "CONDITION");
    for ((config, branch), step) in conditions.iter().zip(steps) {
        assert_eq!(step["output"]["branch"], *branch, "{config}: {step}");
    }
    assert_eq!(ended["status"], "EXITED", "{ended}");
}

/// How many executions ended for each reason, once so many have.
async fn reasons(app: &App, flow: &Flow<'_>, count: usize) -> BTreeMap<String, usize> {
    let list = flow.path("/executions?status=EXITED&pageSize=100");
    app.eventually_within(Duration::from_mins(1), &format!("{count} executions have ended"), async || {
        (read(app, &list).await["total"] == count).then_some(())
    })
    .await;
    let mut found = BTreeMap::new();
    for page in 1..=count.div_ceil(100) {
        for execution in items(&read(app, &format!("{list}&page={page}")).await["data"]) {
            *found.entry(text(&execution["exitReason"]).to_owned()).or_default() += 1;
        }
    }
    found
}

fn binary(field: &str, operator: &str, value: Value) -> Value {
    let config = json!({"field": field, "operator": operator});
    if value.is_null() { config } else { with(config, &json!({"value": value})) }
}

fn tree(logic: &str, groups: &[Value]) -> Value {
    json!({"mode": "filter", "condition": {"logic": logic, "groups": groups}})
}

both_engines! {
    async fn every_operator_of_a_condition_decides(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({
            "plan": "pro", "score": 10, "text": "10", "vip": true, "zero": 0, "no": false, "note": "50% of $5",
            "profile": {"tier": "gold"},
        })).await;
        let context = json!({"order": {"id": "A-1", "total": 99.5}, "vip": "true", "blank": "", "nothing": null});
        let conditions: Vec<(Value, &str)> = [
            ("data.plan", "equals", json!("pro"), "yes"),
            ("data.plan", "equals", json!("Pro"), "no"),
            ("data.plan", "notEquals", json!("free"), "yes"),
            ("data.plan", "notEquals", json!("pro"), "no"),
            ("contact.data.plan", "equals", json!("pro"), "yes"),
            ("data.profile.tier", "equals", json!("gold"), "yes"),
            ("data.score", "equals", json!(10), "yes"),
            ("data.score", "equals", json!("10"), "no"),
            ("data.vip", "equals", json!(true), "yes"),
            ("data.vip", "equals", json!("true"), "no"),
            ("event.vip", "equals", json!(true), "no"),
            ("event.vip", "equals", json!("true"), "yes"),
            ("data.score", "greaterThan", json!("3"), "yes"),
            ("data.score", "greaterThan", json!(10), "no"),
            ("data.score", "greaterThanOrEqual", json!(10), "yes"),
            ("data.score", "lessThan", json!(10.5), "yes"),
            ("data.score", "lessThanOrEqual", json!(9), "no"),
            ("data.text", "greaterThan", json!(9), "yes"),
            ("data.plan", "greaterThan", json!(1), "no"),
            ("data.note", "contains", json!("0% of $"), "yes"),
            ("data.note", "contains", json!("OF"), "no"),
            ("data.note", "contains", json!("5_%"), "no"),
            ("data.note", "notContains", json!("%"), "no"),
            ("data.note", "notContains", json!("EUR"), "yes"),
            ("data.score", "contains", json!("1"), "yes"),
            ("contact.email", "equals", json!("ann@example.com"), "yes"),
            ("email", "contains", json!("ann@"), "yes"),
            ("contact.subscribed", "equals", json!(true), "yes"),
            ("subscribed", "equals", json!(false), "no"),
            ("event.order.id", "equals", json!("A-1"), "yes"),
            ("workflow.order.total", "lessThan", json!(100), "yes"),
        ].into_iter().map(|(field, operator, value, branch)| (binary(field, operator, value), branch)).collect();
        assert_branches(&app, &conditions, &ann, context.clone()).await;

        // what is not there is found by notExists only; what is empty, 0 or false is there
        let mut conditions = Vec::new();
        for field in ["data.missing", "data.profile.missing", "data.plan.missing", "event.missing", "event.nothing"] {
            for (operator, value) in [
                ("equals", json!("x")), ("notEquals", json!("x")), ("contains", json!("x")), ("exists", Value::Null),
                ("notContains", json!("x")), ("lessThan", json!(5)), ("greaterThanOrEqual", json!(0)),
            ] {
                conditions.push((binary(field, operator, value), "no"));
            }
            conditions.push((binary(field, "notExists", Value::Null), "yes"));
        }
        for part in conditions.chunks(20) {
            let contact = create_contact(&app, &format!("{}@example.com", text(&part[0].0["field"])), true, json!({
                "profile": {"tier": "gold"}, "plan": "pro",
            })).await;
            assert_branches(&app, part, &contact, context.clone()).await;
        }
        let there = ["data.zero", "data.no", "event.blank"].map(|field| (binary(field, "exists", Value::Null), "yes"));
        assert_branches(&app, &there, &ann, context).await;
    }

    async fn a_condition_tells_what_it_compared(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({"plan": "pro", "score": 10})).await;
        for (field, operator, value, actual, branch) in [
            ("data.plan", "equals", json!("pro"), json!("pro"), "yes"),
            ("data.score", "lessThan", json!(5), json!(10), "no"),
            ("data.missing", "equals", json!("x"), Value::Null, "no"),
        ] {
            let flow = exits(&app, "CONDITION", binary(field, operator, value.clone()), &["yes", "no"]).await;
            let id = flow.start(&ann["id"], json!({})).await;
            let ended = flow.once(&id, "EXITED").await;
            assert_eq!(ended["exitReason"], branch);
            let told = output(&ended, "CONDITION");
            let expected = json!({
                "field": field, "operator": operator, "expectedValue": value, "actualValue": actual,
                "result": branch == "yes", "branch": branch,
            });
            for (key, value) in members(&expected) {
                assert_eq!(told[key], *value, "{key} of {told}");
            }
        }
    }

    async fn the_first_branch_of_several_that_matches_is_taken(engine: Engine) {
        let app = App::start(engine).await;
        let config = json!({"mode": "multi", "field": "data.plan", "branches": [
            {"id": "top", "name": "Professional", "operator": "equals", "value": "pro"},
            {"id": "p", "name": "With a p", "operator": "contains", "value": "p"},
            {"id": "none", "name": "No plan", "operator": "notExists"},
        ]});
        let flow = exits(&app, "CONDITION", config, &["top", "p", "none", "default"]).await;
        for (n, (data, branch, name)) in [
            (json!({"plan": "pro"}), "top", Some("Professional")),
            (json!({"plan": "plus"}), "p", Some("With a p")),
            (json!({}), "none", Some("No plan")),
            (json!({"plan": "free"}), "default", None),
        ].into_iter().enumerate() {
            let contact = create_contact(&app, &format!("c{n}@example.com"), true, data.clone()).await;
            let id = flow.start(&contact["id"], json!({})).await;
            let ended = flow.once(&id, "EXITED").await;
            assert_eq!(ended["exitReason"], branch);
            let told = output(&ended, "CONDITION");
            assert_eq!((&told["mode"], &told["branch"]), (&json!("multi"), &json!(branch)), "{told}");
            assert_eq!((&told["field"], &told["actualValue"]), (&json!("data.plan"), &data["plan"]), "{told}");
            if let Some(name) = name {
                assert_eq!(told["matchedBranch"], name);
            }
        }
    }

    async fn a_filter_tree_decides_as_a_segment_does_and_looks_at_the_event(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({"plan": "pro", "score": 10})).await;
        track_ok(&app, json!({"email": "ann@example.com", "event": "bought"})).await;
        let mut lists = Vec::new();
        for emails in [json!(["ann@example.com"]), json!(["bob@example.com"])] {
            let list = json!({"name": "List", "type": "STATIC"});
            let list = app.post("/segments").json(&list).send().await.assert_status(201).json();
            let path = format!("/segments/{}/members", text(&list["id"]));
            let body = json!({"emails": emails, "createMissing": true});
            app.post(&path).json(&body).send().await.assert_status(200);
            lists.push(format!("segment.{}", text(&list["id"])));
        }
        let day = json!({"field": "createdAt", "operator": "within", "value": 1, "unit": "days"});
        let mut conditions = vec![(tree("AND", &[json!({"filters": [day]})]), "yes")];
        for (field, operator, value, branch) in [
            ("email", "contains", json!("NN@"), "yes"),
            ("subscribed", "equals", json!(true), "yes"),
            ("subscribed", "equals", json!(false), "no"),
            ("updatedAt", "lessThan", json!("2020-01-01"), "no"),
            ("data.plan", "equals", json!("pro"), "yes"),
            ("data.score", "equals", json!("10"), "no"),
            ("data.missing", "notExists", Value::Null, "yes"),
            ("event.bought", "triggered", Value::Null, "yes"),
            ("event.sold", "triggered", Value::Null, "no"),
            ("event.amount", "greaterThan", json!(100), "yes"),
            ("event.amount", "equals", json!(151), "no"),
            ("event.kind", "equals", json!("gift"), "yes"),
            ("event.missing", "equals", json!("x"), "no"),
            (lists[0].as_str(), "memberOfSegment", Value::Null, "yes"),
            (lists[1].as_str(), "memberOfSegment", Value::Null, "no"),
        ] {
            let filter = json!({"field": field, "operator": operator, "value": value});
            conditions.push((tree("AND", &[json!({"filters": [filter]})]), branch));
        }
        let pro = json!({"filters": [{"field": "data.plan", "operator": "equals", "value": "pro"}]});
        let gold = json!({"filters": [{"field": "data.plan", "operator": "equals", "value": "gold"}]});
        let nested = json!({"filters": [], "conditions": {"logic": "OR", "groups": [gold, pro]}});
        for (logic, groups, branch) in [
            ("OR", vec![gold.clone(), pro.clone()], "yes"),
            ("AND", vec![gold.clone(), pro.clone()], "no"),
            ("AND", vec![nested.clone(), pro], "yes"),
            ("AND", vec![nested, gold], "no"),
        ] {
            conditions.push((tree(logic, &groups), branch));
        }
        assert_branches(&app, &conditions, &ann, json!({"amount": 150, "kind": "gift"})).await;
    }

    async fn a_branch_without_a_way_ends_the_execution(engine: Engine) {
        let app = App::start(engine).await;
        let split = json!({"mode": "multi", "field": "data.plan", "branches": [
            {"id": "top", "name": "Professional", "operator": "equals", "value": "pro"},
        ]});
        for (n, (config, way, plan, status)) in [
            (binary("data.plan", "equals", json!("pro")), "yes", "pro", "EXITED"),
            (binary("data.plan", "equals", json!("pro")), "yes", "free", "COMPLETED"),
            (binary("data.plan", "equals", json!("pro")), "no", "pro", "COMPLETED"),
            (split.clone(), "top", "pro", "EXITED"),
            (split.clone(), "top", "free", "COMPLETED"),
            (split, "default", "pro", "COMPLETED"),
        ].into_iter().enumerate() {
            let flow = exits(&app, "CONDITION", config, &[way]).await;
            let contact = create_contact(&app, &format!("c{n}@example.com"), true, json!({"plan": plan})).await;
            let id = flow.start(&contact["id"], json!({})).await;
            let ended = flow.once(&id, status).await;
            if status == "COMPLETED" {
                assert_eq!((&ended["currentStepId"], &ended["exitReason"]), (&Value::Null, &Value::Null), "{ended}");
                assert_eq!(taken(&ended), ["TRIGGER COMPLETED", "CONDITION COMPLETED"]);
            }
        }
    }

    async fn a_condition_sees_the_contact_as_it_is_by_then(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "begun").await;
        flow.then("DELAY", json!({"amount": 1, "unit": "hours"})).await;
        let condition = flow.then("CONDITION", binary("data.plan", "equals", json!("pro"))).await;
        let exit = flow.loose("EXIT", json!({})).await;
        flow.link(&condition, &exit, json!({"branch": "yes"})).await;
        flow.enable().await;
        let ann = create_contact(&app, "ann@example.com", true, json!({"plan": "free"})).await;
        let id = flow.start(&ann["id"], json!({})).await;
        flow.once(&id, "WAITING").await;
        let body = json!({"email": "ann@example.com", "event": "upgraded", "data": {"plan": "pro"}});
        track_ok(&app, body).await;
        app.advance(Duration::from_secs(3_601)).await;
        flow.once(&id, "EXITED").await;
    }

    async fn a_random_split_keeps_to_its_weights(engine: Engine) {
        let count = sized(200, 2_000);
        let app = App::start(engine).await;
        let config = json!({"branches": [{"id": "often", "weight": 75}, {"id": "seldom", "weight": 25}]});
        let flow = exits(&app, "RANDOM_SPLIT", config, &["often", "seldom"]).await;
        for first in (0..count).step_by(100) {
            join_all((first..first + 100).map(|n| {
                track_ok(&app, json!({"email": format!("c{n}@example.com"), "event": "begun"}))
            })).await;
        }
        let found = reasons(&app, &flow, count).await;
        assert_eq!(found.values().sum::<usize>(), count, "{found:?}");
        // five times the deviation that is usual
        let most = 5.0 * (count as f64 * 0.75 * 0.25).sqrt();
        let off = (found["often"] as f64 - count as f64 * 0.75).abs();
        assert!(off < most, "{found:?}");
    }

    async fn a_random_split_leads_a_contact_the_same_way_again(engine: Engine) {
        let app = App::start(engine).await;
        let config = json!({"branches": [{"id": "a", "weight": 50}, {"id": "b", "weight": 50}]});
        let flow = exits(&app, "RANDOM_SPLIT", config, &["a", "b"]).await;
        flow.change(json!({"allowReentry": true})).await;
        for n in 0..6 {
            let contact = create_contact(&app, &format!("c{n}@example.com"), true, json!({})).await;
            let mut ways = BTreeSet::new();
            for _ in 0..4 {
                let id = flow.start(&contact["id"], json!({})).await;
                ways.insert(text(&flow.once(&id, "EXITED").await["exitReason"]).to_owned());
            }
            assert_eq!(ways.len(), 1, "{ways:?}");
        }
    }

    async fn ways_come_together_in_one_step(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "begun").await;
        let condition = flow.then("CONDITION", binary("data.plan", "equals", json!("pro"))).await;
        let merge = flow.loose("UPDATE_CONTACT", json!({"updates": {"merged": true}})).await;
        for branch in ["yes", "no"] {
            let step = flow.loose("UPDATE_CONTACT", json!({"updates": {"way": branch}})).await;
            flow.link(&condition, &step, json!({"branch": branch})).await;
            flow.link(&step, &merge, json!({})).await;
        }
        let exit = flow.loose("EXIT", json!({})).await;
        flow.link(&merge, &exit, json!({})).await;
        flow.enable().await;
        for (email, plan, way) in [("ann@example.com", "pro", "yes"), ("bob@example.com", "free", "no")] {
            let before = create_contact(&app, email, true, json!({"plan": plan})).await;
            let id = flow.start(&before["id"], json!({})).await;
            let ended = flow.once(&id, "EXITED").await;
            assert_eq!(taken(&ended)[1..], [
                "CONDITION COMPLETED", "UPDATE_CONTACT COMPLETED", "UPDATE_CONTACT COMPLETED", "EXIT COMPLETED",
            ]);
            let after = contact(&app, &before["id"]).await;
            assert_eq!(after["data"], json!({"plan": plan, "way": way, "merged": true}));
        }
    }
}

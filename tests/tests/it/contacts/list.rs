//! GET /contacts: cursor, order, search, filter and limits.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_keys, assert_only_keys, assert_timestamp, assert_uuid,
};
use mailwright_tests::{column, create_contact, encoded, items, read, shown, text};
use serde_json::{Value, json};

/// All pages of a list, first to last, checking what every page promises.
async fn pages(app: &App, query: &str) -> Vec<Value> {
    let mut pages = vec![read(app, &format!("/contacts?{query}")).await];
    while pages.last().expect("a page")["hasMore"] == true {
        let last = pages.last().expect("a page");
        let cursor = encoded(text(&last["cursor"]));
        let page = read(app, &format!("/contacts?{query}&cursor={cursor}")).await;
        assert_eq!(page["total"], 0, "only the first page counts");
        assert!(pages.len() < 20, "the list does not end");
        pages.push(page);
    }
    assert_eq!(pages.last().expect("a page")["cursor"], Value::Null, "no cursor at the end");
    pages
}

fn all_of(pages: &[Value], key: &str) -> Vec<String> {
    let rows = pages.iter().flat_map(|page| items(&page["data"]));
    rows.map(|row| text(&row[key]).to_owned()).collect()
}

async fn found(app: &App, query: &str) -> Vec<String> {
    let page = read(app, &format!("/contacts?sort=email&dir=asc&{query}")).await;
    assert_eq!(page["total"], items(&page["data"]).len(), "the total counts what the filter keeps: {page}");
    column(&page["data"], "email").into_iter().map(str::to_owned).collect()
}

both_engines! {
    async fn a_cursor_walks_every_contact_once_in_either_order(engine: Engine) {
        let app = App::start(engine).await;
        let addresses: Vec<String> =
            (0..250).map(|n| format!("contact-{:03}@example.com", n * 7 % 250)).collect();
        for group in addresses.chunks(25) {
            join_all(group.iter().map(|address| create_contact(&app, address, true, json!({})))).await;
        }
        let mut expected = addresses.clone();
        expected.sort();

        for (query, sizes) in [
            ("sort=email&dir=asc&limit=100", vec![100, 100, 50]),
            ("sort=email&dir=asc&limit=50", vec![50, 50, 50, 50, 50]),
        ] {
            let pages = pages(&app, query).await;
            assert_eq!(pages.iter().map(|page| items(&page["data"]).len()).collect::<Vec<_>>(), sizes);
            assert_eq!(pages[0]["total"], 250);
            assert_eq!(all_of(&pages, "email"), expected, "{query}");
        }
        let mut backwards = all_of(&pages(&app, "sort=email&dir=desc&limit=100").await, "email");
        backwards.reverse();
        assert_eq!(backwards, expected);

        for (query, ascending) in [
            ("limit=100", false),
            ("sort=createdAt&dir=asc&limit=100", true),
            ("sort=createdAt&dir=desc&limit=37", false),
        ] {
            let pages = pages(&app, query).await;
            let unique: BTreeSet<String> = all_of(&pages, "email").into_iter().collect();
            assert_eq!(unique.into_iter().collect::<Vec<_>>(), expected, "{query}");
            assert_eq!(all_of(&pages, "id").len(), 250, "{query}");
            let mut times = all_of(&pages, "createdAt");
            if !ascending {
                times.reverse();
            }
            assert!(times.is_sorted(), "{query}");
        }
        let searched = pages(&app, "search=contact-1&sort=email&dir=asc&limit=30").await;
        assert_eq!(searched[0]["total"], 100);
        assert_eq!(all_of(&searched, "email"), expected[100..200]);
    }

    async fn a_page_has_the_shape_of_a_cursor_list_and_knows_its_cursors(engine: Engine) {
        let app = App::start(engine).await;
        let empty = read(&app, "/contacts").await;
        assert_eq!(empty, json!({"data": [], "cursor": null, "hasMore": false, "total": 0}));

        create_contact(&app, "ann@example.com", true, json!({"plan": "pro"})).await;
        let page = read(&app, "/contacts").await;
        assert_only_keys(&page, &["data", "cursor", "hasMore", "total"]);
        let contact = &page["data"][0];
        assert_keys(contact, &["id", "email", "subscribed", "data", "createdAt", "updatedAt"]);
        assert_uuid(&contact["id"]);
        assert_timestamp(&contact["createdAt"]);
        assert_timestamp(&contact["updatedAt"]);
        assert_eq!(contact["data"], json!({"plan": "pro"}));
        assert_eq!((&page["hasMore"], &page["total"]), (&json!(false), &json!(1)));

        for cursor in [UNKNOWN_ID, "nonsense", "%00", "1"] {
            let response = app.get(&format!("/contacts?cursor={cursor}")).send().await;
            assert_eq!(response.status, 400, "{cursor}: {}", shown(&response));
            response.assert_error(400, "BAD_REQUEST");
        }
    }

    async fn the_page_size_is_clamped_and_defaults_to_twenty(engine: Engine) {
        let app = App::start(engine).await;
        let addresses = (0..105).map(|n| format!("c{n}@example.com")).collect::<Vec<_>>();
        for group in addresses.chunks(35) {
            join_all(group.iter().map(|address| create_contact(&app, address, true, json!({})))).await;
        }
        for (query, size) in
            [("", 20), ("?limit=1", 1), ("?limit=100", 100), ("?limit=101", 100), ("?limit=99999", 100),
             ("?limit=9223372036854775808", 100), ("?limit=99999999999999999999999999", 100)]
        {
            let page = read(&app, &format!("/contacts{query}")).await;
            assert_eq!(items(&page["data"]).len(), size, "{query}");
            assert_eq!(page["hasMore"], true, "{query}");
            assert_eq!(page["total"], 105, "{query}");
        }
        for query in ["limit=0", "limit=-5", "limit=many", "limit="] {
            let size = items(&read(&app, &format!("/contacts?{query}")).await["data"]).len();
            assert!((1..=100).contains(&size), "{query}: {size}");
        }
    }

    async fn search_takes_every_character_literally(engine: Engine) {
        let app = App::start(engine).await;
        for address in
            ["Ann_Lee@example.com", "annxlee@example.com", "bob+tag@other.example", "carl@example.com"]
        {
            create_contact(&app, address, true, json!({})).await;
        }
        for (search, expected) in [
            (
                "",
                vec![
                    "ann_lee@example.com",
                    "annxlee@example.com",
                    "bob+tag@other.example",
                    "carl@example.com",
                ],
            ),
            ("ann", vec!["ann_lee@example.com", "annxlee@example.com"]),
            ("ANN", vec!["ann_lee@example.com", "annxlee@example.com"]),
            ("Lee@Example", vec!["ann_lee@example.com", "annxlee@example.com"]),
            ("other.EXAMPLE", vec!["bob+tag@other.example"]),
            ("n_l", vec!["ann_lee@example.com"]),
            ("_", vec!["ann_lee@example.com"]),
            ("b+t", vec!["bob+tag@other.example"]),
            ("%", vec![]),
            ("ann%", vec![]),
            ("\\", vec![]),
            ("'", vec![]),
            ("nobody", vec![]),
        ] {
            assert_eq!(found(&app, &format!("search={}", encoded(search))).await, expected, "{search:?}");
        }
    }

    async fn only_true_and_false_filter_by_subscription(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "in@example.com", true, json!({})).await;
        create_contact(&app, "inside@example.com", true, json!({})).await;
        create_contact(&app, "out@example.com", false, json!({})).await;
        assert_eq!(found(&app, "subscribed=true").await, ["in@example.com", "inside@example.com"]);
        assert_eq!(found(&app, "subscribed=false").await, ["out@example.com"]);
        assert_eq!(found(&app, "subscribed=true&search=side").await, ["inside@example.com"]);
        for query in ["", "subscribed=", "subscribed=maybe"] {
            assert_eq!(found(&app, query).await.len(), 3, "{query}");
        }
    }

    async fn an_unrecognised_order_falls_back(engine: Engine) {
        let app = App::start(engine).await;
        for address in ["b@example.com", "a@example.com", "c@example.com"] {
            create_contact(&app, address, true, json!({})).await;
        }
        let default = read(&app, "/contacts").await;
        for query in
            ["sort=updatedAt", "sort=nonsense", "dir=sideways", "sort=createdAt&dir=desc", "sort=&dir="]
        {
            assert_eq!(read(&app, &format!("/contacts?{query}")).await, default, "{query}");
        }
        let ascending = read(&app, "/contacts?sort=email&dir=asc").await;
        assert_eq!(column(&ascending["data"], "email"), ["a@example.com", "b@example.com", "c@example.com"]);
        let fallen_back = read(&app, "/contacts?sort=email&dir=sideways").await;
        assert_eq!(
            column(&fallen_back["data"], "email"),
            ["c@example.com", "b@example.com", "a@example.com"]
        );
    }

    async fn a_project_sees_its_own_contacts_only(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        create_contact(&app, "shared@example.com", true, json!({"whose": "ours"})).await;
        let body = json!({"email": "shared@example.com", "data": {"whose": "theirs"}});
        let created = as_project(&app, &other, "POST", "/contacts").json(&body).send().await;
        let theirs = created.assert_status(201).json();

        let list = as_project(&app, &other, "GET", "/contacts").send().await.assert_status(200).json();
        assert_eq!(column(&list["data"], "id"), [text(&theirs["id"])]);
        let ours = read(&app, "/contacts?search=shared").await;
        assert_eq!(ours["data"][0]["data"], json!({"whose": "ours"}));
        assert_eq!(ours["total"], 1);
    }
}

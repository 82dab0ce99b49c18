//! What a campaign counts of its mails' opens and clicks, and its heat map.

use std::collections::BTreeMap;

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_only_keys, create_contact, items, read, required_header, text,
};

use super::{Mail, OTHER_PERSON, PERSON, PROGRAM, Visitor, campaign, counts, judged, later, start, visit};

const APPLE: Visitor = Visitor { agent: "Mozilla/5.0", address: "17.58.4.2" };

/// Two links to one page, one whose target each contact's data decide, a picture, and one that nobody follows.
const BODY: &str = "<p><a href=\"https://shop.test/sale\">Top <b>button</b></a>\
    <a href=\"https://shop.test/for/{{name}}\">For you</a>\
    <a href=\"https://shop.test/picture\"><img src=\"https://shop.test/x.png\" alt=\"Our &amp; picture\"></a>\
    <a href=\"https://shop.test/sale\">Bottom</a><a href=\"https://shop.test/nobody\">Nobody</a></p>";

async fn links(app: &App, id: &str) -> Vec<Value> {
    items(&read(app, &format!("/campaigns/{id}/links")).await["links"]).to_vec()
}

/// Every open and click of these mails, with the mail's place, once there are so many.
async fn all_hits(app: &App, mails: &[Mail], counts: &[usize]) -> Vec<(usize, Value)> {
    let mut all = Vec::new();
    for (place, (mail, count)) in mails.iter().zip(counts).enumerate() {
        all.extend(judged(app, mail, *count).await.into_iter().map(|hit| (place, hit)));
    }
    all
}

fn is_person(hit: &Value) -> bool {
    hit["class"] == "human"
}

/// How many mails have a hit of this type, by a person or by a machine.
fn mails_with(hits: &[(usize, Value)], kind: &str, person: bool) -> usize {
    let mut places: Vec<usize> = hits
        .iter()
        .filter(|(_, hit)| hit["type"] == kind && is_person(hit) == person)
        .map(|(place, _)| *place)
        .collect();
    places.dedup();
    places.len()
}

both_engines! {
    async fn counters_and_heat_map_are_what_a_recount_of_the_hits_gives(engine: Engine) {
        const CONTACTS: usize = 8;
        let app = start(engine).await;
        for n in 0..CONTACTS {
            create_contact(&app, &format!("c{n}@example.com"), true, json!({"name": format!("name{n}")})).await;
        }
        let (id, mails) = campaign(&app, &json!({"body": BODY})).await;
        later(&app).await;
        let mut made = [0; CONTACTS];
        // who does what: the picture is 9, the link that nobody sees 8, other numbers are places of links
        let course: [&[(usize, Visitor, usize)]; 4] = [
            &[(0, PERSON, 9), (0, PERSON, 0), (1, PERSON, 9), (2, PERSON, 1), (3, PROGRAM, 0), (4, APPLE, 9)],
            &[(0, PERSON, 0), (0, PERSON, 3), (1, PERSON, 3), (2, OTHER_PERSON, 1), (3, PERSON, 9), (5, PROGRAM, 8)],
            &[(0, OTHER_PERSON, 9), (1, PERSON, 3), (2, PERSON, 2), (4, PERSON, 9), (4, PROGRAM, 9), (6, PROGRAM, 1)],
            &[(0, PROGRAM, 0), (1, OTHER_PERSON, 1), (2, PERSON, 9), (6, PERSON, 1), (6, PROGRAM, 0), (3, PROGRAM, 0)],
        ];
        for acts in course {
            for (place, who, what) in acts {
                let mail = &mails[*place];
                let path = match what {
                    9 => mail.picture(),
                    8 => mail.trap(),
                    link => mail.links()[*link].clone(),
                };
                assert!(visit(&app, &path, *who).await.status < 400);
                made[*place] += 1;
            }
            all_hits(&app, &mails, &made).await;
            later(&app).await;
        }
        let hits = all_hits(&app, &mails, &made).await;
        for (place, mail) in mails.iter().enumerate() {
            let of_mail: Vec<&Value> = hits.iter().filter(|(at, _)| *at == place).map(|(_, hit)| hit).collect();
            let count = |kind: &str, person: bool| {
                of_mail.iter().filter(|hit| hit["type"] == kind && is_person(hit) == person).count() as i64
            };
            let recount = [count("open", true), count("click", true), count("open", false), count("click", false)];
            assert_eq!(counts(&app, mail).await, recount, "mail {place}");
        }
        let (stats, shown) = (read(&app, &format!("/campaigns/{id}/stats")).await, read(&app, &format!("/campaigns/{id}")).await);
        for (key, kind, person) in [
            ("openedCount", "open", true), ("clickedCount", "click", true),
            ("machineOpenedCount", "open", false), ("machineClickedCount", "click", false),
        ] {
            assert_eq!(stats[key], mails_with(&hits, kind, person), "{key}: {stats}");
            if person {
                assert_eq!(shown[key], stats[key], "{key}: {shown}");
            }
        }
        assert_eq!(stats["openedCount"], 5);
        assert_eq!(stats["clickedCount"], 4);
        assert_eq!((&stats["openRate"], &stats["clickRate"]), (&json!(62.5), &json!(50.0)), "{stats}");

        let heat = links(&app, &id).await;
        // the two to one page are told apart by their places alone, so by page first
        let page = |url: &Value, source: &Value| match (url.as_str(), source.as_str()) {
            (Some(url), _) if !url.contains("/for/") => url.to_owned(),
            _ => "for".to_owned(),
        };
        let mut by_page: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for link in &heat {
            if link["url"].is_null() && link["source"].is_null() {
                continue; // no link of the mail
            }
            let sums = by_page.entry(page(&link["url"], &link["source"])).or_default();
            sums.0 += link["clicks"].as_i64().expect("a count");
            sums.1 += link["machineClicks"].as_i64().expect("a count");
        }
        let mut recount: BTreeMap<String, (i64, i64)> = by_page.keys().map(|page| (page.clone(), (0, 0))).collect();
        for (_, hit) in hits.iter().filter(|(_, hit)| hit["type"] == "click" && !hit["url"].is_null()) {
            let sums = recount.get_mut(&page(&hit["url"], &Value::Null)).expect("a page of the mail");
            if is_person(hit) { sums.0 += 1 } else { sums.1 += 1 }
        }
        assert_eq!(by_page, recount, "{heat:?}");
        // and place by place, as it was followed
        let of_place = |place: usize| ["clicks", "uniqueClicks", "machineClicks"].map(|key| heat[place][key].as_i64().expect("a count"));
        assert_eq!(of_place(0), [2, 1, 4]);
        assert_eq!(of_place(1), [4, 3, 1]);
        assert_eq!(of_place(2), [1, 1, 0]);
        assert_eq!(of_place(3), [3, 2, 0]);
        assert_eq!(of_place(4), [0, 0, 0]);

        let answer = app.get(&format!("/campaigns/{id}/heat")).send().await.assert_status(200);
        let policy = required_header(&answer, "content-security-policy").to_owned();
        assert!(policy.starts_with("sandbox;"), "{policy}");
        let page = answer.text();
        for (number, said) in [(0, "1 · 14%"), (1, "3 · 43%"), (2, "1 · 14%"), (3, "2 · 29%")] {
            assert!(page.contains(&format!("<a href=\"#link-{number}\">")), "{page}");
            assert!(page.contains(&format!("a[href=\"#link-{number}\"]::after{{content:\"{said}\"")), "{page}");
        }
        assert!(page.contains("<a href=\"#link-4\">Nobody</a>") && !page.contains("a[href=\"#link-4\"]"), "{page}");
        assert!(!page.contains("/t/") && !page.contains("/unsubscribe/"), "nothing of a recipient: {page}");
    }

    async fn a_heat_map_names_the_links_in_their_order(engine: Engine) {
        let app = start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"name": "Ann"})).await;
        let draft = json!({"name": "n", "subject": "s", "body": BODY, "from": app.from(), "audienceType": "ALL"});
        let made = app.post("/campaigns").json(&draft).send().await.assert_status(201).json();
        assert_eq!(links(&app, text(&made["data"]["id"])).await, Vec::<Value>::new(), "not sent yet");
        let (id, mails) = campaign(&app, &json!({"body": BODY})).await;
        let heat = links(&app, &id).await;
        for link in &heat {
            assert_only_keys(link, &["position", "url", "source", "text", "clicks", "uniqueClicks", "machineClicks"]);
        }
        let shown: Vec<_> = heat.iter().map(|l| (l["position"].as_i64(), l["url"].as_str(), l["source"].as_str(), text(&l["text"]))).collect();
        assert_eq!(shown, [
            (Some(1), Some("https://shop.test/sale"), None, "Top button"),
            (Some(2), None, Some("https://shop.test/for/{{name}}"), "For you"),
            (Some(3), Some("https://shop.test/picture"), None, "Our & picture"),
            (Some(4), Some("https://shop.test/sale"), None, "Bottom"),
            (Some(5), Some("https://shop.test/nobody"), None, "Nobody"),
        ]);
        assert_eq!(mails[0].links().len(), 5);

        let neighbour = app.bootstrap("Neighbour", "neighbour.test").await;
        as_project(&app, &neighbour, "GET", &format!("/campaigns/{id}/links")).send().await.assert_status(404);
        app.get(&format!("/campaigns/{UNKNOWN_ID}/links")).send().await.assert_status(404);
        let draft = text(&made["data"]["id"]);
        for (campaign, what) in [(draft, "not sent yet"), (UNKNOWN_ID, "unknown")] {
            assert_eq!(app.get(&format!("/campaigns/{campaign}/heat")).send().await.status, 404, "{what}");
        }
        as_project(&app, &neighbour, "GET", &format!("/campaigns/{id}/heat")).send().await.assert_status(404);
    }

    async fn the_link_that_nobody_sees_is_none_of_the_heat_map(engine: Engine) {
        let app = start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"name": "Ann"})).await;
        let (id, mails) = campaign(&app, &json!({"body": BODY})).await;
        later(&app).await;
        visit(&app, &mails[0].trap(), PROGRAM).await.assert_status(204);
        judged(&app, &mails[0], 1).await;
        assert_eq!(read(&app, &format!("/campaigns/{id}/stats")).await["machineClickedCount"], 1);
        let heat = links(&app, &id).await;
        assert_eq!(heat.len(), 5, "only what a reader can see: {heat:?}");
    }

    async fn links_that_come_whole_with_values_are_the_last_of_the_heat_map(engine: Engine) {
        let app = start(engine).await;
        for name in ["ann", "bob"] {
            let markup = format!("<a href=\"https://shop.test/{name}\">{name}</a>");
            create_contact(&app, &format!("{name}@example.com"), true, json!({"markup": markup})).await;
        }
        let body = "{{{markup}}}<a href=\"https://shop.test/fixed\">F</a>";
        let (id, mails) = campaign(&app, &json!({"body": body})).await;
        later(&app).await;
        for mail in &mails {
            visit(&app, &mail.links()[0], PERSON).await.assert_status(302);
            judged(&app, mail, 1).await;
        }
        let heat = links(&app, &id).await;
        assert_eq!(heat.len(), 2, "{heat:?}");
        assert_eq!((&heat[0]["url"], &heat[0]["clicks"]), (&json!("https://shop.test/fixed"), &json!(0)));
        assert_eq!((&heat[1]["url"], &heat[1]["clicks"], &heat[1]["uniqueClicks"]), (&json!(null), &json!(2), &json!(2)));
    }
}

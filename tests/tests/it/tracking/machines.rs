//! Machines that look at mails, told from people.

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{contact, create_contact, read, subscription_events, text};

use super::{
    Mail, PERSON, THREE_LINKS, Visitor, campaign, column, counts, events, judged, later, sent, start, visit,
};

/// What a scanner with an ordinary browser's name calls itself.
const CHROME: &str = PERSON.agent;
const GMAIL: Visitor = Visitor {
    agent: "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)",
    address: "66.249.84.33",
};

/// What a machine asks for.
#[derive(Clone, Copy, Debug)]
enum Asks {
    Picture,
    OneLink,
    PictureAndLink,
    AllLinksAtOnce,
    EverythingAtOnce,
    TrapAndLink,
}

/// Ten machines: their names, who they are, what they ask for, and what they are judged to be.
const MACHINES: [(&str, Visitor, Asks, &str); 10] = [
    ("Apple", Visitor { agent: "Mozilla/5.0", address: "17.58.4.2" }, Asks::Picture, "proxy"),
    ("Gmail", GMAIL, Asks::Picture, "proxy"),
    ("SafeLinks", Visitor { agent: CHROME, address: "104.47.11.254" }, Asks::AllLinksAtOnce, "scanner"),
    ("Barracuda", Visitor { agent: CHROME, address: "209.222.82.9" }, Asks::OneLink, "scanner"),
    ("Proofpoint", Visitor { agent: CHROME, address: "148.163.130.77" }, Asks::PictureAndLink, "scanner"),
    ("Mimecast", Visitor { agent: CHROME, address: "170.10.128.61" }, Asks::EverythingAtOnce, "scanner"),
    (
        "link preview",
        Visitor {
            agent: "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
            address: "192.0.2.10",
        },
        Asks::OneLink,
        "scanner",
    ),
    ("curl", Visitor { agent: "curl/8.11.0", address: "192.0.2.11" }, Asks::PictureAndLink, "scanner"),
    ("burst", Visitor { agent: CHROME, address: "192.0.2.77" }, Asks::AllLinksAtOnce, "scanner"),
    ("trap", Visitor { agent: CHROME, address: "198.51.100.99" }, Asks::TrapAndLink, "scanner"),
];

/// Asks for it; returns how many opens and clicks that was.
async fn ask(app: &App, mail: &Mail, who: Visitor, asks: Asks) -> (i64, i64) {
    let (links, picture) = (mail.links(), mail.picture());
    let (paths, opens) = match asks {
        Asks::Picture => (vec![picture], 1),
        Asks::OneLink => (vec![links[1].clone()], 0),
        Asks::PictureAndLink => (vec![picture, links[0].clone()], 1),
        Asks::AllLinksAtOnce => (links, 0),
        Asks::EverythingAtOnce => ([vec![picture, mail.trap()], links].concat(), 1),
        Asks::TrapAndLink => (vec![mail.trap(), links[2].clone()], 0),
    };
    for answer in join_all(paths.iter().map(|path| visit(app, path, who))).await {
        assert!(matches!(answer.status, 200 | 204 | 302), "{who:?}: {}", answer.status);
    }
    (opens, paths.len() as i64 - opens)
}

both_engines! {
    async fn ten_scanners_are_counted_apart_and_change_no_subscription(engine: Engine) {
        let app = start(engine).await;
        for number in 0..=MACHINES.len() {
            create_contact(&app, &format!("a{number:02}@example.com"), true, json!({})).await;
        }
        let (id, mails) = campaign(&app, &json!({"type": "MARKETING"})).await;
        assert_eq!(mails.len(), MACHINES.len() + 1);
        later(&app).await;
        let (mut opened, mut clicked, mut all_clicks) = (0, 0, 0);
        for (mail, (name, who, asks, class)) in mails.iter().zip(MACHINES) {
            if name == "Gmail" {
                // Gmail fetches pictures ahead when the mail comes
                let now = app.now();
                app.tamper(&format!("update emails set sent_at = {now} where recipient = 'a01@example.com'")).await;
            }
            let (opens, clicks) = ask(&app, mail, who, asks).await;
            // some of them follow the links that lead out as well
            for href in mail.hrefs().iter().filter_map(|href| href.strip_prefix(app.base_url())) {
                for method in ["HEAD", "GET"] {
                    if !href.starts_with("/t/") || method == "HEAD" {
                        let request = app.request(method, href).header("user-agent", who.agent);
                        let answer = request.header("x-forwarded-for", who.address).send().await;
                        assert!(answer.status < 400, "{name}: {method} {href}: {}", answer.status);
                    }
                }
            }
            let hits = judged(&app, mail, (opens + clicks) as usize).await;
            assert!(column(&hits, "class").iter().all(|found| *found == class), "{name}: {hits:?}");
            assert_eq!(counts(&app, mail).await, [0, 0, opens, clicks], "{name}");
            let email = app.email(&mail.id).await;
            assert_eq!((&email["status"], &email["openedAt"], &email["clickedAt"]), (&json!("SENT"), &Value::Null, &Value::Null), "{name}");
            for event in ["email.open", "email.click"] {
                assert!(events(&app, mail, event).await.is_empty(), "{name}: {event}");
            }
            assert_eq!(contact(&app, &mail.contact).await["subscribed"], true, "{name}");
            assert!(subscription_events(&app, &mail.contact).await.is_empty(), "{name}");
            opened += i64::from(opens > 0);
            clicked += i64::from(clicks > 0);
            all_clicks += clicks;
        }
        let reader = mails.last().expect("a mail that a person gets");
        visit(&app, &reader.picture(), PERSON).await;
        visit(&app, &reader.links()[0], PERSON).await;
        let hits = judged(&app, reader, 2).await;
        assert_eq!(column(&hits, "class"), ["human", "human"], "{hits:?}");
        assert_eq!(counts(&app, reader).await, [1, 1, 0, 0]);

        let stats = read(&app, &format!("/campaigns/{id}/stats")).await;
        for (key, count) in [
            ("openedCount", 1), ("clickedCount", 1), ("machineOpenedCount", opened), ("machineClickedCount", clicked),
            ("unsubscribedCount", 0), ("sentCount", mails.len() as i64),
        ] {
            assert_eq!(stats[key], count, "{key}: {stats}");
        }
        let heat = read(&app, &format!("/campaigns/{id}/links")).await;
        let sum = |key: &str| -> i64 {
            heat["links"].as_array().expect("links").iter().map(|link| link[key].as_i64().expect("a count")).sum()
        };
        assert_eq!((sum("clicks"), sum("uniqueClicks")), (1, 1), "{heat}");
        // two of the machines followed the link that nobody sees, which is none of the mail's links
        assert!([all_clicks, all_clicks - 2].contains(&sum("machineClicks")), "{heat}");
    }

    async fn each_machine_is_named_with_a_reason(engine: Engine) {
        let app = start(engine).await;
        for (name, who, asks, reasons) in [
            ("Apple", MACHINES[0].1, Asks::Picture, &["agent", "address-and-agent"][..]),
            ("SafeLinks", MACHINES[2].1, Asks::OneLink, &["address"]),
            ("preview", MACHINES[6].1, Asks::OneLink, &["agent"]),
            ("burst", MACHINES[8].1, Asks::AllLinksAtOnce, &["burst"]),
            ("no name", Visitor { agent: "", address: "192.0.2.13" }, Asks::OneLink, &["no-agent"]),
            ("headless", Visitor { agent: "Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/131.0", address: "192.0.2.14" }, Asks::Picture, &["agent"]),
            ("IPv6", Visitor { agent: CHROME, address: "2a01:111:f403:1::5" }, Asks::OneLink, &["address"]),
        ] {
            let mail = sent(&app, &json!({})).await;
            later(&app).await;
            let (opens, clicks) = ask(&app, &mail, who, asks).await;
            let hits = judged(&app, &mail, (opens + clicks) as usize).await;
            for hit in &hits {
                assert!(reasons.contains(&text(&hit["reason"])), "{name}: {hit}");
            }
        }
    }

    async fn a_click_just_after_the_hand_over_is_no_persons(engine: Engine) {
        let app = start(engine).await;
        let mail = sent(&app, &json!({})).await;
        later(&app).await;
        app.tamper(&format!("update emails set sent_at = {}", app.now())).await;
        visit(&app, &mail.links()[0], PERSON).await;
        let hits = judged(&app, &mail, 1).await;
        assert_eq!((column(&hits, "class"), column(&hits, "reason")), (vec!["scanner"], vec!["too-soon"]), "{hits:?}");
    }

    async fn proxies_of_readers_are_people_once_the_mail_is_read(engine: Engine) {
        let app = start(engine).await;
        let mail = sent(&app, &json!({})).await;
        later(&app).await;
        visit(&app, &mail.picture(), GMAIL).await;
        let hits = judged(&app, &mail, 1).await;
        assert_eq!((column(&hits, "class"), column(&hits, "reason")), (vec!["human"], vec!["image-proxy"]), "{hits:?}");
        assert_eq!(counts(&app, &mail).await, [1, 0, 0, 0]);
        // but they follow no links for them
        visit(&app, &mail.links()[0], GMAIL).await;
        judged(&app, &mail, 2).await;
        assert_eq!(counts(&app, &mail).await, [1, 0, 0, 1]);
    }

    async fn a_person_behind_a_proxy_that_is_not_ours_says_nothing_of_itself(engine: Engine) {
        // no proxy of our own: what a client says of its address is its own invention
        let app = App::builder(engine).env("MAILWRIGHT_TRACKING_SETTLE_MS", "0").start().await;
        let mail = sent(&app, &json!({"body": THREE_LINKS})).await;
        later(&app).await;
        visit(&app, &mail.links()[0], Visitor { agent: CHROME, address: "209.222.82.9" }).await;
        let hits = judged(&app, &mail, 1).await;
        assert_eq!((&hits[0]["ip"], &hits[0]["class"]), (&json!("127.0.0.1"), &json!("human")), "{hits:?}");
    }

    async fn a_person_who_opens_links_in_tabs_stays_a_person(engine: Engine) {
        let app = start(engine).await;
        let body = (0..10).map(|n| format!("<a href=\"https://shop.test/{n}\">{n}</a>")).collect::<Vec<_>>().concat();
        let mail = sent(&app, &json!({"body": body})).await;
        later(&app).await;
        visit(&app, &mail.picture(), PERSON).await;
        // four of ten links
        for link in mail.links().iter().take(4) {
            visit(&app, link, PERSON).await;
        }
        // and the same again and again
        for _ in 0..5 {
            visit(&app, &mail.links()[0], PERSON).await;
        }
        let hits = judged(&app, &mail, 10).await;
        assert!(column(&hits, "class").iter().all(|class| *class == "human"), "{hits:?}");
        assert_eq!(counts(&app, &mail).await, [1, 9, 0, 0]);
    }
}

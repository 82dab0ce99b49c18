//! Where tracked links lead, and that they lead nowhere else.

use mailwright_testkit::{App, Engine, Response, both_engines, json};
use mailwright_tests::{as_project, required_header, shown, text};

use super::{Mail, PERSON, builder, column, counts, judged, later, sent, start, stored, target, visit};

/// The answer says that the link is not valid, to people, and leads nowhere.
fn assert_nowhere(answer: &Response, what: &str) {
    assert_eq!(answer.status, 404, "{what}: {}", shown(answer));
    assert_eq!(answer.headers.get("location"), None, "{what}");
    assert!(required_header(answer, "content-type").starts_with("text/html"), "{what}: {}", shown(answer));
    assert_eq!(answer.headers.get("refresh"), None, "{what}");
    assert!(answer.text().contains("This link is not valid"), "{what}: {}", shown(answer));
}

/// A text with another character in this place.
fn forged(text: &str, at: usize) -> String {
    let other = if text.as_bytes()[at] == b'A' { "B" } else { "A" };
    format!("{}{other}{}", &text[..at], &text[at + 1..])
}

both_engines! {
    async fn a_link_leads_exactly_to_what_stood_in_the_mail(engine: Engine) {
        let app = start(engine).await;
        let targets = [
            ("https://a.test", "https://a.test/"),
            ("https://a.test/p?q=1#part", "https://a.test/p?q=1#part"),
            ("http://a.test:8080/x", "http://a.test:8080/x"),
            ("https://user:pw@a.test/x", "https://user:pw@a.test/x"),
            ("https://a.test/a%2Fb?x=%26&amp;y=+", "https://a.test/a%2Fb?x=%26&y=+"),
            ("https://a.test/?a=1&amp;a=1&amp;&amp;b", "https://a.test/?a=1&a=1&&b"),
            ("https://a.test/?next=https://b.test/?x=1%26y=2", "https://a.test/?next=https://b.test/?x=1%26y=2"),
            ("https://a.test/?", "https://a.test/?"),
            ("https://a.test/#", "https://a.test/#"),
            ("https://a.test/?x=1&copy=2", "https://a.test/?x=1&copy=2"),
            // as a browser writes it
            ("HTTPS://A.test/Path", "https://a.test/Path"),
            (" https://a.test/a b ", "https://a.test/a%20b"),
            ("https://bücher.test/ä?ü=ö", "https://xn--bcher-kva.test/%C3%A4?%C3%BC=%C3%B6"),
            ("https://[2001:db8::1]:8443/x", "https://[2001:db8::1]:8443/x"),
        ];
        let body = targets.iter().map(|(written, _)| format!("<a href=\"{written}\">x</a>")).collect::<Vec<_>>().concat();
        let mail = sent(&app, &json!({"body": body})).await;
        let links = mail.links();
        assert_eq!(links.len(), targets.len(), "{}", mail.html);
        for (link, (written, expected)) in links.iter().zip(targets) {
            let answer = visit(&app, link, PERSON).await.assert_status(302);
            assert_eq!(required_header(&answer, "location"), expected, "{written}");
            assert!(required_header(&answer, "cache-control").contains("no-store"), "{written}");
            assert_eq!(answer.headers.get_all("location").len(), 1);
        }
    }

    async fn tokens_that_are_not_ours_lead_nowhere(engine: Engine) {
        let app = start(engine).await;
        let mail = sent(&app, &json!({})).await;
        let token = mail.token();
        let mut tokens: Vec<String> = (0..token.len()).map(|at| forged(&token, at)).collect();
        tokens.extend([
            token[1..].to_owned(),
            token[..token.len() - 1].to_owned(),
            format!("{token}A"),
            format!("{token}="),
            "A".repeat(40),
            "x".to_owned(),
            mail.id.clone(),
            "%00".repeat(40),
            "%C3%A9".to_owned(),
            token.to_uppercase(),
        ]);
        // another instance has another secret
        let other = App::builder(engine).env("MAILWRIGHT_SECRET", "fedcba9876543210".repeat(4)).start().await;
        tokens.push(sent(&other, &json!({})).await.token());
        for token in &tokens {
            for end in ["0", "999", "o.gif"] {
                let path = format!("/t/{token}/{end}");
                assert_nowhere(&visit(&app, &path, PERSON).await, &path);
            }
        }
        // those of ours say so in the language of the browser
        let request = app.request("GET", &format!("/t/{}/0", tokens[0])).header("accept-language", "fr");
        let answer = request.send().await.assert_status(404);
        assert_eq!(required_header(&answer, "content-language"), "fr");
        later(&app).await;
        visit(&app, &mail.picture(), PERSON).await.assert_status(200);
        assert_eq!(judged(&app, &mail, 1).await.len(), 1, "nothing was noted of the others");
    }

    async fn numbers_that_the_mail_does_not_have_lead_nowhere(engine: Engine) {
        let app = start(engine).await;
        let mail = sent(&app, &json!({})).await;
        let token = mail.token();
        for number in [
            "3", "4", "500", "998", "1000", "1001", "2000", "1998", "1999", "999999", "4294967295", "4294967296",
            "18446744073709551616", "-1", "+0", "00", "0x0", "0.0", "%30%30", "a", "%20", "0%20", "o.png", "O.GIF", "",
        ] {
            let answer = visit(&app, &format!("/t/{token}/{number}"), PERSON).await;
            assert_eq!(answer.status, 404, "{number}: {}", shown(&answer));
            assert_eq!(answer.headers.get("location"), None, "{number}");
        }
        for path in ["/t", "/t/", &format!("/t/{token}"), &format!("/t/{token}/0/1"), &format!("/t/{token}/0/")] {
            let answer = visit(&app, path, PERSON).await;
            assert_eq!(answer.status, 404, "{path}: {}", shown(&answer));
        }
        assert_eq!(visit(&app, &mail.trap(), PERSON).await.status, 204, "the link that nobody sees leads nowhere");
        assert_eq!(target(&app, &format!("/t/{token}/0"), PERSON).await, "https://shop.test/one");
    }

    async fn a_token_has_the_links_of_its_own_mail_alone(engine: Engine) {
        let app = start(engine).await;
        let body = "<a href=\"{{url}}\">x</a><a href=\"https://shop.test/fixed\">y</a>";
        let ann = sent(&app, &json!({"body": body, "data": {"url": "https://ann.test/secret"}})).await;
        let bob = json!({"to": "bob@example.com", "body": body, "data": {"url": "https://bob.test/secret"}});
        let bob = sent(&app, &bob).await;
        let one = sent(&app, &json!({"body": "<a href=\"https://shop.test/one\">x</a>"})).await;
        assert_eq!(target(&app, &ann.links()[0], PERSON).await, "https://ann.test/secret");
        assert_eq!(target(&app, &bob.links()[0], PERSON).await, "https://bob.test/secret");
        for link in ann.links() {
            let foreign = link.replace(&ann.token(), &one.token());
            assert_nowhere(&visit(&app, &foreign, PERSON).await, &foreign);
        }
        // a mail without links has not even the one that nobody sees to lead anywhere
        let none = sent(&app, &json!({"body": "<p>x</p>"})).await;
        assert_nowhere(&visit(&app, &format!("/t/{}/0", none.token()), PERSON).await, "no links");

        let neighbour = app.bootstrap("Neighbour", "neighbour.test").await;
        let theirs = json!({"to": "eve@example.com", "subject": "s", "body": "<a href=\"https://eve.test/1\">e</a>", "from": neighbour.from});
        let data = as_project(&app, &neighbour, "POST", "/v1/send").json(&theirs).send().await.assert_status(200).json();
        let id = text(&data["data"]["emails"][0]["email"]).to_owned();
        let captured = app.eventually("their mail is captured", async || {
            let answer = as_project(&app, &neighbour, "GET", &format!("/mailbox/{id}")).send().await;
            (answer.status == 200).then(|| answer.json())
        }).await;
        let theirs = Mail { id, html: text(&captured["html"]).to_owned(), ..one.clone() };
        assert_eq!(target(&app, &theirs.links()[0], PERSON).await, "https://eve.test/1");
        assert_ne!(theirs.token(), one.token());
        let foreign = ann.links()[0].replace(&ann.token(), &theirs.token());
        assert_nowhere(&visit(&app, &foreign, PERSON).await, "their token has our number");
        as_project(&app, &neighbour, "GET", &format!("/emails/{}/hits", one.id)).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
    }

    async fn nothing_in_a_request_changes_the_target(engine: Engine) {
        let app = start(engine).await;
        let mail = sent(&app, &json!({})).await;
        let link = &mail.links()[0];
        for query in ["?url=https://evil.test", "?u=https://evil.test&next=//evil.test", "?", "?0=https%3A%2F%2Fevil.test", "?utm_source=evil"] {
            assert_eq!(target(&app, &format!("{link}{query}"), PERSON).await, "https://shop.test/one", "{query}");
        }
        let token = mail.token();
        for rest in ["https://evil.test", "https%3A%2F%2Fevil.test", "//evil.test", "%2F%2Fevil.test", "..%2f..%2fevil", "@evil.test", "0@evil.test", "0%0d%0aLocation:%20https://evil.test"] {
            let answer = visit(&app, &format!("/t/{token}/{rest}"), PERSON).await;
            assert!(answer.status >= 400 && answer.headers.get("location").is_none(), "{rest}: {}", shown(&answer));
        }
        for header in ["host", "x-forwarded-host", "referer", "x-original-url", "x-rewrite-url"] {
            let answer = app.request("GET", link).header(header, "evil.test").send().await.assert_status(302);
            assert_eq!(required_header(&answer, "location"), "https://shop.test/one", "{header}");
        }
    }

    async fn head_and_prefetches_are_answered_and_not_counted(engine: Engine) {
        let app = start(engine).await;
        let mail = sent(&app, &json!({})).await;
        later(&app).await;
        let (link, picture) = (&mail.links()[1], &mail.picture());
        let get = |path: &str| app.request("GET", path).header("user-agent", PERSON.agent);
        let head = app.request("HEAD", link).header("user-agent", PERSON.agent).send().await.assert_status(302);
        assert_eq!(required_header(&head, "location"), "https://shop.test/two");
        let head = app.request("HEAD", picture).send().await.assert_status(200);
        assert_eq!(required_header(&head, "content-type"), "image/gif");
        assert!(head.body.is_empty());
        for (name, value) in [
            ("sec-purpose", "prefetch"),
            ("sec-purpose", "prefetch;prerender"),
            ("sec-purpose", "Prefetch; anonymous-client-ip"),
            ("purpose", "prefetch"),
            ("x-purpose", "preview"),
            ("x-moz", "prefetch"),
        ] {
            let answer = get(link).header(name, value).send().await.assert_status(302);
            assert_eq!(required_header(&answer, "location"), "https://shop.test/two", "{name}: {value}");
            get(picture).header(name, value).send().await.assert_status(200);
        }
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            for path in [link, picture, &mail.trap()] {
                let answer = app.request(method, path).header("user-agent", PERSON.agent).send().await;
                answer.assert_error(405, "METHOD_NOT_ALLOWED");
                assert_eq!(answer.headers.get("location"), None);
            }
        }
        assert_eq!(target(&app, link, PERSON).await, "https://shop.test/two");
        // it came last, and is the only one
        let hits = judged(&app, &mail, 1).await;
        assert_eq!((column(&hits, "type"), column(&hits, "class")), (vec!["click"], vec!["human"]), "{hits:?}");
        assert_eq!(counts(&app, &mail).await, [0, 1, 0, 0]);
        // an ordinary visit from a browser is no prefetch
        get(link).header("sec-fetch-mode", "navigate").header("purpose", "other").send().await.assert_status(302);
        stored(&app, &mail, 2).await;
    }

    async fn links_are_for_everybody_under_every_name_and_without_a_limit(engine: Engine) {
        let app = builder(engine).env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "30").start().await;
        let mail = sent(&app, &json!({})).await;
        for n in 0..60 {
            let request = app.request("GET", &mail.picture()).header("x-forwarded-for", PERSON.address);
            let answer = request.header("host", "news.old-name.test").send().await;
            assert_eq!(answer.status, 200, "the {n}th: {}", shown(&answer));
        }
        // a key or a cookie that somebody sends along is nobody's business
        let request = app.request("GET", &mail.links()[0]).bearer("sk_nonsense").header("cookie", "session=x");
        request.send().await.assert_status(302);
    }
}

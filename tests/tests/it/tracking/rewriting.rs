//! What becomes of the links of a body.

use mailwright_testkit::{App, Engine, both_engines, json};
use mailwright_tests::{create_contact, create_template, mail_header, read, send_ok, text};

use super::{Mail, PERSON, THREE_LINKS, sent, start, target, visit};

both_engines! {
    async fn links_of_every_origin_are_tracked_and_lead_where_they_led(engine: Engine) {
        let app = start(engine).await;
        let body = "<html><body><a href=\"https://shop.test/fixed?x=1&amp;y=2#part\">Fixed</a>\
            <a class=\"b\" href=\"{{ url }}\">Variable</a>\
            <a href=\"https://shop.test/{{ path }}/end\">Partly</a>\
            {% for item in items %}<a href=\"{{ item.url }}\">{{ item.name }}</a>{% endfor %}\
            {% if yes %}<a href=\"https://shop.test/yes\">Yes</a>{% else %}<a href=\"https://shop.test/no\">No</a>{% endif %}\
            {{{ markup }}}\
            <!--[if !mso]><!--><a href=\"https://shop.test/not-outlook\">N</a><!--<![endif]-->\
            <map name=\"m\"><area href=\"https://shop.test/area\"></map></body></html>";
        let data = json!({
            "url": "https://v.test/?a=1&b=2", "path": "a/b", "yes": true,
            "items": [{"url": "https://i.test/1", "name": "One"}, {"url": "https://i.test/2", "name": "Two"}],
            "markup": "<a href=\"https://w.test/page?a=1&amp;b=2\">Markup</a>",
        });
        let mail = sent(&app, &json!({"body": body, "data": data})).await;
        let mut found = Vec::new();
        for link in mail.links() {
            found.push(target(&app, &link, PERSON).await);
        }
        assert_eq!(found, [
            "https://shop.test/fixed?x=1&y=2#part",
            "https://v.test/?a=1&b=2",
            "https://shop.test/a/b/end",
            "https://i.test/1",
            "https://i.test/2",
            "https://shop.test/yes",
            "https://w.test/page?a=1&b=2",
            "https://shop.test/not-outlook",
            "https://shop.test/area",
        ]);
        assert!(!mail.html.contains(".test/"), "nothing leads past the service: {}", mail.html);
        for word in ["Fixed", "<a class=\"b\" href=", "Variable", "One", "Two", "Markup"] {
            assert!(mail.html.contains(word), "{word}: {}", mail.html);
        }
    }

    async fn what_is_no_link_to_a_page_stays_as_it_is(engine: Engine) {
        let app = start(engine).await;
        let untouched = [
            "<a href=\"mailto:help@shop.test?subject=a%20b\">m</a>",
            "<a href=\"tel:+4712345678\">t</a>",
            "<a href=\"#top\">u</a>",
            "<a href=\"/relative\">r</a>",
            "<a href=\"//shop.test/any\">s</a>",
            "<a href=\"\">e</a>",
            "<a name=\"top\">n</a>",
            "<a href=\"https://shop.test/plain\" data-no-track>p</a>",
            "<a data-no-track=\"1\" href=\"https://shop.test/{{ email }}/x\">q</a>",
            "<a href=\"{{ scheme }}\">j</a>",
            "<!-- <a href=\"https://shop.test/comment\">c</a> -->",
            "<!--[if mso]><a href=\"https://shop.test/outlook\">o</a><![endif]-->",
            "<img src=\"https://shop.test/logo.png\">",
            "&lt;a href=\"https://shop.test/text\"&gt;",
            "<p>https://shop.test/words</p>",
            "<style>a[href=\"https://shop.test/style\"] { color: red }</style>",
        ];
        let body = format!("<html><body>{}</body></html>", untouched.concat());
        let data = json!({"scheme": "sms:+4712345678"});
        let mail = sent(&app, &json!({"body": body, "data": data})).await;
        let expected = body.replace("{{ email }}", "ann@example.com").replace("{{ scheme }}", "sms:+4712345678");
        let before = expected.strip_suffix("</body></html>").expect("the end");
        assert!(mail.html.contains(before), "{before}\n{}", mail.html);
        assert_eq!(mail.links(), Vec::<String>::new(), "{}", mail.html);
    }

    async fn the_recipients_own_pages_are_nobodys_business(engine: Engine) {
        let app = start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let body = "<html><body><a href=\"https://shop.test/a\">A</a><a href=\"{{unsubscribeUrl}}\">1</a>\
            <a href=\"{{manageUrl}}\">2</a><a href=\"{{subscribeUrl}}&amp;x=1\">3</a>{{{out}}}</body></html>";
        let template = create_template(&app, &json!({"type": "MARKETING", "body": body})).await;
        let out = format!("<a href=\"{}/unsubscribe/{}\">4</a>", app.base_url(), text(&ann["id"]));
        let mail = json!({"to": "ann@example.com", "template": template["id"], "data": {"out": out}});
        let data = send_ok(&app, mail).await;
        let mail = Mail::of(&app, text(&data["emails"][0]["email"])).await;
        assert_eq!(mail.links().len(), 1, "{}", mail.html);
        let pages = ["/unsubscribe/", "/manage/", "/subscribe/"];
        let own = mail.hrefs().into_iter().filter(|href| {
            pages.iter().any(|page| href.starts_with(&format!("{}{page}", app.base_url())))
        });
        // three of the body, one of a value, two of the footer
        assert_eq!(own.count(), 6, "{}", mail.html);
        let captured = read(&app, &format!("/mailbox/{}", mail.id)).await;
        assert!(!mail_header(&captured, "List-Unsubscribe").contains("/t/"));
        assert!(!mail.text.contains("/t/") && mail.text.contains("/unsubscribe/"), "{}", mail.text);
    }

    async fn the_text_part_has_the_senders_own_addresses(engine: Engine) {
        let app = start(engine).await;
        let made = sent(&app, &json!({"body": "<p><a href=\"https://shop.test/a?x=1&amp;y=2\">A</a></p>"})).await;
        assert!(made.text.contains("https://shop.test/a?x=1&y=2") && !made.text.contains("/t/"), "{}", made.text);
        let given = sent(&app, &json!({"text": "Here: https://shop.test/given {{email}}"})).await;
        assert_eq!(given.text.trim(), "Here: https://shop.test/given ann@example.com");
        assert_eq!(given.links().len(), 3);
    }

    async fn a_mail_has_one_picture_and_one_link_that_nobody_sees(engine: Engine) {
        let app = start(engine).await;
        let with_links = sent(&app, &json!({"body": format!("<html><body>{}</body></html>", THREE_LINKS)})).await;
        let without = sent(&app, &json!({"body": "<p>Nothing to follow</p>"})).await;
        assert!(with_links.trap().ends_with("/999"));
        assert!(!without.html.contains("/999"), "{}", without.html);
        let (_, seen) = with_links.html.split_once("Three</a></p>").expect("the end of the body");
        assert!(seen.contains("/999\" tabindex=\"-1\" aria-hidden=\"true\"></a>"), "{seen}");
        assert!(seen.trim_end().ends_with("</body></html>"), "{seen}");
        for mail in [&with_links, &without] {
            let answer = visit(&app, &mail.picture(), PERSON).await.assert_status(200);
            assert_eq!(answer.headers.get("content-type"), Some("image/gif"));
            assert!(answer.headers.get("cache-control").is_some_and(|how| how.contains("no-store")));
            assert!(answer.body.starts_with(b"GIF89a") && answer.body.len() < 100);
        }
        assert_ne!(with_links.token(), without.token());
        assert!(with_links.token().len() <= 40, "a short token: {}", with_links.token());
        assert!(!with_links.html.contains("ann@") && !with_links.html.contains(&with_links.id));
    }

    async fn a_mail_of_a_thousand_links_is_sent_and_all_lead_somewhere(engine: Engine) {
        let app = start(engine).await;
        let fixed = (0..700).map(|n| format!("<a href=\"https://shop.test/f{n}\">{n}</a>")).collect::<Vec<_>>().concat();
        let body = format!("{{% for n in list %}}<a href=\"https://shop.test/v{{{{ n }}}}\">v</a>{{% endfor %}}{fixed}");
        let list: Vec<String> = (0..300).map(|n| n.to_string()).collect();
        let mail = sent(&app, &json!({"body": body, "data": {"list": {"value": list, "persistent": false}}})).await;
        let expected = (0..300).map(|n| format!("https://shop.test/v{n}"))
            .chain((0..700).map(|n| format!("https://shop.test/f{n}")));
        let hrefs = mail.hrefs();
        let mut tracked = 0;
        for (n, expected) in expected.enumerate() {
            let Some(path) = mail.tracked(&hrefs[n]) else {
                assert_eq!(hrefs[n], expected, "link {n}");
                continue;
            };
            tracked += 1;
            // every seventh, and those around the ends
            if n % 7 == 0 || !(5..990).contains(&n) {
                assert_eq!(target(&app, &path, PERSON).await, expected, "link {n}");
            }
        }
        assert!(tracked >= 500, "{tracked} are tracked");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_untracked_mail_is_as_it_was_written() {
    let app = App::start(Engine::Sqlite).await;
    let body = "<html><body><a href=\"https://shop.test/a?x=1&amp;y=2\">A</a> {{email}}</body></html>";
    let mail = sent(&app, &json!({"body": body, "tracking": false})).await;
    assert_eq!(mail.html.trim(), body.replace("{{email}}", "ann@example.com"));
}

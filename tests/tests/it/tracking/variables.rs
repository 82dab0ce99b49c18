//! Targets that values make: they are tracked where they lead to a page, and lead nowhere else than in the mail.

use mailwright_testkit::{Engine, both_engines, json};
use mailwright_tests::shown;

use super::{PERSON, sent, start, target, visit};

both_engines! {
    async fn no_value_makes_the_service_lead_to_anything_but_a_page(engine: Engine) {
        let app = start(engine).await;
        let values = [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            " javascript:alert(1)",
            "java\nscript:alert(1)",
            "data:text/html,<script>alert(1)</script>",
            "vbscript:msgbox(1)",
            "file:///etc/passwd",
            "intent://x#Intent;scheme=http;end",
            "//evil.test/x",
            "/\\evil.test",
            "\\\\evil.test",
            "https:evil.test",
            "https:/evil.test",
            "https:///",
            "https://",
            "http://[::1",
            "https://a b.test:port/",
            "evil.test",
            "",
            " ",
            "\u{1}https://evil.test",
            "blob:https://evil.test/1",
            "ftp://evil.test/",
        ];
        for value in values {
            let body = "<a href=\"{{url}}\">x</a><a href=\"https://shop.test/fixed\">y</a>";
            let mail = sent(&app, &json!({"body": body, "data": {"url": value}})).await;
            let mut found = Vec::new();
            for link in mail.links() {
                found.push(target(&app, &link, PERSON).await);
            }
            assert_eq!(found, ["https://shop.test/fixed"], "{value:?}: {}", mail.html);
            for number in ["1000", "1001", "2000"] {
                let answer = visit(&app, &format!("/t/{}/{number}", mail.token()), PERSON).await;
                assert_eq!(answer.status, 404, "{value:?} {number}: {}", shown(&answer));
            }
        }
    }

    async fn values_end_no_line_and_no_attribute(engine: Engine) {
        let app = start(engine).await;
        for (value, expected) in [
            ("https://a.test/\r\nSet-Cookie: a=b", "https://a.test/Set-Cookie:%20a=b"),
            ("https://a.test/\"><script>x</script>", "https://a.test/%22%3E%3Cscript%3Ex%3C/script%3E"),
            ("https://a.test/?q='\"<>&amp;", "https://a.test/?q=%27%22%3C%3E&amp;"),
            ("https://a.test/?x=1&lt=2&amp=3", "https://a.test/?x=1&lt=2&amp=3"),
            ("https://a.test/\u{202e}x", "https://a.test/%E2%80%AEx"),
            ("https://a.test/%0d%0aSet-Cookie:x", "https://a.test/%0d%0aSet-Cookie:x"),
        ] {
            let mail = sent(&app, &json!({"body": "<a href=\"{{url}}\">x</a>", "data": {"url": value}})).await;
            let links = mail.links();
            assert_eq!(links.len(), 1, "{value:?}: {}", mail.html);
            let answer = visit(&app, &links[0], PERSON).await.assert_status(302);
            assert_eq!(answer.headers.get("location"), Some(expected), "{value:?}");
            assert_eq!(answer.headers.get("set-cookie"), None, "{value:?}");
            assert!(!mail.html.contains("<script"), "{}", mail.html);
        }
    }

    async fn markup_of_values_has_its_links_tracked_too(engine: Engine) {
        let app = start(engine).await;
        let markup = "<a href=\"https://w.test/1?a=1&amp;b=2\">1</a><a href=\"mailto:a@w.test\">2</a>\
            <a data-no-track href=\"https://w.test/3\">3</a><a href=\"javascript:x\">4</a>\
            <!-- <a href=\"https://w.test/5\">5</a> --><a href=\"https://w.test/6\">6</a>";
        let body = "<a href=\"https://shop.test/a\">a</a>{{{markup}}}<a href=\"{{url}}\">b</a>{{escaped}}";
        let data = json!({"markup": markup, "url": "https://v.test/", "escaped": "<a href=\"https://x.test/\">"});
        let mail = sent(&app, &json!({"body": body, "data": data})).await;
        let mut found = Vec::new();
        for link in mail.links() {
            found.push(target(&app, &link, PERSON).await);
        }
        assert_eq!(found, ["https://shop.test/a", "https://w.test/1?a=1&b=2", "https://w.test/6", "https://v.test/"]);
        for kept in ["mailto:a@w.test", "https://w.test/3", "javascript:x", "https://w.test/5"] {
            assert!(mail.html.contains(kept), "{kept}: {}", mail.html);
        }
        // markup that ends the body before its time, or that is never closed
        for markup in ["</body></html>", "<style>", "<p title='", "<a href=\"https://w.test/"] {
            let mail = sent(&app, &json!({"body": "<html><body>x{{{markup}}}</body></html>", "data": {"markup": markup}})).await;
            visit(&app, &mail.picture(), PERSON).await.assert_status(200);
        }
    }

    async fn long_targets_and_many_of_them_do_no_harm(engine: Engine) {
        let app = start(engine).await;
        let long = format!("https://v.test/{}", "x".repeat(6_000));
        let items: Vec<String> = (0..40).map(|n| format!("https://i.test/{n}/{}", "y".repeat(1_500))).collect();
        let body = "<a href=\"{{long}}\">l</a>{% for i in items %}<a href=\"{{i}}\">i</a>{% endfor %}";
        let data = json!({"long": {"value": long, "persistent": false}, "items": {"value": items, "persistent": false}});
        let mail = sent(&app, &json!({"body": body, "data": data})).await;
        let hrefs = mail.hrefs();
        for (n, expected) in std::iter::once(&long).chain(&items).enumerate() {
            match mail.tracked(&hrefs[n]) {
                Some(path) => assert_eq!(target(&app, &path, PERSON).await, *expected, "link {n}"),
                None => assert_eq!(hrefs[n], *expected, "link {n}"),
            }
        }
        assert!(!mail.links().is_empty());
    }
}

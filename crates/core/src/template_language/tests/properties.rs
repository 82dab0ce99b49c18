//! What holds for any source and any data.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::template_language::{Escape, Scope, Template};

/// Sources made of what means something to the parser, so that most are nearly well formed.
fn source() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "{{", "}}", "{{{", "}}}", "{%", "%}", "{%-", "-%}", "{{-", "-}}", " ", "\n", "\"", "'", "|", "??", ":", ",",
            ".", "..", "[", "]", "(", ")", "a", "b", "data", "if ", "endif", "else", "elsif ", "unless ", "case ", "when ",
            "for ", "x in ", "(1..3)", "endfor", "assign ", "=", "==", "!=", "<", "contains ", "and ", "or ", "capture ",
            "endcapture", "raw", "endraw", "comment", "endcomment", "upcase", "split", "join", "date", "slice", "-1", "0",
            "9999999999999999999", "1.5", "empty", "nil", "&lt;", "&quot;", "&", "ä", "first name", "break", "limit:",
        ]).prop_map(str::to_owned),
        2 => prop::sample::select(vec![
            "{{a}}", "{{ b ?? \"x\" }}", "{% if a %}", "{% else %}", "{% endif %}", "{% for x in b %}", "{% endfor %}",
            "{{ a | split: '' | sort | join: b }}", "{{ a | truncate: 3 | slice: -2, 9 | date: b }}", "{% assign a = b %}",
            "{{ a | plus: b | times: a | divided_by: b | modulo: 3 | round: 2 }}", "{% capture a %}", "{% endcapture %}",
            "{{ a | url_decode | escape_once | strip_html | capitalize | truncatewords: 1 | json }}", "{{ data }}",
        ]).prop_map(str::to_owned),
        1 => ".{0,4}",
    ];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[<>&\"'{}%a ]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map("[abk]|first name|size", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn data() -> impl Strategy<Value = Map<String, Value>> {
    btree_map("[abx]|data|first name", value(), 0..5).prop_map(|map| map.into_iter().collect())
}

fn object<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(source in source(), upper in data(), lower in data()) {
        let scope = Scope::new().fixed("id", "1").layer(&upper).layer(&lower);
        let lenient = Template::parse_lenient(&source);
        for mode in [Escape::Html, Escape::Text] {
            let out = lenient.render(&scope, mode);
            prop_assert_eq!(&out, &lenient.render(&scope, mode));
            // What may be saved means the same when it is sent inline.
            if let Ok(strict) = Template::parse(&source) {
                prop_assert_eq!(strict.render(&scope, mode), out);
            }
        }
    }

    #[test]
    fn arbitrary_sources_do_not_panic(source in any::<String>(), data in data()) {
        Template::parse_lenient(&source).render(&Scope::new().layer(&data), Escape::Html);
        if let Err(error) = Template::parse(&source) {
            prop_assert!(error.line >= 1 && error.column >= 1);
        }
    }

    #[test]
    fn text_without_braces_is_kept(source in "[^{]*") {
        let template = Template::parse(&source).unwrap();
        prop_assert_eq!(template.render(&Scope::new(), Escape::Html), source.as_str());
        prop_assert!(template.variables().is_empty());
    }

    #[test]
    fn every_filter_takes_any_value(a in value(), b in value(), c in value()) {
        let data = object([("a", a), ("b", b), ("c", c)]);
        let scope = Scope::new().layer(&data);
        for filter in &crate::template_language::filters::ALL {
            for arguments in ["", ": b", ": b, c"] {
                let source = format!("{{{{ a | {}{arguments} }}}}", filter.name);
                let Ok(template) = Template::parse(&source) else { continue };
                for mode in [Escape::Html, Escape::Text] {
                    template.render(&scope, mode);
                }
                if filter.name != "raw" {
                    let out = template.render(&scope, Escape::Html).replace("<li>", "").replace("</li>", "");
                    prop_assert!(!out.replace("<br />", "").contains('<'), "{}: {}", source, out);
                }
            }
        }
    }

    #[test]
    fn values_bring_no_markup(value in value(), fallback in "[^\"{}]{0,8}") {
        let data = object([("a", value)]);
        let source = format!(
            "{{{{a}}}}{{{{data}}}}{{{{a.b ?? \"{fallback}\"}}}}{{% for x in a %}}{{{{x}}}}{{% endfor %}}\
             {{% capture c %}}{{{{a}}}}{{% endcapture %}}{{{{c}}}}{{{{c | append: a | strip}}}}{{{{c | downcase}}}}\
             {{% assign d = a | append: c %}}{{{{d}}}}{{{{a | escape | replace: '&lt;', '<'}}}}"
        );
        let out = Template::parse_lenient(&source).render(&Scope::new().layer(&data), Escape::Html);
        let rest = out.replace("<li>", "").replace("</li>", "");
        prop_assert!(!rest.contains(['<', '>', '"', '\'']), "{}", rest);
    }

    #[test]
    fn values_round_trip_through_entities(value in any::<String>()) {
        let data = object([("a", Value::from(value.as_str()))]);
        let scope = Scope::new().layer(&data);
        let template = Template::parse("{{a}}").unwrap();
        prop_assert_eq!(template.render(&scope, Escape::Text), value.as_str());
        let decoded = template.render(&scope, Escape::Html).replace("&lt;", "<").replace("&gt;", ">")
            .replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&");
        prop_assert_eq!(decoded, value);
    }
}

//! Where names get their values, and which names a template uses.

use serde_json::{Value, json};

use super::object;
use crate::template_language::{Escape, Scope, Template};

fn render(source: &str, scope: &Scope<'_>) -> String {
    Template::parse(source).unwrap().render(scope, Escape::Text)
}

#[test]
fn the_first_layer_with_the_key_wins() {
    let request = json!({"plan": "pro", "city": null});
    let contact = json!({"plan": "free", "city": "Bern", "age": 3});
    let scope = Scope::new().layer(object(&request)).layer(object(&contact));
    for (source, expected) in [
        ("{{plan}} {{age}}", "pro 3"),
        // A null in the request hides the stored value.
        ("{{city}}|{{city ?? 'none'}}", "|none"),
        ("{{data.plan}} {{data.age}} {{data.city ?? 'none'}}", "pro 3 none"),
        ("{{data}}", r#"{"age":3,"city":null,"plan":"pro"}"#),
        ("{{data.size}}", "3"),
        ("{% for pair in data %}{{pair[0]}}={{pair[1]}};{% endfor %}", "age=3;city=;plan=pro;"),
        ("{% assign key = 'plan' %}{{data[key]}}", "pro"),
        ("{% if data contains 'plan' %}yes{% endif %}", "yes"),
        ("{% if data == empty %}yes{% else %}no{% endif %}", "no"),
    ] {
        assert_eq!(render(source, &scope), expected, "{source}");
    }
}

#[test]
fn a_key_called_data_wins_over_the_layers() {
    let contact = json!({"data": {"plan": "inner"}, "plan": "outer"});
    let scope = Scope::new().layer(object(&contact));
    assert_eq!(render("{{data.plan}} {{plan}}", &scope), "inner outer");
}

#[test]
fn fixed_values_cannot_be_overridden() {
    let contact = json!({"email": "mallory@example.com", "unsubscribeUrl": "https://evil.example"});
    let scope = Scope::new()
        .fixed("email", "ada@example.com")
        .fixed("unsubscribeUrl", "https://mail.example/u?a=1&b=2")
        .fixed("subscribed", true)
        .layer(object(&contact));
    assert_eq!(
        render("{{email}} {{unsubscribeUrl}}", &scope),
        "ada@example.com https://mail.example/u?a=1&b=2"
    );
    assert_eq!(render("{{data.email}}", &scope), "mallory@example.com");
    assert_eq!(render("{% if subscribed %}{{subscribed}}{% endif %}", &scope), "true");
    let body = Template::parse("<a href=\"{{unsubscribeUrl}}\">").unwrap();
    assert_eq!(body.render(&scope, Escape::Html), "<a href=\"https://mail.example/u?a=1&amp;b=2\">");
}

#[test]
fn renders_leave_nothing_behind() {
    let template = Template::parse("{{x}}{% assign x = 'set' %}{{x}}").unwrap();
    let with = json!({"x": "data "});
    assert_eq!(template.render(&Scope::new().layer(object(&with)), Escape::Text), "data set");
    assert_eq!(template.render(&Scope::new(), Escape::Text), "set");
    let mut out = "before ".to_owned();
    template.render_into(&Scope::new(), Escape::Text, &mut out);
    assert_eq!(out, "before set");
}

#[test]
fn the_names_a_template_uses() {
    for (source, expected) in [
        ("plain", vec![]),
        ("{{name}} {{profile.tier}} {{data[\"x\"]}}", vec!["data", "name", "profile"]),
        (
            "{{{unsubscribeUrl}}} {{manageUrl ?? name | append: other}}",
            vec!["manageUrl", "other", "unsubscribeUrl"],
        ),
        ("{% if a == b and c %}{{d[e]}}{% endif %}", vec!["a", "b", "c", "d", "e"]),
        ("{% for x in xs limit: n %}{{x}}{{forloop.index}}{{y}}{% endfor %}{{x}}", vec!["n", "x", "xs", "y"]),
        ("{% assign a = b %}{{a}}{% capture c %}{{d}}{% endcapture %}{{c}}", vec!["b", "d"]),
        ("{{a}}{% assign a = 1 %}", vec!["a"]),
        ("{% comment %}{{a}}{% endcomment %}{% raw %}{{b}}{% endraw %}{{true}}{{1}}{{'x'}}", vec![]),
    ] {
        let template = Template::parse(source).unwrap();
        assert_eq!(template.variables().into_iter().collect::<Vec<_>>(), expected, "{source}");
        assert!(expected.iter().all(|name| template.uses(name)));
        assert!(!template.uses("absent"));
    }
    assert!(Template::parse_lenient("{% if %}{{unsubscribeUrl}}").uses("unsubscribeUrl"));
}

#[test]
fn templates_and_clones_are_shared_between_threads() {
    let template = Template::parse("{{name ?? 'x'}}").unwrap();
    let clone = template.clone();
    let rendered = std::thread::spawn(move || clone.render(&Scope::new(), Escape::Text)).join().unwrap();
    assert_eq!(
        rendered,
        template.render(&Scope::new().layer(object(&Value::Object(serde_json::Map::new()))), Escape::Text)
    );
}

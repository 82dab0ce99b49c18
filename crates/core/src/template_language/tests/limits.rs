//! Nothing that a template or data can hold makes a render long or large.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::object;
use crate::template_language::{
    Escape, FREE_OUTPUT, MAX_DEPTH, MAX_OUTPUT, MAX_SOURCE, PER_BYTE, Scope, Template,
};

/// Far above what the work takes even unoptimised on a busy machine, and far below what any of these sources asks for.
const SOON: Duration = Duration::from_secs(20);

#[track_caller]
fn bounded(source: &str, data: &Value) -> String {
    let start = Instant::now();
    let template = Template::parse_lenient(source);
    let out = template.render(&Scope::new().layer(object(data)), Escape::Html);
    assert!(start.elapsed() < SOON, "{:?}: {}", start.elapsed(), &source[..source.len().min(200)]);
    assert!(out.len() <= source.len() + MAX_OUTPUT);
    out
}

#[test]
fn endless_loops_end_and_the_footer_is_written() {
    let loops = "{% for i in (1..999999999) %}".repeat(5);
    let ends = "{% endfor %}".repeat(5);
    for body in
        ["", "{% if i == 3 %}{% endif %}", "{% assign x = i | plus: 1 %}", "{% capture x %}a{% endcapture %}"]
    {
        let out = bounded(&format!("head {loops}{body}{ends} foot {{{{n | upcase}}}}"), &json!({"n": "x"}));
        assert!(out.starts_with("head ") && out.contains(" foot "), "{body}");
    }
}

#[test]
fn the_output_is_cut_off() {
    let text = "x".repeat(20_000);
    let out =
        bounded("{% for i in (1..999999999) %}ä{{ x }}{% endfor %}", &json!({"x": "<&>", "text": text}));
    assert!(out.len() > MAX_OUTPUT - 10);
    let source = "{{ (1..999999999) }}";
    let out = bounded(source, &json!({}));
    assert_eq!(out.len(), source.len() + FREE_OUTPUT);
    let mut out = "x".repeat(10);
    Template::parse(source).unwrap().render_into(&Scope::new(), Escape::Html, &mut out);
    assert_eq!(out.len(), 10 + source.len() + FREE_OUTPUT);
}

#[test]
fn what_needs_more_than_the_room_it_is_given_is_not_written() {
    let template = Template::parse("{% for i in (1..30) %}{{ x }}{% endfor %}").unwrap();
    let data = json!({"x": "0123456789"});
    let scope = Scope::new().layer(object(&data));
    let within = |room| template.render_within(&scope, Escape::Html, room);
    let room = 300 - template.source_len();
    assert_eq!(within(room), Some("0123456789".repeat(30)));
    assert_eq!(within(room - 1), None);
    assert_eq!(within(0), None);
    // what every render is cut off at is another matter
    let endless = Template::parse("{{ (1..999999999) }}").unwrap();
    let out = endless.render_within(&Scope::new(), Escape::Html, FREE_OUTPUT);
    assert_eq!(out.map(|out| out.len()), Some(endless.source_len() + FREE_OUTPUT));
    assert_eq!(endless.render_within(&Scope::new(), Escape::Html, FREE_OUTPUT - 1), None);
}

#[test]
fn who_brings_values_has_room_for_them() {
    // a list of a thousand rows, each with far more around it than in it
    let items: Vec<_> = (0..1000).map(|number| json!({"n": number, "t": "Tea"})).collect();
    let row = "<tr><td style=\"padding: 4px 8px; border-bottom: 1px solid #cccccc\">{{ i.n }}</td><td>{{ i.t }}</td></tr>";
    let source = format!("{{% for i in items %}}{row}{{% endfor %}}");
    let out = bounded(&source, &json!({"items": items}));
    assert!(out.ends_with("<td>999</td><td>Tea</td></tr>") || out.contains(">999</td>"), "all of it");
    let source = "{{ (1..999999999) }}";
    let out = bounded(source, &json!({"x": "y".repeat(1000 - 7)}));
    assert_eq!(out.len(), source.len() + FREE_OUTPUT + 1000 * PER_BYTE);
    // and the largest value fits, however it is escaped
    let out = bounded("{{ x }}{{{ x }}}", &json!({"x": "<".repeat(200_000)}));
    assert_eq!(out.len(), 5 * 200_000);
}

#[test]
fn a_long_literal_text_is_written_whole() {
    let text = "<p>Hello, this is text.</p>\n".repeat(6_000_000 / 28 + 1);
    assert!(text.len() > MAX_OUTPUT && text.len() > MAX_SOURCE);
    assert!(bounded(&text, &json!({})) == text, "a literal text");
    // Tags are text in a source of this length, and placeholders still are none.
    let source = format!("{{{{ x }}}}{{% if x %}}{text}{{{{ y ?? \"there\" }}}}{{{{{{ x }}}}}}");
    let out = bounded(&source, &json!({"x": "<b>"}));
    assert!(out == format!("&lt;b&gt;{{% if x %}}{text}there<b>"), "text with placeholders");
}

#[test]
fn values_do_not_explode() {
    let data = json!({"x": "0123456789", "big": "a".repeat(200_000), "list": vec![json!({"k": "v"}); 2000]});
    for body in [
        "{% assign x = x | append: x %}",
        "{% capture x %}{{x}}{{x}}{% endcapture %}",
        "{% assign y = big | replace: 'a', big %}",
        "{% assign y = big | split: '' | join: big %}",
        "{% assign y = big | split: '' | sort | uniq | reverse %}",
        "{% assign y = data | json %}",
        "{% assign y = data | size %}{% assign y = list | sort: 'k' | where: 'k', list | map: 'k' %}",
        "{% if big contains data or big contains 'b' or list == list or data == list %}{% endif %}",
        "{% if list contains list or (1..999999999) contains 'x' %}{% endif %}",
        "{% capture y %}{{ (1..999999999) }}{{data}}{% endcapture %}",
        "{% assign y = (1..999999999) | join: big | upcase | size %}{{ data[(1..99999999)] }}",
        "{% assign y = big | truncate: 2 | escape %}{{big.size}}",
        "{% for pair in data %}{% assign y = pair | json | strip_html %}{% endfor %}",
        "{% assign y = big | truncatewords: 99999999 | slice: -5, 99999999 | url_encode | url_decode %}",
    ] {
        let out = bounded(&format!("{{% for i in (1..999999999) %}}{body}{{% endfor %}} foot"), &data);
        assert!(out.ends_with(" foot"), "{body}");
    }
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| "{% if a %}".repeat(depth) + "x" + &"{% endif %}".repeat(depth);
    assert!(Template::parse(&nested(MAX_DEPTH)).is_ok());
    let error = Template::parse(&nested(MAX_DEPTH + 1)).unwrap_err();
    assert!(error.message.contains("Nest fewer"));
    assert!(bounded(&nested(100_000), &json!({})).contains('x'));
    let brackets = "{{ a".to_owned() + &"[a".repeat(100_000) + " }}";
    assert!(Template::parse(&brackets).is_err());
    bounded(&brackets, &json!({}));
    let ranges = "{{ ".to_owned() + &"(".repeat(100_000) + " }}";
    assert!(Template::parse(&ranges).is_err());
}

#[test]
fn hostile_sources_are_parsed_quickly() {
    for piece in [
        "{{",
        "{%",
        "{{\"",
        "{{'",
        "{{\"{{' ",
        "{{ '\" ",
        "{{'}} ",
        "{% '",
        "{% comment",
        "{%- ",
        "{{ a | ",
        "{{{",
        "{% if a %}",
        "{{ a ?? ' }}",
        "{{a|b",
        "{%%}",
        "{{}}",
        "{% raw %}",
        "&lt;{{&",
        "a.",
        "{{'\"\"",
        "{{\"''",
        "{{'\"'{{'",
        "{% \"%}",
        "{{ a ?? '''' ",
        "{% comment %}",
        "{%- endcomment ",
        "{{a|shout}}",
        "{{a|upcas|upcas}}",
    ] {
        for start in ["", "{{", "{% comment %}", "{% if a %}", "{{ x ?? \""] {
            bounded(&(start.to_owned() + &piece.repeat(100_000 / piece.len())), &json!({"a": 1}));
        }
    }
}

#[test]
fn a_usual_template_is_cheap() {
    let source =
        "<p style=\"color:red\">Hello {{name ?? \"friend\"}}, this is a paragraph.</p>\n".repeat(280);
    let template = Template::parse(&source).unwrap();
    let data = json!({"name": "Ada"});
    let scope = Scope::new().layer(object(&data));
    let mut out = String::new();
    let start = Instant::now();
    for _ in 0..100 {
        out.clear();
        template.render_into(&scope, Escape::Html, &mut out);
    }
    assert!(out.len() > 15_000);
    // 28 000 placeholders in a build without optimisation.
    assert!(start.elapsed() < Duration::from_secs(5));
}

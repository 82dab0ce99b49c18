//! Marks: where parts of the source are in what is rendered.

use std::ops::Range;

use proptest::prelude::*;
use serde_json::json;

use super::super::{Escape, MAX_OUTPUT, Scope, Template, masked};

/// The ranges of `[...]` in a source, and the source without the brackets.
fn bracketed(source: &str) -> (String, Vec<Range<usize>>) {
    let (mut bare, mut marks, mut start) = (String::new(), Vec::new(), None);
    for c in source.chars() {
        match c {
            '[' => start = Some(bare.len()),
            ']' => marks.extend(start.take().map(|start| start..bare.len())),
            c => bare.push(c),
        }
    }
    (bare, marks)
}

/// What the marks of a source hold once it is rendered.
fn marked(source: &str, values: &serde_json::Value) -> Vec<(u32, String)> {
    let (bare, marks) = bracketed(source);
    let values = values.as_object().unwrap();
    let scope = Scope::new().layer(values);
    let template = Template::parse_marked(&bare, &marks);
    let (out, marks) = template.render_marked(&scope, Escape::Html, MAX_OUTPUT).unwrap();
    assert_eq!(out, Template::parse_lenient(&bare).render(&scope, Escape::Html), "marks change nothing");
    marks.into_iter().map(|mark| (mark.number, out[mark.range].to_owned())).collect()
}

#[test]
fn marks_are_found_in_what_is_rendered() {
    let values = json!({ "url": "https://a.test/?x&y", "items": ["b", "c"], "no": false });
    for (source, expected) in [
        ("<a href=\"[https://x.test]\">", vec![(0, "https://x.test")]),
        ("[a] {{no}} [b]", vec![(0, "a"), (1, "b")]),
        ("<a href=\"[{{url}}]\">", vec![(0, "https://a.test/?x&amp;y")]),
        ("[{{{url}}}]", vec![]),
        ("x[{{url}}/{{items.0}}]x", vec![(0, "https://a.test/?x&amp;y/b")]),
        ("x[]y", vec![(0, "")]),
        ("{% for i in items %}<[/{{i}}]>{% endfor %}", vec![(0, "/b"), (0, "/c")]),
        ("{% if no %}<[a]>{% else %}<[b]>{% endif %}", vec![(1, "b")]),
        // both edges have to be run
        ("{% if no %}<[a{% endif %}b]c<[d]>", vec![(1, "d")]),
        ("<[a{% if no %}b]c{% endif %}<[d]>", vec![(1, "d")]),
        ("<[ {{- url -}} ]>", vec![(0, "https://a.test/?x&amp;y")]),
        ("{% raw %}<[{{a}}]>{% endraw %}", vec![(0, "{{a}}")]),
        ("{% comment %}<[a]>{% endcomment %}<[b]>", vec![(1, "b")]),
        // what is captured is written elsewhere, or not at all
        ("{% capture x %}<[a]>{% endcapture %}<[b]>{{x}}", vec![(1, "b")]),
        ("{% if %}<[a]>", vec![(0, "a")]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|(number, text)| (number, text.to_owned())).collect();
        assert_eq!(marked(source, &values), expected, "{source}");
    }
}

#[test]
fn what_is_cut_off_has_no_mark() {
    let values = json!({ "long": "x".repeat(1000) });
    let scope = Scope::new().layer(values.as_object().unwrap());
    let source = "<a>{{long}}</a>";
    let template = Template::parse_marked(source, &[0..1, 3..11]);
    let (_, marks) = template.render_marked(&scope, Escape::Html, MAX_OUTPUT).unwrap();
    assert_eq!(marks.len(), 2);
    assert!(template.render_marked(&scope, Escape::Html, 10).is_none());
}

#[test]
fn braces_are_masked() {
    for (source, expected) in [
        ("a{{b}}c", "axxxxxc"),
        ("<a href=\"{{ url ?? \"x\" }}\">", "<a href=\"xxxxxxxxxxxxxxxx\">"),
        ("{% if a %}b{% endif %}", "xxxxxxxxxxbxxxxxxxxxxx"),
        ("{% comment %}<a>{% endcomment %}é", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxé"),
        ("{{é}}", "xxxxxx"),
        ("{ {{", "{ {{"),
    ] {
        assert_eq!(masked(source), expected, "{source}");
    }
}

proptest! {
    #[test]
    fn masked_text_has_the_same_places(
        source in "([a-z<>\" é]|\\{\\{|\\}\\}|\\{%|%\\}|\\{% if a %\\}|\\{% endif %\\}|\\{% raw %\\}|\\{% endraw %\\}){0,40}",
        from in 0usize..60, length in 0usize..20,
    ) {
        let masked = masked(&source);
        prop_assert_eq!(masked.len(), source.len());
        prop_assert!(masked.char_indices().all(|(at, c)| c == 'x' || source[at..].starts_with(c)));
        // marks never change what is rendered, wherever they stand
        let start = source.floor_char_boundary(from.min(source.len()));
        let end = source.floor_char_boundary((start + length).min(source.len()));
        let scope = Scope::new();
        let bare = Template::parse_lenient(&source).render(&scope, Escape::Html);
        let (out, marks) = Template::parse_marked(&source, &std::array::from_fn::<_, 1, _>(|_| start..end.max(start)))
            .render_marked(&scope, Escape::Html, MAX_OUTPUT)
            .unwrap();
        prop_assert_eq!(&out, &bare);
        prop_assert!(marks.iter().all(|mark| out.get(mark.range.clone()).is_some()));
    }
}

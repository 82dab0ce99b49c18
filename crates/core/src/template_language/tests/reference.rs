//! The contract's "Template variable syntax" and the table of reference 4.3.

use serde_json::json;

use super::{check, html, lenient, text};
use crate::template_language::Template;

#[test]
fn contract_rules() {
    let data = json!({"name": "Ada", "nothing": null, "profile": {"tier": "gold"}, "items": ["a", "b"]});
    check(
        &data,
        &[
            ("Hello {{name}}!", "Hello Ada!"),
            ("{{missing}}", ""),
            (r#"{{name ?? "friend"}}"#, "Ada"),
            (r#"{{missing ?? "friend"}}"#, "friend"),
            (r#"{{nothing ?? "friend"}}"#, "friend"),
            ("{{profile.tier}}", "gold"),
            ("{{profile.missing}}", ""),
            (r#"{{profile.missing.deeper ?? "none"}}"#, "none"),
            ("{{items.0}}-{{items.1}}-{{items.2}}", "a-b-"),
        ],
    );
}

#[test]
fn the_fallback_is_for_missing_and_null_only() {
    let data = json!({"zero": 0, "no": false, "void": "", "none": null});
    check(
        &data,
        &[
            (r#"{{zero ?? "x"}}"#, "0"),
            (r#"{{no ?? "x"}}"#, "false"),
            (r#"{{void ?? "x"}}"#, ""),
            (r#"{{none ?? "x"}}"#, "x"),
            ("{{zero}}|{{no}}|{{void}}|{{none}}", "0|false||"),
        ],
    );
}

#[test]
fn fallback_texts() {
    check(
        &json!({"a": null, "guest": "never"}),
        &[
            (r#"{{a ?? "double"}}"#, "double"),
            ("{{a ?? 'single'}}", "single"),
            ("{{a ?? Guest}}", "Guest"),
            ("{{a ?? guest}}", "guest"),
            ("{{a ?? dear   customer }}", "dear   customer"),
            ("{{a ?? b ?? c}}", "b"),
            (r#"{{a ?? "what ?? now"}}"#, "what ?? now"),
            (r#"{{a ?? "one | two"}}"#, "one | two"),
            (r#"{{a ?? "say 'hi'"}}"#, "say 'hi'"),
            (r#"{{a ?? 'say "hi"'}}"#, r#"say "hi""#),
            (r#"{{a ?? "}}"}}"#, "}}"),
            (r#"{{a ?? "{{b}}"}}"#, "{{b}}"),
            ("{{a ?? don't know}}", "don't know"),
            ("{{a ?? rock 'n' roll}}", "rock 'n' roll"),
            ("{{a??x}}", "x"),
            ("{{a ?? }}", ""),
            (r#"{{a ?? ""}}"#, ""),
            ("{{a ?? 0}}", "0"),
            (r#"{{a ?? "friend" | upcase}}"#, "FRIEND"),
            (r#"{{a | upcase ?? "friend"}}"#, "friend"),
            ("{{a ?? Guest | upcase}}", "GUEST"),
        ],
    );
    // When a template is saved, an apostrophe at the beginning of a fallback is an open quote.
    let data = json!({});
    assert_eq!(lenient("{{a ?? 'tis}} and {{a ?? 'twas}}", &data), "'tis and 'twas");
    assert!(Template::parse("{{a ?? 'tis}}").is_err());
}

#[test]
fn white_space_in_braces() {
    check(
        &json!({"name": "Ada", "p": {"q": 1}}),
        &[
            ("{{ name }}{{  name}}{{name\n}}{{\n\tname\r\n}}", "AdaAdaAdaAda"),
            ("{{\u{a0}name\u{a0}}}", "Ada"),
            ("{{ name\n ??\n 'x' }}", "Ada"),
            ("{{}}|{{ }}|{{\n}}|{{{}}}", "|||"),
            ("{{ p . q }}", "1"),
        ],
    );
}

#[test]
fn values_as_text() {
    let data = json!({
        "int": 42, "negative": -3, "whole": 5.0, "half": 2.5, "tenth": 0.1, "big": 18_446_744_073_709_551_615_u64,
        "yes": true, "o": {"b": [1, 2.5, null], "a": "x"}, "list": ["a", 1, null, [2], {"k": 3}], "empty": [],
    });
    check(
        &data,
        &[
            ("{{int}} {{negative}} {{whole}} {{half}} {{tenth}}", "42 -3 5 2.5 0.1"),
            ("{{big}}", "18446744073709551615"),
            ("{{yes}}", "true"),
            ("{{o}}", r#"{"a":"x","b":[1,2.5,null]}"#),
            ("{{list}}", r#"a, 1, , [2], {"k":3}"#),
            ("[{{empty}}]", "[]"),
            ("{{o.b.1}} {{list.3.0}} {{list[4].k}} {{list[-1].k}}", "2.5 2 3 3"),
        ],
    );
    assert_eq!(
        html("{{list}}", &data),
        "<li>a</li>\n<li>1</li>\n<li></li>\n<li>[2]</li>\n<li>{&quot;k&quot;:3}</li>"
    );
    assert_eq!(html("{{o.a}}{{empty}}", &data), "x");
}

#[test]
fn keys_with_spaces_and_signs() {
    let data = json!({
        "first name": "Ada", "profile": {"first name": "Grace", "a.b": 2}, "a.b": 1, "it's": 3, "first-name": 4,
        "data_": 5, "größe": 6, "2nd": 7,
    });
    check(
        &data,
        &[
            ("{{first name}}", "Ada"),
            ("{{ first\n  name }}", "Ada"),
            ("{{profile.first name}}", "Grace"),
            (r#"{{data["first name"]}}"#, "Ada"),
            ("{{data['first name']}}", "Ada"),
            (r#"{{["first name"]}}"#, "Ada"),
            (r#"{{profile["first name"]}}"#, "Grace"),
            ("{{a.b}}", ""),
            (r#"{{data["a.b"]}}{{profile["a.b"]}}"#, "12"),
            ("{{it's}}{{first-name}}{{data_}}{{größe}}{{2nd}}", "34567"),
            (r#"{{first name ?? "x" | upcase}}"#, "ADA"),
        ],
    );
}

#[test]
fn prototype_names_are_missing() {
    let source =
        "{{constructor}}{{__proto__}}{{toString}}{{name.length}}{{name.constructor}}{{o.__proto__.x}}";
    assert_eq!(text(source, &json!({"name": "Ada", "o": {}})), "");
}

#[test]
fn other_braces_stay() {
    for source in [
        "a { color: red } @media x { .b { c: d } }",
        ".a{.b{c:d}}",
        "@media x{.a{b:c}}",
        "{ {name} }",
        "{name}",
        "{{ .a { b: c } }}",
        "100% {%} {",
        "}} }",
        "function(){if(a){b({c:{}})}}",
    ] {
        if !source.contains("{%") {
            assert_eq!(text(source, &json!({"name": "Ada"})), source);
        }
        assert_eq!(lenient(source, &json!({"name": "Ada"})), source);
    }
    let data = json!({"c": "red", "name": "Ada"});
    check(
        &data,
        &[
            ("{{color:red}}|{{color:red;}}", "|"),
            ("a{b:{{c}}}", "a{b:red}"),
            ("a{{{c}}}", "ared"),
            ("{{{c}}", "{red"),
            ("{{c}}}", "red}"),
            ("{{{{c}}}}", "{red}"),
        ],
    );
}

#[test]
fn an_unterminated_placeholder_is_text() {
    check(
        &json!({"name": "Ada", "email": "a@b.c"}),
        &[
            ("Hi {{name", "Hi {{name"),
            ("Hi {{name and {{email}}", "Hi {{name and a@b.c"),
            ("{{name}} {{", "Ada {{"),
            ("{{name} {{email}}", "{{name} a@b.c"),
            (r#"{{name ?? "x {{email}}"#, r#"{{name ?? "x a@b.c"#),
            ("{{name <p>{{email}}</p>", "{{name <p>a@b.c</p>"),
        ],
    );
}

#[test]
fn entities_of_editors_are_decoded_inside_braces() {
    let data = json!({"n": 5, "name": null, "a": "x"});
    check(
        &data,
        &[
            ("{{name ?? &quot;friend&quot;}}", "friend"),
            ("{{name ?? &#39;friend&#39;}}", "friend"),
            ("{{&nbsp;a&nbsp;}}", "x"),
            ("{{name ?? &quot;a &amp; b&quot;}}", "a & b"),
            ("{{name ?? &quot;&amp;lt;&quot;}}", "&lt;"),
            ("{% if n &gt; 3 and n &lt; 9 %}yes{% endif %}", "yes"),
            ("{%&nbsp;if a == &quot;x&quot;&nbsp;%}yes{% endif %}", "yes"),
            ("&lt;&nbsp;&amp;", "&lt;&nbsp;&amp;"),
        ],
    );
}

#[test]
fn escaping() {
    let data = json!({"x": "<b>\"Tom\" & 'Jo'</b>", "list": ["<i>"], "o": {"<": 1}});
    let escaped = "&lt;b&gt;&quot;Tom&quot; &amp; &#39;Jo&#39;&lt;/b&gt;";
    let raw = "<b>\"Tom\" & 'Jo'</b>";
    for (source, expected) in [
        ("{{x}}", escaped),
        ("{{{x}}}", raw),
        ("{{{ x | strip }}}", raw),
        ("{{x | raw}}", raw),
        ("{{x | raw | strip}}", raw),
        ("{{x | escape}}", escaped),
        ("{{x | escape_once}}", escaped),
        ("{% capture c %}<p>{{x}}</p>{% endcapture %}{{c}}", &format!("<p>{escaped}</p>")),
        (
            "{% capture c %}<p>{% endcapture %}{{c | append: list[0] | prepend: list[0]}}",
            "&lt;i&gt;<p>&lt;i&gt;",
        ),
        ("{% assign c = x | raw %}{{c}}", raw),
        ("{{list}}", "<li>&lt;i&gt;</li>"),
        ("{{{list}}}", "<li><i></li>"),
        ("{{o}}", "{&quot;&lt;&quot;:1}"),
        ("{{n ?? '<i>'}}", "&lt;i&gt;"),
        ("{{{n ?? '<i>'}}}", "<i>"),
        ("<a href=\"{{x | url_encode}}\">", "<a href=\"%3Cb%3E%22Tom%22+%26+%27Jo%27%3C%2Fb%3E\">"),
    ] {
        assert_eq!(html(source, &data), expected, "{source}");
    }
    check(&data, &[("{{x}}", raw), ("{{{x}}}", raw), ("{{x|raw}}", raw), ("{{list}}", "<i>")]);
    assert_eq!(html("{{x | newline_to_br}}", &json!({"x": "<a>\nb"})), "&lt;a&gt;<br />\nb");
}

#[test]
fn values_are_never_templates() {
    let data = json!({"x": "{{y}}{% if y %}{{{y}}}", "y": "secret", "list": ["{{y}}"]});
    check(
        &data,
        &[
            ("{{x}}", "{{y}}{% if y %}{{{y}}}"),
            ("{{list}}", "{{y}}"),
            ("{% assign z = x %}{{z}}", "{{y}}{% if y %}{{{y}}}"),
            ("{% capture z %}{{x}}{% endcapture %}{{z}}", "{{y}}{% if y %}{{{y}}}"),
            ("{{missing ?? '{{y}}'}}", "{{y}}"),
        ],
    );
}

#[test]
fn lenient_templates_never_fail() {
    let data = json!({"name": "ada", "R&D budget": 1, "a": 2});
    for (source, expected) in [
        // An unknown filter is skipped, and so is one with the wrong arguments.
        ("{{name | shout | upcase}}", "ADA"),
        ("{{name | shout: 'a', 'b' | upcase}}", "ADA"),
        ("{{name | append | upcase}}", "ADA"),
        ("{{name | }}", "ada"),
        ("{% if a %}{{name | shout}}{% endif %}", "ada"),
        // A placeholder that is not well formed is one name, and never leaks.
        ("{{a == 2}}", ""),
        ("{{#if a}}x{{/if}}", "x"),
        ("{{R&D budget}}", "1"),
        ("{{name ?? \"x}}", "ada"),
        ("{{nope ?? \"x}}", "\"x"),
        // A wrong tag leaves all tags as text.
        ("{% if a %}{{name}}", "{% if a %}ada"),
        ("{% what %}{{name}}{% raw %}{{name}}", "{% what %}ada{% raw %}ada"),
        ("{% {{name}} {{name | upcase}}", "{% ada ADA"),
        ("{% include 'x' %}{{name}}", "{% include 'x' %}ada"),
    ] {
        assert_eq!(lenient(source, &data), expected, "{source}");
    }
}

//! Tags, conditions and loops.

use serde_json::json;

use super::{check, html};

#[test]
fn conditionals() {
    check(
        &json!({"a": 1, "b": 0, "s": "x", "plan": "pro"}),
        &[
            ("{% if a %}1{% endif %}{% if b %}2{% endif %}", "1"),
            ("{% if b %}1{% elsif a %}2{% else %}3{% endif %}", "2"),
            ("{% if b %}1{% elsif missing %}2{% else %}3{% endif %}", "3"),
            ("{% unless b %}1{% else %}2{% endunless %}", "1"),
            ("{% unless a %}1{% elsif s %}2{% endunless %}", "2"),
            ("{% unless a and b %}1{% endunless %}", "1"),
            (
                "{% case plan %}ignored{% when 'free', 'trial' %}1{% when 'pro' or 'team' %}2{% else %}3{% endcase %}",
                "2",
            ),
            ("{% case b %}{% when 1 %}1{% else %}3{% endcase %}", "3"),
            ("{% case b %}{% endcase %}", ""),
            ("{%if a%}1{%endif%}", "1"),
            ("{% if a %}{% if b %}1{% else %}2{% endif %}{% endif %}", "2"),
        ],
    );
}

#[test]
fn truth() {
    let data = json!({
        "null": null, "no": false, "void": "", "zero": 0, "zerof": 0.0, "yes": true, "text": "0", "list": [], "o": {},
        "neg": -1,
    });
    for (name, expected) in [
        ("missing", false),
        ("data['null']", false),
        ("no", false),
        ("void", false),
        ("zero", false),
        ("zerof", false),
        ("yes", true),
        ("text", true),
        ("list", true),
        ("o", true),
        ("neg", true),
        ("true", true),
        ("false", false),
        ("nil", false),
        ("'x'", true),
        ("''", false),
    ] {
        let source = format!("{{% if {name} %}}true{{% else %}}false{{% endif %}}");
        check(&data, &[(source.as_str(), if expected { "true" } else { "false" })]);
    }
}

#[test]
fn conditions() {
    let data = json!({
        "n": 5, "f": 5.0, "s": "abc", "five": "5", "list": ["a", "b", 3], "o": {"k": 1}, "p": {"k": 1}, "void": "",
        "none": null, "no": false, "spaces": "  ", "nums": [1, 2, 3],
    });
    for (condition, expected) in [
        ("n == 5", true),
        ("n == 5.0 and n == f", true),
        ("n == five", false),
        ("n != 4", true),
        ("n <> 5", false),
        ("n < 6 and n > 4 and n <= 5 and n >= 5", true),
        ("n < five", false),
        ("n <= five", true),
        ("s < 'abd'", true),
        ("s < 5", false),
        ("missing < 5", false),
        ("missing > 5", false),
        ("missing == nil", true),
        ("none == null", true),
        ("s == 'abc'", true),
        ("s == \"abc\"", true),
        ("s contains 'b'", true),
        ("s contains 'z'", false),
        ("s contains missing", false),
        ("list contains 'b'", true),
        ("list contains 3", true),
        ("list contains 'z'", false),
        ("o contains 'k'", true),
        ("n contains 5", false),
        ("missing contains 5", false),
        ("o == p", true),
        ("list == nums", false),
        ("(1..3) == nums", true),
        ("(1..3) contains 2", true),
        ("void == empty", true),
        ("void == blank and spaces == blank and none == blank and no == blank", true),
        ("spaces == empty", false),
        ("none == empty", false),
        ("s != empty", true),
        ("missing.deep == nil", true),
        ("list.size == 3", true),
        ("s.size == 3", true),
        ("list.first == 'a' and list.last == 3", true),
        // From the right: false and (false or true).
        ("false and false or true", false),
        ("true or false and false", true),
        ("false or true and true", true),
        ("true and false or true", true),
    ] {
        let source = format!("{{% if {condition} %}}true{{% else %}}false{{% endif %}}");
        check(&data, &[(source.as_str(), if expected { "true" } else { "false" })]);
    }
}

#[test]
fn loops() {
    let data = json!({
        "xs": ["a", "b", "c", "d"], "none": [], "o": {"k": 1, "j": 2}, "s": "text", "n": 2,
        "rows": [{"name": "x", "price": 1.5}, {"name": "y", "price": 2}],
    });
    check(
        &data,
        &[
            ("{% for x in xs %}{{x}},{% endfor %}", "a,b,c,d,"),
            ("{% for x in xs limit:2 %}{{x}}{% endfor %}", "ab"),
            ("{% for x in xs limit: n offset: 1 %}{{x}}{% endfor %}", "bc"),
            ("{% for x in xs, offset: 3, limit: 9 %}{{x}}{% endfor %}", "d"),
            ("{% for x in xs reversed %}{{x}}{% endfor %}", "dcba"),
            ("{% for x in xs reversed limit: 2 offset: 1 %}{{x}}{% endfor %}", "cb"),
            ("{% for x in xs limit: -1 %}{{x}}{% else %}-{% endfor %}", "-"),
            ("{% for x in none %}{{x}}{% else %}empty{% endfor %}", "empty"),
            ("{% for x in missing %}{{x}}{% else %}empty{% endfor %}", "empty"),
            ("{% for x in n %}{{x}}{% else %}empty{% endfor %}", "empty"),
            ("{% for x in s %}{{x}}{% endfor %}", "text"),
            ("{% for x in o %}{{x[0]}}{{x.last}}{% endfor %}", "j2k1"),
            ("{% for row in rows %}{{row.name}}:{{row.price}} {% endfor %}", "x:1.5 y:2 "),
            ("{% for i in (1..4) %}{{i}}{% endfor %}", "1234"),
            ("{% for i in (n..xs.size) %}{{i}}{% endfor %}", "234"),
            ("{% for i in (4..1) %}{{i}}{% else %}none{% endfor %}", "none"),
            ("{% for x in xs %}{% if x == 'c' %}{% break %}{% endif %}{{x}}{% endfor %}", "ab"),
            ("{% for x in xs %}{% if x == 'c' %}{% continue %}{% endif %}{{x}}{% endfor %}", "abd"),
            (
                "{% for x in xs limit:2 %}{{forloop.index}}{{forloop.index0}}{{forloop.first}}{{forloop.last}}\
                 {{forloop.length}} {% endfor %}",
                "10truefalse2 21falsetrue2 ",
            ),
            ("{% for x in xs limit:2 %}{{forloop.rindex}}{{forloop.rindex0}} {% endfor %}", "21 10 "),
            (
                "{% for i in (1..2) %}{% for j in (1..2) %}{{i}}{{j}}{{forloop.last}} {% endfor %}{{forloop.last}};\
                 {% endfor %}{{i}}{{forloop.index}}",
                "11false 12true false;21false 22true true;",
            ),
            ("{% for i in (1..2) %}{% for j in (1..9) %}{% break %}{% endfor %}{{i}}{% endfor %}", "12"),
        ],
    );
}

#[test]
fn variables() {
    check(
        &json!({"x": "data", "name": "ada", "xs": [1, 2]}),
        &[
            ("{{x}}{% assign x = 'local' %}{{x}}", "datalocal"),
            ("{% assign y = name | upcase | append: '!' %}{{y}}", "ADA!"),
            ("{% assign y = missing ?? 'friend' | upcase %}{{y}}", "FRIEND"),
            (
                "{% assign total = 0 %}{% for i in xs %}{% assign total = total | plus: i %}{% endfor %}{{total}}",
                "3",
            ),
            ("{% assign x = nil %}[{{x ?? 'gone'}}]", "[gone]"),
            ("{% capture y %}Hi {{name}}{% endcapture %}{{y | size}} {{y}}", "6 Hi ada"),
            ("{% capture y %}{% for i in xs %}{{i}}{% endfor %}{% endcapture %}{{y}}", "12"),
            ("{% for x in xs %}{% assign y = x %}{% endfor %}{{y}}{{x}}", "2data"),
            (
                "{% for i in xs %}{% capture y %}{{i}}{% break %}never{% endcapture %}{% endfor %}[{{y}}]",
                "[1]",
            ),
        ],
    );
}

#[test]
fn raw_comments_and_trimming() {
    check(
        &json!({"a": "x"}),
        &[
            ("{% raw %}{{a}}{% if %}{% endraw %}{{a}}", "{{a}}{% if %}x"),
            ("{%- raw -%} {{a}} {%- endraw -%} {{a}}", "{{a}}x"),
            ("1{% comment %}{{a}}{% if %}{{ {% endcomment %}2", "12"),
            ("1 {%- comment -%} x {%- endcomment -%} 2", "12"),
            ("1{% comment why %}x{% endcomment %}2{% # inline %}3", "123"),
            ("1 {{- a -}} 2", "1x2"),
            ("1 {{- a }} 2", "1x 2"),
            ("1 {{ a -}}\n\n 2", "1 x2"),
            ("1 {{{- a -}}} 2", "1x2"),
            ("{% if a -%}\n  {{a}}\n{%- endif %}", "x"),
            ("{%- if a -%} 1 {%- else -%} 2 {%- endif -%} 3", "13"),
            ("{{-}}|{{--}}", "|"),
        ],
    );
}

#[test]
fn html_is_kept() {
    let source = "<ul>{% for x in xs %}<li class='a'>{{ x }}</li>{% endfor %}</ul>";
    assert_eq!(
        html(source, &json!({"xs": ["<", "b"]})),
        "<ul><li class='a'>&lt;</li><li class='a'>b</li></ul>"
    );
}

//! Every filter.

use serde_json::json;

use super::{check, html};

#[test]
fn texts() {
    check(
        &json!({"s": "  Hello World ", "n": 5, "void": "", "ents": "&lt;<&#39;&", "no": false, "lines": "a\r\nb\nc", "list": [1, 2], "none": null}),
        &[
            (
                "{{missing | default: 'x'}}{{void | default: 'y'}}{{no | default: 'z'}}{{n | default: 1}}",
                "xyz5",
            ),
            ("{{no | default: 'z', allow_false: true}}", "false"),
            ("{{'aBc' | upcase}}{{'aBc' | downcase}}{{'hELLO wORLD' | capitalize}}", "ABCabcHello world"),
            ("[{{s | strip}}][{{s | lstrip}}][{{s | rstrip}}]", "[Hello World][Hello World ][  Hello World]"),
            (
                "{{'abcdef' | truncate: 5}}|{{'abcdef' | truncate: 6}}|{{'äöüäöü' | truncate: 4, '…'}}",
                "ab...|abcdef|äöü…",
            ),
            ("{{'abcdef' | truncate: 1}}|{{'abc' | truncate: -5, ''}}|{{'ab' | truncate}}", "...||ab"),
            (
                "{{'a b  c d' | truncatewords: 2}}|{{'a  b' | truncatewords: 2}}|{{'a b' | truncatewords: 1, '!'}}",
                "a b...|a  b|a!",
            ),
            ("{{'a' | append: 'b' | prepend: 'c'}}{{missing | append: 'x'}}{{n | append: n}}", "cabx55"),
            (
                "{{'aba' | replace: 'a', 'xx'}}{{'aba' | replace_first: 'a', 'x'}}{{'ab' | replace: '', 'x'}}",
                "xxbxxxbaab",
            ),
            ("{{'aba' | remove: 'a'}}{{'aba' | remove_first: 'a'}}", "bba"),
            (
                "{{'a,b,,c,,' | split: ',' | size}}{{'äb' | split: '' | join: '-'}}{{missing | split: ',' | size}}",
                "4ä-b0",
            ),
            (
                "{{'a b&c/ä~' | url_encode}} {{'a+b%26%C3%A4%zz%' | url_decode}}",
                "a+b%26c%2F%C3%A4~ a b&ä%zz%",
            ),
            ("{{lines | newline_to_br}}|{{lines | strip_newlines}}", "a<br />\nb<br />\nc|abc"),
            (
                "{{'<p>a<br/>b</p><script>x<1</script><!-- <b> -->c<style>d</style> 1 < 2' | strip_html}}",
                "abc 1 < 2",
            ),
            ("{{'<b>' | escape}}{{ents | escape_once}}", "&lt;b&gt;&lt;&lt;&#39;&amp;"),
            (
                "{{'abc' | slice: 1}}{{'abcdef' | slice: 2, 3}}{{'äöü' | slice: -2, 2}}{{'a' | slice: 9}}",
                "bcdeöü",
            ),
            (
                "{{list | json}}{{'a\"b' | json}}{{missing | json}}{{no | json}}{{1.5 | json}}",
                r#"[1,2]"a\"b"nullfalse1.5"#,
            ),
            ("{{list | upcase}}{{none | upcase}}{{n | upcase}}", "1, 25"),
            ("{{'ß' | upcase}}{{'' | capitalize}}", "SS"),
        ],
    );
}

#[test]
fn numbers() {
    check(
        &json!({"n": 5, "s": "4.5", "max": i64::MAX, "huge": 1e308}),
        &[
            (
                "{{n | plus: 2}} {{n | minus: 7}} {{n | times: 1.5}} {{s | plus: 1}} {{'x' | plus: 1}}",
                "7 -2 7.5 5.5 1",
            ),
            (
                "{{7 | divided_by: 2}} {{ -7 | divided_by: 2}} {{7 | divided_by: 2.0}} [{{7 | divided_by: 0}}]",
                "3 -4 3.5 []",
            ),
            ("[{{7.0 | divided_by: 0}}][{{7 | modulo: 0}}][{{0.0 | divided_by: 0}}]", "[][][]"),
            ("{{7 | modulo: 3}} {{ -7 | modulo: 3}} {{7 | modulo: -3}} {{7.5 | modulo: 2}}", "1 2 -2 1.5"),
            (
                "{{2.5 | round}} {{2.345 | round: 2}} {{ -2.5 | round}} {{s | ceil}} {{s | floor}} {{ -3 | abs}} {{ -1.5 | abs}}",
                "3 2.35 -3 5 4 3 1.5",
            ),
            ("{{n | at_least: 7}} {{n | at_most: 3}} {{n | at_least: 2}} {{n | at_most: 9.5}}", "7 3 5 5"),
            (
                "{{max | plus: 1}} {{max | times: max}}",
                "9223372036854775808 85070591730234615847396907784232501249",
            ),
            ("[{{huge | times: 10}}] {{huge | round: 15 | divided_by: huge}}", "[] 1"),
            ("{{max | times: max | times: max | divided_by: max | round | size}}", "0"),
            ("{{0 | minus: 0.0 | times: -1}} {{0.1 | plus: 0.2 | round: 2}}", "0 0.3"),
        ],
    );
}

#[test]
fn lists() {
    let data = json!({
        "xs": [3, 1, 2.5, "b", "a", null, true, 1], "words": ["b", "a", "b"], "nested": [[1], [1], [2]],
        "rows": [{"n": "y", "on": true, "p": 2}, {"n": "x", "on": false, "p": 1}, {"n": "z", "p": 3, "on": true}],
        "o": {"a": 1}, "mix": [9_007_199_254_740_993_i64, 9_007_199_254_740_992.0, 9_007_199_254_740_992_i64],
    });
    check(
        &data,
        &[
            ("{{words | join}} {{words | join: ', '}} {{'x' | join: '-'}}", "b a b b, a, b x"),
            (
                "{{words | first}}{{words | last}}{{words.first}}[{{'' | split: ',' | first}}][{{'ab' | first}}]",
                "bbb[][]",
            ),
            ("{{words | size}}{{'äb' | size}}{{o | size}}{{5 | size}}{{missing | size}}", "32100"),
            ("{{words | reverse | join: ''}}{{words | uniq | join: ''}}{{nested | uniq | size}}", "babba2"),
            ("{{xs | sort | join: ' '}}", "1 1 2.5 3 a b true "),
            ("{{mix | sort | size}}", "3"),
            (
                "{{rows | map: 'n' | join: ''}} {{rows | sort: 'n' | map: 'n' | join: ''}} {{rows | sort: 'p' | map: 'p'}}",
                "yxz xyz 1, 2, 3",
            ),
            (
                "{{rows | where: 'on' | map: 'n'}} {{rows | where: 'on', false | map: 'n'}} {{rows | where: 'p', 3 | size}}",
                "y, z x 1",
            ),
            ("{{words | slice: 1, 2 | join: ''}}{{words | slice: -1 | join: ''}}", "abb"),
            ("{{(1..3) | join: '+'}} {{(1..3) | reverse | join: ''}} {{(1..3) | last}}", "1+2+3 321 3"),
            ("{{5 | reverse}}{{5 | sort}}{{5 | map: 'x'}}", "555"),
        ],
    );
    assert_eq!(html("{{words | uniq}}", &data), "<li>b</li>\n<li>a</li>");
}

#[test]
fn dates() {
    check(
        &json!({"d": "2024-03-05", "t": "2024-03-05T14:07:09.500Z", "o": "2024-03-05T23:30:00+02:00", "u": 1_709_647_629}),
        &[
            ("{{d | date: '%d.%m.%Y'}} {{d | date: '%-d %B %y, %A'}}", "05.03.2024 5 March 24, Tuesday"),
            (
                "{{t | date: '%H:%M:%S %Z'}} {{o | date: '%Y-%m-%d %H:%M %z'}}",
                "14:07:09 UTC 2024-03-05 23:30 +0200",
            ),
            (
                "{{u | date: '%F %T'}} {{'1709647629' | date: '%F'}} {{0 | date: '%s'}}",
                "2024-03-05 14:07:09 2024-03-05 0",
            ),
            ("{{'soon' | date: '%F'}}{{missing | date: '%F'}}[{{d | date: '%!'}}]", "soon[2024-03-05]"),
            ("{{'now' | date: '%F'}} {{99999999999999999 | date: '%F'}}", "now 99999999999999999"),
        ],
    );
}

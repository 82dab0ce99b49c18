//! What a strict parse refuses, where it says the fault is, and what it says to do.

use crate::template_language::{MAX_SOURCE, SyntaxError, Template};

#[track_caller]
fn error(source: &str) -> SyntaxError {
    match Template::parse(source) {
        Ok(_) => panic!("accepted: {source}"),
        Err(error) => error,
    }
}

#[test]
fn positions_and_advice() {
    for (source, line, column, advice) in [
        ("{{ name | shout }}", 1, 11, "There is no filter `shout`."),
        ("{{ name | upcas }}", 1, 11, "Did you mean `upcase`?"),
        ("a\nb {{ name | shout }}", 2, 13, "no filter"),
        ("äöü {{ name | shout }}", 1, 15, "no filter"),
        ("&lt; {{&nbsp;name | shout }}", 1, 21, "no filter"),
        ("{{ name | }}", 1, 11, "The name of a filter goes after `|`"),
        ("{{ name || 'x' }}", 1, 10, "??"),
        ("{{ | upcase }}", 1, 4, "The name is missing"),
        ("{{ a == b }}", 1, 6, "{% if %}"),
        ("{{ a + b }}", 1, 6, "plus"),
        ("{{ a ? b }}", 1, 6, "??"),
        ("{{ f(x) }}", 1, 5, "no functions"),
        ("{{#if a}}", 1, 3, "{% if name %}"),
        ("{{ a..b }}", 1, 5, "Unexpected `.`"),
        ("{{ a. }}", 1, 7, "is missing here"),
        ("{{ a[b }}", 1, 8, "Close the key with `]`"),
        ("{{ [b] }}", 1, 4, "quotes"),
        ("{{ a ?? \"x }}", 1, 9, "not closed"),
        ("{{ a ?? \"x\" y }}", 1, 13, "other kind of quotes"),
        ("{{ a | append }}", 1, 8, "takes one value"),
        ("{{ a | upcase: 1 }}", 1, 8, "takes no value"),
        ("{{ a | slice: 1, 2, 3 }}", 1, 8, "takes 1 to 2 values, not 3"),
        ("{{ a | append: x y }}", 1, 18, "commas"),
        ("{{ a | append 'x' }}", 1, 15, "after a colon"),
        ("x\n  {% if a %}", 2, 3, "`{% if %}` is not closed. Add `{% endif %}`"),
        ("{% if a %}{% for x in y %}{% endif %}{% endfor %}", 1, 27, "Close that first with `{% endfor %}`"),
        ("{% endif %}", 1, 1, "no block"),
        ("{% else %}", 1, 1, "no block"),
        ("{% if a %}{% else %}{% else %}{% endif %}", 1, 21, "Put `else` last"),
        ("{% if a %}{% else if b %}{% endif %}", 1, 11, "elsif"),
        ("{% if %}{% endif %}", 1, 7, "The condition is missing"),
        ("{% if a = b %}{% endif %}", 1, 9, "`==`"),
        ("{% if a && b %}{% endif %}", 1, 9, "`and` and `or`"),
        ("{% if !a %}{% endif %}", 1, 7, "unless"),
        ("{% if a | size %}{% endif %}", 1, 9, "assign"),
        ("{% if first name %}{% endif %}", 1, 13, "data[\"the key\"]"),
        ("{% if a == %}{% endif %}", 1, 12, "is missing here"),
        ("{% for x of y %}{% endfor %}", 1, 10, "{% for item in items %}"),
        ("{% for x in y foo %}{% endfor %}", 1, 15, "limit"),
        ("{% assign x %}", 1, 13, "assign name = value"),
        ("{% assign x = %}", 1, 14, "The value is missing"),
        ("{% capture %}{% endcapture %}", 1, 12, "takes a name"),
        ("{% break %}", 1, 1, "inside `{% for %}`"),
        ("{% fi a %}", 1, 1, "There is no tag `fi`."),
        ("{% iff a %}", 1, 1, "Did you mean `if`?"),
        ("{% %}", 1, 1, "no name"),
        ("{% if a", 1, 1, "not closed"),
        ("{% raw %}", 1, 1, "{% endraw %}"),
        ("{% comment %}", 1, 1, "{% endcomment %}"),
        ("{% include 'x' %}", 1, 1, "cannot load another"),
        ("{% render 'x' %}", 1, 1, "cannot load another"),
        ("{% layout 'x' %}", 1, 1, "cannot load another"),
        ("{% case a %}{% when %}{% endcase %}", 1, 21, "is missing here"),
        ("{% assign x = (1..) %}", 1, 19, "Unexpected `)`"),
    ] {
        let error = error(source);
        assert_eq!((error.line, error.column), (line, column), "{source}: {error}");
        assert!(error.message.contains(advice), "{source}: {error}");
        assert!(error.message.ends_with(['.', '?', '`']), "{source}: {error}");
    }
}

#[test]
fn display() {
    let error = error("a\n{% endif %}");
    let expected =
        "line 2, column 1: `{% endif %}` has no block to belong to. Remove it, or open the block before it.";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn the_source_is_bounded() {
    assert!(Template::parse(&"ä".repeat(MAX_SOURCE)).is_ok());
    assert!(error(&"a".repeat(MAX_SOURCE + 1)).message.contains("Shorten it"));
}

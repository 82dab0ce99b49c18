use proptest::prelude::*;

use super::html_to_text;

#[test]
fn html_becomes_text() {
    for (html, text) in [
        ("", ""),
        ("plain", "plain"),
        ("  a \n b\t c  ", "a b c"),
        ("<p>One</p><p>Two</p>", "One\n\nTwo"),
        ("<div>One</div><div>Two</div>", "One\nTwo"),
        ("<div><div><div>One</div></div></div>\n<div>Two</div>", "One\nTwo"),
        ("before<div>inside</div>after", "before\ninside\nafter"),
        ("a<br>b<br/>c<BR />d", "a\nb\nc\nd"),
        ("a<br><br><br><br>b", "a\n\nb"),
        ("a<hr>b", "a\nb"),
        ("<h1>Title</h1>Text", "Title\n\nText"),
        ("<table><tr><th>a</th><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>", "a\tb\nc\td"),
        ("<ul><li>Milk</li><li>Eggs<li></li></ul>after", "- Milk\n- Eggs\n\nafter"),
        ("<b>bo</b>ld <i>it</i>", "bold it"),
        // Dropped elements.
        ("<style>p { color: red }</style>x", "x"),
        ("<script>if (a < b) { alert('</p>') }</script>x", "x"),
        ("<SCRIPT>a</ScRiPt >x", "x"),
        ("<script>never closed <p>x</p>", ""),
        ("<script>a</scripty></script>x", "x"),
        ("<html><head><title>T</title><meta charset=x>junk</head><body>x</body></html>", "x"),
        ("<head><title>T</title>junk<p>x</p>", "x"),
        ("a<!-- b --> c<!-- <p>--> d", "a c d"),
        ("a<!--[if mso]><p>b</p><![endif]-->c<![if !mso]>d<![endif]>", "acd"),
        ("a<!-->b<!--->c", "abc"),
        ("<!DOCTYPE html><?xml version=1?>x", "x"),
        // Links.
        (r#"<a href="https://example.com/x">Shop</a>"#, "Shop (https://example.com/x)"),
        (
            r"<a class=b href='http://example.com/?a=1&amp;b=2'>Shop</a> now",
            "Shop (http://example.com/?a=1&b=2) now",
        ),
        ("<a href=https://example.com>Shop</a>", "Shop (https://example.com)"),
        (r#"<a href="https://example.com/">https://example.com</a>"#, "https://example.com"),
        (r#"<a href="https://example.com/">example.com</a>"#, "example.com"),
        (r#"<a href="https://example.com/"><img src=x></a>"#, "https://example.com/"),
        (r#"<a href="https://example.com/"><img alt="Our shop"></a>"#, "Our shop (https://example.com/)"),
        (r#"<img alt="Logo">x"#, "x"),
        (r#"<a href="mailto:a@example.com">Write</a>"#, "Write"),
        (r##"<a href="#top">Up</a>"##, "Up"),
        (r#"<a href="javascript:x">Run</a>"#, "Run"),
        (r#"<a name="x">Here</a>"#, "Here"),
        (
            r#"see <a href="https://e.com/a">one <a href="https://e.com/b">two"#,
            "see one (https://e.com/a) two (https://e.com/b)",
        ),
        (r#"<a href="https://e.com/a"><div>Click</div></a>x"#, "Click (https://e.com/a)\nx"),
        ("<a href=\" https://e.com/a\n b \">x</a>", "x (https://e.com/ab)"),
        // Entities and characters.
        ("a &amp; b &lt;c&gt; &quot;d&quot; &#39;e&#x27;", "a & b <c> \"d\" 'e'"),
        ("a&nbsp;&nbsp;b", "a b"),
        ("&copy; 2026 &mdash; caf\u{e9} &eacute;", "\u{a9} 2026 \u{2014} caf\u{e9} \u{e9}"),
        ("a &b; c & d &", "a &b; c & d &"),
        ("pre&#847;&zwnj;&nbsp;&#8203;&zwnj;&nbsp;header&shy;s", "pre headers"),
        ("\u{645}\u{6cc}\u{200c}\u{62e} x\u{200c}", "\u{645}\u{6cc}\u{200c}\u{62e} x"),
        // Not well-formed.
        ("a < b and c > d", "a < b and c > d"),
        ("a <", "a <"),
        ("a <b", "a"),
        ("a <p title=\"x>y", "a\n\ny"),
        ("a <p title=\"x>y</p>", "a\n\ny"),
        ("<p title='a>b'>x</p>", "x"),
        ("<p it's>x</p>", "x"),
        ("</p></div>x", "x"),
        ("<a href>x</a>", "x"),
        ("<a =href=https://e.com>x</a>", "x"),
        ("\u{0}a\u{7}b", "ab"),
    ] {
        assert_eq!(html_to_text(html), text, "{html}");
    }
}

#[test]
fn hostile_input_stays_linear() {
    // Each would take minutes if any search began anew at every tag.
    for piece in
        ["<a \"", "<a ='", "<!--", "<script>", "<a href=\"", "</", "&#", "<li>", "<a href=http://e>", "<p\t="]
    {
        html_to_text(&piece.repeat(200_000));
    }
}

proptest! {
    #[test]
    fn any_text_is_taken(html in any::<String>()) {
        html_to_text(&html);
    }

    #[test]
    fn any_jumble_of_html_is_taken_and_trimmed(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "<", ">", "</", "<a href='", "http://x", "'", "\"", "<p>", "</p>", "<li>", "<br>", "<script>", "</script>",
                "<!--", "-->", "&", "&amp;", "&#", "x", " ", "\n", "\u{fc}", "\u{a0}", "\u{200b}", "=", "/", "<td>", "</td>",
            ]),
            0..60,
        )
    ) {
        let text = html_to_text(&pieces.concat());
        prop_assert_eq!(text.trim(), &text);
        prop_assert!(!text.contains("\n\n\n"));
        prop_assert!(!text.contains("  "));
    }
}

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
        ("a<hr>b", "a\n----------\nb"),
        ("<p>a</p><hr/><p>b</p>", "a\n\n----------\n\nb"),
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
        (
            r#"<img src=a alt="Sale &amp; more"> <img src=b><img alt="<b>Today</b>"><p></p>"#,
            "Sale & more\n\n<b>Today</b>",
        ),
        (r#"<div style="display:none"><img alt="Logo"></div>"#, ""),
        (r#"<img alt="Logo" style="display:none"><img alt="Shop">"#, "Shop"),
        (
            r#"<a href="https://e.com"><img alt="Shop"><img alt="Shop" hidden></a> x"#,
            "Shop (https://e.com) x",
        ),
        (r#"<img alt=" ">"#, ""),
        (r#"<a href="mailto:a@example.com">Write</a>"#, "Write (a@example.com)"),
        (r#"<a href="MAILTO:a%2Bb@example.com?subject=x">Write</a>"#, "Write (a+b@example.com)"),
        (r#"<a href="mailto:a@example.com">A@example.com</a>"#, "A@example.com"),
        (r#"<a href="mailto:?subject=x">Share</a>"#, "Share"),
        (r#"<a href="mailto:a%0Ab@example.com">x</a>"#, "x (a%0Ab@example.com)"),
        (
            r#"<a href="tel:+49-30-1234">call</a>, <a href="sms:123?body=x">text</a>"#,
            "call (+49-30-1234), text (123)",
        ),
        (r#"<a href="tel:+49301234">+49 30 1234</a>"#, "+49 30 1234"),
        (
            r#"<a href="https://e.com/c"><img alt="Logo"></a><a href="https://e.com/d"><img></a><a href="https://e.com/e"><img></a>f"#,
            "Logo (https://e.com/c) https://e.com/d https://e.com/e f",
        ),
        (
            r#"<a href="https://e.com/c">c</a><a href="https://e.com/d">d</a>."#,
            "c (https://e.com/c) d (https://e.com/d).",
        ),
        (
            r#"<a href="https://e.com/c"></a>. <a href="https://e.com/d"></a>)"#,
            "https://e.com/c. https://e.com/d)",
        ),
        (r#"<ul><li><a href="https://e.com/">e.com</a></ul>"#, "- e.com"),
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
    ] {
        assert_eq!(html_to_text(html), text, "{html}");
    }
}

#[test]
fn html_that_is_not_well_formed_becomes_text() {
    for (html, text) in [
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
fn structure_is_kept_and_what_is_hidden_is_left_out() {
    for (html, text) in [
        // Tables.
        ("<tr><td>Cup</td><td></td><td>19</td></tr><tr><td>x", "Cup\t\t19\nx"),
        (
            "<table><tr><th>Item</th><th>Qty</th></tr><tr><td></td><td>2</td></tr><tr><td>Cup</td><td></td></tr></table>x",
            "Item\tQty\n\t2\nCup\nx",
        ),
        ("a<table><tr><td></td><td>layout</td></tr></table>", "a\nlayout"),
        // Lists.
        ("<ol><li>One</li><li>Two</li></ol>", "1. One\n2. Two"),
        ("<ol start=9><li>a<li>b<li value=20>c<li>d</ol>", "9. a\n10. b\n20. c\n21. d"),
        (
            "<ol><li>One<ul><li>One a</li><li>One b<p>para in b</p></li></ul></li><li>Two</li></ol>end",
            "1. One\n   - One a\n   - One b\n\n     para in b\n\n2. Two\n\nend",
        ),
        ("<ul><li><ol><li>x</ol><li>y</ul>", "- 1. x\n- y"),
        ("<ul><li>a<br>b</li></ul>", "- a\n  b"),
        ("<li>a<li>b", "- a\n- b"),
        // Preformatted text and quotes.
        ("x<pre>\n  code\n    indented\n\n\nend  </pre>y", "x\n\n  code\n    indented\n\n\nend\n\ny"),
        ("<pre>a<br>b\tc &amp; d</pre>", "a\nb\tc & d"),
        (
            "<p>He said:</p><blockquote><p>One</p><p>Two<br>three</p></blockquote><p>and left",
            "He said:\n\n> One\n>\n> Two\n> three\n\nand left",
        ),
        ("<blockquote>a<blockquote>b</blockquote></blockquote>", "> a\n>\n> > b"),
        ("<ul><li>x<blockquote>y</blockquote></ul>", "- x\n\n  > y"),
        // Hidden text.
        (r#"<div style="display:none">pre<div>view</div></div>shown"#, "shown"),
        (r#"<div style="DISPLAY : none !important; color:red"><table><tr><td>x</table></div>shown"#, "shown"),
        ("<p hidden>a</p>b<p hidden>c<p>d", "b\n\nd"),
        (r#"<span style="visibility:hidden">a</span>b<span style="opacity:0">c</span>"#, "b"),
        (r#"<span style="max-height:0px;overflow:hidden">a</span>b"#, "b"),
        (r#"<span style="font-size:0">a</span>b<span style="font:0/0 a">c</span>"#, "b"),
        (r#"<span style="font: bold 12px/0 Arial">a</span>"#, "a"),
        (
            r#"<td style="font-size:0px"> <div style="font-size:13px">a</div><a href="https://e.com/"><img alt="Logo"></a></td>b"#,
            "a\nLogo (https://e.com/)\tb",
        ),
        (r#"<a href="https://e.com/" style="mso-hide:all">Buy</a>"#, "Buy (https://e.com/)"),
        (r#"<a href="https://e.com/" hidden>Buy</a>x"#, "x"),
        (
            r#"<div style="display:none"><ul><li>x</ul><hr><a href="https://e.com">y</a></div><ul><li>z</ul>"#,
            "- z",
        ),
        (r#"<div style="display:block;height:0">a</div>"#, "a"),
    ] {
        assert_eq!(html_to_text(html), text, "{html}");
    }
}

#[test]
fn indentation_does_not_multiply_a_text() {
    for (open, line, end) in [
        ("<ol start=999999><li>", "<br>x", ""),
        ("<blockquote>", "<p>x", ""),
        ("<ul><li>", "<li>x", ""),
        ("<blockquote><pre>x", "\n", "y"),
        ("<blockquote><pre>x", "\n\nx", ""),
    ] {
        let html = format!("{}{}{end}", open.repeat(8), line.repeat(10_000));
        let text = html_to_text(&html);
        assert!(text.len() < 3 * html.len(), "{open}: {} of {}", text.len(), html.len());
    }
}

#[test]
fn hostile_input_stays_linear() {
    // Each would take minutes if any search began anew at every tag.
    for piece in [
        "<a \"",
        "<a ='",
        "<!--",
        "<script>",
        "<a href=\"",
        "</",
        "&#",
        "<li>",
        "<a href=http://e>",
        "<p\t=",
        "<ol><li>x",
        "<blockquote>x<br>",
        "<div style=display:none>",
        "<p hidden>x",
        "<pre> x\n",
        "<td style='font-size:0'>x",
        "</td>",
        "<table><th>x<td></td>",
        "<div style='",
        "<ul><ul><div hidden></div>",
    ] {
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
                "<p hidden>", "<b style='font-size:0'>", "</b>",
            ]),
            0..60,
        )
    ) {
        let text = html_to_text(&pieces.concat());
        prop_assert_eq!(text.trim(), &text);
        prop_assert!(!text.contains("\n\n\n"));
        prop_assert!(!text.contains("  "));
    }

    #[test]
    fn any_nesting_is_taken_and_trimmed(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "<ul>", "</ul>", "<ol>", "</ol>", "<li>", "</li>", "<blockquote>", "</blockquote>", "<pre>", "</pre>", "<div hidden>",
                "</div>", "<div>", "<table>", "</table>", "<tr>", "<th>", "</th>", "<td>", "</td>", "<hr>", "<br>", "x", " ", "\n", "\t",
                "<a href='https://e'>", "<a href='mailto:a@b'>", "</a>", "<p>", "</p>", "<td style='font-size:0'>", "<img alt=y>",
            ]),
            0..60,
        )
    ) {
        let text = html_to_text(&pieces.concat());
        prop_assert_eq!(text.trim(), &text);
        prop_assert!(text.lines().all(|line| line.trim_end() == line || line.ends_with('\t')), "{:?}", text);
    }
}

//! MJML as people write it, with the template language in it, and as nobody should.

use mailwright_core::template_language::Template;

use super::*;

fn in_section(inner: &str) -> String {
    format!("<mjml><mj-body><mj-section><mj-column>{inner}</mj-column></mj-section></mj-body></mjml>")
}

fn html(source: &str) -> String {
    to_html(source).unwrap_or_else(|fault| panic!("{fault}\n{source}"))
}

fn fault(source: &str) -> Fault {
    to_html(source).expect_err(source)
}

#[test]
fn the_template_language_comes_out_as_it_was_written() {
    let kept = [
        "{{name}}",
        "{{ name | default: \"you & <me>\" }}",
        "{{{ html }}}",
        "{% if n < 5 and m > 2 %}",
        "{% endif %}",
        "{% if n &lt; 5 %}{% endif %}",
        "{% comment %}<b>{{ & {% endcomment %}",
        "{% for row in rows limit: 3 %}{{row[\"a b\"]}}{% endfor %}",
    ];
    for tag in kept {
        let source = in_section(&format!(
            "<mj-text>Hello {tag}!</mj-text><mj-button href='https://example.com/?a={tag}'>Go</mj-button>\
             <mj-table><tr><td>{tag}</td></tr></mj-table><mj-raw><i>{tag}</i></mj-raw><mj-image src=\"{tag}\" />",
        ));
        let made = html(&source);
        for part in [
            format!("Hello {tag}!"),
            format!("href=\"https://example.com/?a={tag}\""),
            format!("<td>{tag}</td>"),
            format!("<i>{tag}</i>"),
            format!("src=\"{tag}\""),
        ] {
            assert!(made.contains(&part), "{part}\n{made}");
        }
    }
    let between = "<mjml><mj-head><mj-title>{{t}}</mj-title><mj-preview>{{p}}</mj-preview></mj-head><mj-body>\
                   {% if pro < 2 %}<mj-section><mj-column><mj-text>A</mj-text></mj-column></mj-section>{% else %}\
                   <mj-section><mj-column>{% for i in (1..2) %}<mj-text>B</mj-text>{% endfor %}</mj-column></mj-section>\
                   {% endif %}</mj-body></mjml>";
    let made = html(between);
    let places = [
        "<title>{{t}}",
        "{{p}}",
        "{% if pro < 2 %}",
        ">A<",
        "{% else %}",
        "{% for i in (1..2) %}",
        ">B<",
        "{% endfor %}",
        "{% endif %}",
    ];
    let found: Vec<_> =
        places.iter().map(|part| made.find(part).unwrap_or_else(|| panic!("{part}\n{made}"))).collect();
    assert!(found.is_sorted(), "{found:?}");
    Template::parse(&made).unwrap();
}

#[test]
fn attributes_come_out_as_they_are() {
    let family = "👩\u{200d}👩\u{200d}👧";
    for (written, shown) in [
        (family.to_owned(), "👩&#8205;👩&#8205;👧".to_owned()),
        ("a\nb\tc\\d".to_owned(), "a&#10;b&#9;c&#92;d".to_owned()),
        ("Qz\u{e000}é".to_owned(), "Qz&#57344;é".to_owned()),
    ] {
        let made = html(&in_section(&format!("<mj-image src='a.png' alt='{written}' />")));
        assert!(made.contains(&format!("alt=\"{shown}\"")), "{shown}\n{made}");
    }
    let quoted = html(&in_section("<mj-image src='a.png' alt='\"Hi\"' title=\"it's\" />"));
    assert!(quoted.contains("alt=\"&#34;Hi&#34;\"") && quoted.contains("title=\"it's\""), "{quoted}");
}

#[test]
fn nothing_is_loaded_that_the_source_does_not_name() {
    let made = html(&in_section("<mj-text font-family='Roboto, Ubuntu'>Hi</mj-text>"));
    assert!(!made.contains("googleapis"), "{made}");
    for source in [
        "<mjml><mj-body><mj-include path=\"/etc/passwd\" type=\"html\" /></mj-body></mjml>",
        "<mjml><mj-include path='https://example.com/x.mjml' /></mjml>",
        "<mjml><mj-head><mj-include path='x.css' type='css' /></mj-head><mj-body /></mjml>",
    ] {
        let fault = fault(source);
        assert!(fault.message.contains("mj-include"), "{fault}");
        assert_eq!(fault.place.map(|place| place.line), Some(1));
    }
}

#[test]
fn faults_have_their_place_in_the_source() {
    let place = |source: &str| fault(source).place.map(|place| (place.line, place.column));
    for (source, found) in [
        ("<mjml>\n<mj-body>\n  <mj-section><mj-nonsense </mj-section></mj-body></mjml>", Some(3)),
        ("<mjml>\n\n<p>Hi</p></mjml>", Some(3)),
        ("<mjml><mj-body>\n<mj-text>{{a}} 1 < 2</mj-text></mj-body></mjml>", Some(2)),
        ("<mjml>\n<mj-body><mj-section>\n</mj-column></mj-section></mj-body></mjml>", None),
        ("Hello", Some(1)),
    ] {
        let fault = fault(source);
        assert!(!fault.message.is_empty());
        if found.is_some() {
            assert_eq!(place(source).map(|(line, _)| line), found, "{fault}\n{source}");
        }
    }
    // the columns are those of the source, not of what it became
    let long = "{{ a_very_long_name_of_something }}";
    let (line, column) = place(&format!("<mjml>é{long}<p/></mjml>")).unwrap();
    assert_eq!((line, column), (1, 7));
    let (line, column) = place(&format!("<mjml a='\n'>\n<mj-body/>{long}\n é<p/></mjml>")).unwrap();
    assert_eq!((line, column), (3, 11));
    for source in ["", "<mjml>", "<mjml></mjml>", "<!-- x -->", "<mjml><mj-body>", "<mjml><mj-head /></mjml>"]
    {
        assert!(!fault(source).message.is_empty(), "{source}");
    }
}

#[test]
fn what_is_deep_or_large_is_refused() {
    let deep = |depth: usize| {
        in_section(&format!("<mj-text>{}x{}</mj-text>", "<b>".repeat(depth), "</b>".repeat(depth)))
    };
    html(&deep(MAX_DEPTH - 6));
    for source in [
        deep(MAX_DEPTH),
        "<mjml><mj-body>".to_owned() + &"<mj-section>".repeat(50_000),
        in_section(&format!("<mj-raw>{}</mj-raw>", "<x:y>".repeat(50_000))),
    ] {
        assert!(fault(&source).message.contains("inside each other"));
    }
    html(&in_section(&format!("<mj-text>{}</mj-text>", "<br>a<br />".repeat(5_000))));
    let many = in_section(&format!("<mj-text>{}</mj-text>", "<br>".repeat(MAX_ELEMENTS)));
    assert!(fault(&many).message.contains("elements"));
    assert!(fault(&"x".repeat(MAX_SOURCE + 1)).message.contains("longer"));
}

#[test]
fn what_grows_beyond_its_source_is_refused() {
    let texts = "<mj-text>x</mj-text>".repeat(4_000);
    let attributes = "x".repeat(4_000);
    let all = format!(
        "<mjml><mj-head><mj-attributes><mj-all css-class='{attributes}' /></mj-attributes></mj-head><mj-body><mj-section>\
         <mj-column>{texts}</mj-column></mj-section></mj-body></mjml>"
    );
    assert!(fault(&all).message.contains("take over"));
    let social = in_section(&format!(
        "<mj-social font-family='{attributes}'>{}</mj-social>",
        "<mj-social-element name='x' />".repeat(4_000)
    ));
    assert!(fault(&social).message.contains("take over"));
    let hidden = all.replace(&attributes, &format!("{{{{ {attributes} }}}}"));
    assert!(fault(&hidden).message.contains("HTML"), "{}", fault(&hidden));
    let carousel =
        in_section(&format!("<mj-carousel>{}</mj-carousel>", "<mj-carousel-image src='a' />".repeat(101)));
    assert!(fault(&carousel).message.contains("carousel"));
    let classes = in_section(&format!("<mj-text mj-class='{}'>x</mj-text>", "a ".repeat(40_000)));
    assert!(fault(&classes).message.contains("mj-class"));
    let sections =
        "<mjml><mj-body>".to_owned() + &"<mj-section />".repeat(MAX_ELEMENTS - 10) + "</mj-body></mjml>";
    assert!(fault(&sections).message.contains("HTML"));
}

#[test]
fn whatever_is_given_is_answered() {
    use proptest::prelude::*;
    let piece = prop::sample::select(vec![
        "<mjml>",
        "</mjml>",
        "<mj-body>",
        "</mj-body>",
        "<mj-section>",
        "</mj-section>",
        "<mj-column width='{{w}}'>",
        "</mj-column>",
        "<mj-text>",
        "</mj-text>",
        "<p>",
        "</p>",
        "<br>",
        "{{ a }}",
        "{% if a < b %}",
        "{% endif %}",
        "{%",
        "é<",
        "&",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?x?>",
        "<!DOCTYPE x>",
        "<mj-raw>",
        "</mj-raw>",
        "'",
        "\"",
        "=",
        "<mj-image src=\"a\" />",
        "<mj-head>",
        "</mj-head>",
        "<mj-style>",
        "</mj-style>",
        "<mj-attributes>",
        "</mj-attributes>",
        "<mj-all a='b' />",
        "Qz0q",
        "<mj-group>",
        "</mj-group>",
        "<mj-navbar>",
        "</mj-navbar>",
        "<mj-navbar-link href='x'>",
        "</mj-navbar-link>",
        "<mj-hero>",
        "</mj-hero>",
        "\n",
        "<!--[if mso]>",
        "<![endif]-->",
    ]);
    let pieces = prop::collection::vec(piece, 0..40);
    proptest!(|(pieces in pieces, whole in any::<bool>())| {
        let inner = pieces.concat();
        let source = if whole { format!("<mjml><mj-body>{inner}</mj-body></mjml>") } else { inner };
        match to_html(&source) {
            Ok(made) => prop_assert!(!made.is_empty()),
            Err(fault) => prop_assert!(!fault.message.is_empty()),
        }
    });
}

#[test]
fn lines_may_end_as_windows_ends_them() {
    let lines = "<mjml>\n  <mj-body>\n    <mj-section>\n      <mj-column>\n        <mj-text>Hello {{name}}</mj-text>\n      \
                 </mj-column>\n    </mj-section>\n  </mj-body>\n</mjml>\n";
    let html = to_html(lines).unwrap();
    assert_eq!(to_html(&lines.replace('\n', "\r\n")).unwrap(), html);
    assert!(html.contains("Hello {{name}}"), "{html}");
}

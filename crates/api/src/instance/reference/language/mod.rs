//! Examples in the languages of the page.
//!
//! Each is written from a [`Request`] alone, and puts every text of it into a literal of its language.

mod curl;
mod javascript;
mod python;
mod rust;

use serde_json::Value;

use super::request::Request;

/// A language with what writes its examples.
pub(super) struct Language {
    /// The name in addresses and classes.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) write: fn(&Request) -> String,
}

/// The languages in the order of the tabs.
pub(super) const LANGUAGES: [Language; 4] = [
    Language { id: "curl", title: "curl", write: curl::write },
    Language { id: "javascript", title: "JavaScript", write: javascript::write },
    Language { id: "python", title: "Python", write: python::write },
    Language { id: "rust", title: "Rust", write: rust::write },
];

/// How a language writes values.
struct Dialect {
    truth: [&'static str; 2],
    null: &'static str,
    text: fn(&str) -> String,
    /// Spaces of one step to the right.
    step: usize,
}

/// A JSON value in a language, over several lines, at an indentation.
fn literal(value: &Value, dialect: &Dialect, indent: usize) -> String {
    let deeper = indent + dialect.step;
    let inner = " ".repeat(deeper);
    let listed = |open: char, parts: Vec<String>, close: char| {
        if parts.is_empty() {
            return format!("{open}{close}");
        }
        let lines = parts.join(&format!(",\n{inner}"));
        format!("{open}\n{inner}{lines},\n{}{close}", " ".repeat(indent))
    };
    match value {
        Value::Null => dialect.null.to_owned(),
        Value::Bool(is) => dialect.truth[usize::from(*is)].to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => (dialect.text)(text),
        Value::Array(elements) => {
            let parts = elements.iter().map(|element| literal(element, dialect, deeper));
            listed('[', parts.collect(), ']')
        }
        Value::Object(members) => {
            let parts = members.iter().map(|(name, member)| {
                format!("{}: {}", (dialect.text)(name), literal(member, dialect, deeper))
            });
            listed('{', parts.collect(), '}')
        }
    }
}

/// A text as JSON writes it, which JavaScript and Python read as well.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::request::{Credential, Payload};
    use super::*;

    /// What would end a literal of one of the languages, or begin something in it.
    const AWKWARD: &str = "it's \"so\" \\ `${x}` $HOME {{a ?? \"b\"}}\n</script> ü \u{7}";

    fn request(payload: Payload) -> Request {
        Request {
            method: "POST".into(),
            url: "http://127.0.0.1:8080/v1/it's".into(),
            credential: Credential::Key,
            project: None,
            payload,
            answers_json: true,
        }
    }

    #[test]
    fn texts_cannot_leave_their_literals() {
        let request = request(Payload::Json(json!({ "a": AWKWARD, "b": [null, true, 1.5], "c": {} })));
        let [curl, javascript, python, rust] = LANGUAGES.map(|language| (language.write)(&request));
        assert!(curl.contains(r#"it'\''s \"so\" \\ `${x}` $HOME"#), "{curl}");
        assert!(curl.contains(r"'http://127.0.0.1:8080/v1/it'\''s'"), "{curl}");
        for text in [&javascript, &python] {
            assert!(
                text.contains(r#""it's \"so\" \\ `${x}` $HOME {{a ?? \"b\"}}\n</script> ü \u0007""#),
                "{text}"
            );
        }
        assert!(
            python.contains("[\n            None,\n            True,\n            1.5,\n        ]"),
            "{python}"
        );
        assert!(
            rust.contains(r#""it's \"so\" \\ `${x}` $HOME {{a ?? \"b\"}}\n</script> ü \u{7}""#),
            "{rust}"
        );
        assert!(javascript.contains("[\n      null,\n      true,\n      1.5,\n    ]"), "{javascript}");
    }

    #[test]
    fn each_kind_of_body_is_sent_as_what_it_is() {
        let form = request(Payload::Form(vec![("a b".into(), "it's & more".into())]));
        let file = request(Payload::File("file".into()));
        let nothing = request(Payload::Nothing);
        for (language, in_form, in_file) in [
            (
                &LANGUAGES[0],
                r"--data-urlencode 'a b=it'\''s & more'",
                "-F 'file=@contacts.csv;type=text/csv'",
            ),
            (&LANGUAGES[1], "new URLSearchParams({", r#"form.append("file","#),
            (&LANGUAGES[2], "data={", r#"files={"file":"#),
            (&LANGUAGES[3], r#".form(&[("a b", "it's & more")])"#, ".multipart("),
        ] {
            let text = (language.write)(&form);
            assert!(text.contains(in_form), "{text}");
            let text = (language.write)(&file);
            assert!(text.contains(in_file), "{text}");
            assert!(!(language.write)(&nothing).contains("ontent-"), "{}", language.id);
        }
    }

    #[test]
    fn a_session_is_a_cookie_and_no_credential_is_none() {
        let session = Request {
            credential: Credential::Session("mailwright_session".into()),
            project: Some("0199-id".into()),
            ..request(Payload::Nothing)
        };
        let open = Request { credential: Credential::Nothing, ..request(Payload::Nothing) };
        for language in LANGUAGES {
            let text = (language.write)(&session);
            assert!(text.contains("mailwright_session") && text.contains("SESSION"), "{text}");
            assert!(text.contains("X-Project-Id") && text.contains("0199-id"), "{text}");
            let text = (language.write)(&open);
            assert!(!text.contains("API_KEY") && !text.contains("SESSION"), "{text}");
        }
    }
}

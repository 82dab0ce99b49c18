use proptest::prelude::*;
use serde_json::{Value, json};

use super::Layout as _;
use super::{Column, Columns, NO_TRUTH, Row, RowFailure, SHOWN, WORDS, truth, value};
use crate::custom_data::{DataPatch, MAX_KEYS, MAX_PAYLOAD};

fn columns(header: &str) -> Result<Columns, String> {
    Columns::new(header.split(','))
}

fn row(header: &str, cells: &str) -> Option<Result<Row, RowFailure>> {
    columns(header).unwrap().row(2, cells.split(','))
}

#[test]
fn a_header_is_read_in_any_case_and_order() {
    let expected = Columns(vec![
        Column::Data("first name".into()),
        Column::Email,
        Column::Ignored,
        Column::Subscribed,
        Column::Ignored,
        Column::Ignored,
    ]);
    assert_eq!(columns(" First Name , EMAIL ,, Subscribed,unsubscribeURL,ID"), Ok(expected));
    for bad in ["", "name", "email,Email", "email,subscribed,SUBSCRIBED", "email,a\0"] {
        assert!(columns(bad).is_err(), "{bad:?}");
    }
    assert!(columns(&format!("email{}", ",x".repeat(MAX_KEYS))).is_err());
}

#[test]
fn a_header_without_an_address_is_shown() {
    for (header, told) in [
        (
            "Vorname;Nachname;E-Mail",
            r#"columns are "Vorname;Nachname;E-Mail". They seem to be separated by semicolons"#,
        ),
        ("name\temail", r#"columns are "name\temail". They seem to be separated by tabs"#),
        ("Name,E-Mail Adresse", r#"columns are "Name", "E-Mail Adresse". Rename "E-Mail Adresse" to email"#),
        ("name,plan", r#"columns are "name", "plan"."#),
    ] {
        let error = columns(header).unwrap_err();
        assert!(error.contains(told), "{error}");
    }
    let long = vec!["x".repeat(900); 400].join(",");
    assert!(columns(&long).unwrap_err().len() < 2000);
}

#[test]
fn a_row_is_read() {
    let full = row("email,subscribed,name,age", " Ann@Example.com , YES , Ann ,42").unwrap().unwrap();
    assert_eq!(full.email.as_str(), "ann@example.com");
    assert_eq!(full.subscribed, Some(true));
    assert_eq!(Value::Object(full.patch.stored), json!({"name": "Ann", "age": 42}));

    let short = row("name,email,age", "Ann,a@b.co").unwrap().unwrap();
    assert_eq!(Value::Object(short.patch.stored), json!({"name": "Ann"}));
    let long = row("email", "a@b.co,1,2").unwrap().unwrap();
    assert_eq!((long.subscribed, long.patch), (None, DataPatch::default()));
    let blank = row("email,subscribed,name", "a@b.co, ,").unwrap().unwrap();
    assert_eq!((blank.subscribed, blank.patch), (None, DataPatch::default()));
    assert_eq!(row("email,name", " , "), None);
    let locale = row("email,locale", "a@b.co,1").unwrap().unwrap();
    assert_eq!(Value::Object(locale.patch.stored), json!({"locale": "1"}));
}

#[test]
fn a_row_that_cannot_be_read_says_why() {
    let failure = |cells: &str| row("email,name", cells).unwrap().unwrap_err();
    assert_eq!(failure(",Ann").email, "");
    assert_eq!((failure("nope,Ann").row, failure("nope,Ann").email), (2, "nope".to_owned()));
    assert!(failure("a@b.co,x\0y").error.contains("NUL"));
    assert!(failure(&format!("a@b.co,{}", "x".repeat(MAX_PAYLOAD))).error.contains("256 KB"));
    assert_eq!(failure(&"x".repeat(5000)).email.len(), SHOWN);
}

#[test]
fn what_subscribed_means() {
    for (truth_of, words) in [(true, WORDS[0]), (false, WORDS[1])] {
        for word in words {
            assert_eq!(truth(word), Some(truth_of), "{word}");
            assert_eq!(truth(&word.to_uppercase()), Some(truth_of), "{word}");
            assert!(NO_TRUTH.contains(word), "{word} is named");
        }
    }
    for other in ["2", "anything", "-", "ja", "t", "null", "tru e"] {
        assert_eq!(truth(other), None, "{other}");
        let failed = row("email,subscribed", &format!("a@b.co,{other}")).unwrap().unwrap_err();
        assert_eq!((failed.row, failed.email.as_str(), failed.error.as_str()), (2, "a@b.co", NO_TRUTH));
    }
}

#[test]
fn cells_get_the_type_they_look_like() {
    for (cell, expected) in [
        ("true", json!(true)),
        ("FALSE", json!(false)),
        ("0", json!(0)),
        ("-7", json!(-7)),
        ("42", json!(42)),
        ("3.25", json!(3.25)),
        ("-0.5", json!(-0.5)),
        ("9007199254740991", json!(9_007_199_254_740_991_i64)),
    ] {
        assert_eq!(value(cell), expected, "{cell}");
    }
    for text in [
        "yes",
        "007",
        "+1",
        "1e5",
        "1.0",
        "1.50",
        "-0",
        "-0.0",
        ".5",
        "5.",
        "1,5",
        "1 000",
        "0x10",
        "NaN",
        "inf",
        "9007199254740992",
        "123456789012345678901234567890",
        "0.1234567890123456789",
        "2026-01-31",
        "1.2.3",
        "-",
        "١",
    ] {
        assert_eq!(value(text), json!(text), "{text}");
    }
}

proptest! {
    #[test]
    fn a_number_is_shown_as_the_cell_it_came_from(cell in "-?[0-9]{0,20}(\\.[0-9]{0,20})?") {
        match value(&cell) {
            Value::Number(number) => {
                let shown = number.as_i64().map_or_else(|| number.as_f64().unwrap().to_string(), |n| n.to_string());
                prop_assert_eq!(shown, cell);
            }
            other => prop_assert_eq!(other, Value::String(cell)),
        }
    }

    #[test]
    fn any_row_is_read(cells in prop::collection::vec(".{0,20}", 0..6)) {
        let columns = columns("name,email,subscribed").unwrap();
        let read = columns.row(2, cells.iter().map(String::as_str));
        prop_assert_eq!(read.is_none(), cells.iter().take(3).all(|cell| cell.trim().is_empty()));
    }
}

use proptest::prelude::*;

use super::*;
use crate::custom_data::FieldType;

fn parse(text: &str) -> Mapping {
    Mapping::parse(text).unwrap_or_else(|issues| panic!("{text}: {issues:?}"))
}

#[test]
fn a_mapping_is_read_as_it_was_written() {
    let mapping = parse(
        r#"{" E-Mail ": "EMAIL", "Opt-in": "subscribed", "Plan": " plan ", "Name": "firstName", "x": null}"#,
    );
    assert_eq!(parse(&mapping.text()), mapping);
    let header = ["e-mail", "Opt-In ", "PLAN", "name", "X", "City"];
    assert!(mapping.check(&header).is_empty());
    let columns = Columns::mapped(&header, &mapping).unwrap();
    let cells = ["ann@example.com", "no", "pro", "Ann", "secret", "Oslo"];
    let row = columns.row(2, cells.into_iter()).unwrap().unwrap();
    assert_eq!((row.email.as_str(), row.subscribed), ("ann@example.com", Some(false)));
    let data = serde_json::json!({"plan": "pro", "firstName": "Ann", "city": "Oslo"});
    assert_eq!(Value::from(row.patch.stored), data);
}

#[test]
fn a_look_takes_the_type_that_all_cells_have() {
    let mut look = Look::new(&["email", "a", "b", "c", "locale"], &[], None).unwrap();
    for (line, cells) in
        [["a@x.example", "1", "1", "", "1"], ["b@x.example", "2.5", "x", " ", ""]].iter().enumerate()
    {
        look.row(line as u64 + 2, cells);
    }
    let kinds: Vec<_> = look.columns.iter().map(|column| column.kind).collect();
    assert_eq!(
        kinds,
        [
            Some(FieldType::String),
            Some(FieldType::Number),
            Some(FieldType::String),
            None,
            Some(FieldType::String)
        ]
    );
    assert_eq!((look.total, look.failed, look.rows.len()), (2, 0, 2));
    assert_eq!(look.fields.iter().collect::<Vec<_>>(), ["a", "b", "locale"]);
}

#[test]
fn the_column_of_addresses_is_guessed_by_name_and_cells() {
    let field = |header: &[&str], rows: &[&[&str]]| {
        let rows: Vec<Vec<&str>> = rows.iter().map(|row| row.to_vec()).collect();
        let look = Look::new(header, &rows, None).unwrap();
        look.columns.iter().position(|column| column.field.as_deref() == Some("email"))
    };
    assert_eq!(field(&["name", "E-Mail"], &[]), Some(1), "a name is enough where there are no cells");
    assert_eq!(
        field(&["mails sent", "who"], &[&["7", "a@x.example"]]),
        Some(1),
        "cells count more than a name"
    );
    assert_eq!(field(&["a", "b"], &[&["a@x.example", "b@x.example"]]), Some(0));
    assert_eq!(field(&["a", "b"], &[&["no", ""], &["x", "b@x.example"], &["y", "c"]]), Some(1));
    assert_eq!(field(&["a", "b"], &[&["no", "c"]]), None);
    assert_eq!(
        field(&["mail", "email"], &[&["a@x.example", ""]]),
        Some(1),
        "the name email stands for itself"
    );
}

proptest! {
    /// What a look guesses, sent as a mapping, makes of each row what the look showed.
    #[test]
    fn what_a_look_shows_is_what_its_mapping_makes(
        names in prop::collection::vec("[a-cE]{0,2}|email|E-Mail|subscribed|locale|id| Plan ", 1..6),
        rows in prop::collection::vec(prop::collection::vec("|[a-c]@x\\.example|yes|7|true|2026-01-31| x ", 0..7), 1..6),
    ) {
        let header: Vec<&str> = names.iter().map(String::as_str).collect();
        let rows: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
        let mut look = Look::new(&header, &rows, None).unwrap();
        for (line, cells) in rows.iter().enumerate() {
            look.row(line as u64 + 2, cells);
        }
        let members: serde_json::Map<String, Value> = look
            .columns
            .iter()
            .map(|column| (column.name.to_lowercase(), column.field.clone().map_or(Value::Null, Value::from)))
            .collect();
        let Ok(mapping) = Mapping::parse(&Value::Object(members).to_string()) else { return Ok(()) };
        match Columns::mapped(&header, &mapping) {
            Err(_) => prop_assert!(look.problem.is_some()),
            Ok(columns) => {
                prop_assert!(mapping.check(&header).is_empty());
                let (mut made, mut failed) = (Vec::new(), Vec::new());
                for (line, cells) in rows.iter().enumerate() {
                    match columns.row(line as u64 + 2, cells.iter().copied()) {
                        Some(Ok(row)) => made.push(row),
                        Some(Err(failure)) => failed.push(failure),
                        None => {}
                    }
                }
                prop_assert_eq!(&look.problem, &None);
                prop_assert_eq!((look.rows, look.failures), (made, failed));
            }
        }
    }
}

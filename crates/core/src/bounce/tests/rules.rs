//! The table.

use super::*;
use crate::bounce::{codes::Codes, letters, pattern, table, text};

fn rows() -> impl Iterator<Item = (usize, &'static str)> {
    let lines = include_str!("../rules.tsv").lines().zip(1..).map(|(line, nth)| (nth, line));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

#[test]
fn every_row_is_well_formed() {
    assert_eq!(table::rules().len(), rows().count());
    let mut names = HashSet::new();
    for rule in table::rules() {
        assert!(names.insert(rule.name.clone()), "{} stands twice", rule.name);
    }
    for (nth, row) in rows() {
        let Some(text) = row.splitn(3, '\t').nth(2) else { continue };
        let mut folded = String::new();
        letters::fold(text, &mut folded, usize::MAX);
        assert!(folded == text && text.trim() == text && !text.is_empty(), "line {nth}");
        let words = text.replace('*', " ");
        if !words.contains(|c: char| c.is_ascii_digit()) {
            let words: Vec<&str> = words.split_whitespace().collect();
            assert_eq!(
                text::normal(&text::folded(text)).replace('*', " ").split_whitespace().collect::<Vec<_>>(),
                words,
                "line {nth}"
            );
        }
        let parts = pattern::parts(text);
        assert!(
            !parts.is_empty() && parts.iter().all(|part| part.text.len() > 1),
            "line {nth}: a part is too short"
        );
    }
}

/// A row that an earlier one hides would never decide.
#[test]
fn every_row_decides_for_its_own_text() {
    let mut hidden = Vec::new();
    for ((nth, row), rule) in rows().zip(table::rules()) {
        let mut columns = row.splitn(3, '\t').skip(1);
        let reply = Codes::read(columns.next().unwrap()).unwrap().example();
        let text = columns.next().unwrap_or_default();
        let examples = [text.replace('*', ""), text.replace('*', "q")];
        let decides = |example: &String| {
            let verdict = classify(reply.code, reply.enhanced, example);
            verdict.rule == Some(rule.name.as_str())
        };
        if !examples.iter().any(decides) {
            let verdict = classify(reply.code, reply.enhanced, &examples[0]);
            hidden.push(format!(
                "line {nth}\t{}\t{}\tby {} {}",
                row,
                rule.class,
                verdict.class,
                verdict.rule.unwrap_or_default()
            ));
        }
    }
    assert!(hidden.is_empty(), "{} rows:\n{}", hidden.len(), hidden.join("\n"));
}

//! Replies of real servers.

use super::*;

/// A row of the corpus.
struct Row {
    class: BounceClass,
    code: Option<u16>,
    enhanced: Option<(u8, u16, u16)>,
    text: String,
}

fn read(line: &str) -> Row {
    let columns: Vec<&str> = line.split('\t').collect();
    let [class, code, enhanced, text] = columns[..] else { panic!("{line}") };
    let given = |column: &str| (column != "-").then(|| column.to_owned());
    let numbers = |enhanced: String| {
        let numbers: Vec<u16> = enhanced.split('.').map(|number| number.parse().unwrap()).collect();
        let [class, subject, detail] = numbers[..] else { panic!("{line}") };
        (u8::try_from(class).unwrap(), subject, detail)
    };
    Row {
        class: BounceClass::from_name(class).unwrap_or_else(|| panic!("{line}")),
        code: given(code).map(|code| code.parse().unwrap()),
        enhanced: given(enhanced).map(numbers),
        text: text.replace("\\n", "\n"),
    }
}

fn rows() -> impl Iterator<Item = &'static str> {
    include_str!("../corpus.tsv").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[test]
fn replies_of_real_servers_have_their_class() {
    let mut wrong = Vec::new();
    for line in rows() {
        let row = read(line);
        let verdict = classify(row.code, row.enhanced, &row.text);
        if verdict.class != row.class {
            wrong.push(format!("{} by {:?}: {line}", verdict.class, verdict.rule));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows().count(), wrong.join("\n"));
}

#[test]
fn the_corpus_is_large_and_has_every_class() {
    let lines: HashSet<&str> = rows().collect();
    assert_eq!(lines.len(), rows().count(), "a row stands twice");
    assert!(lines.len() >= 250, "{}", lines.len());
    let classes: HashSet<BounceClass> = rows().map(|line| read(line).class).collect();
    assert_eq!(classes.len(), BounceClass::ALL.len());
}

#[test]
fn fingerprints_of_real_replies_hold_no_addresses() {
    for line in rows() {
        let print = fingerprint(&read(line).text);
        assert!(!print.contains('@') && !print.contains(".example") && !print.contains("192.0.2"), "{print}");
    }
}

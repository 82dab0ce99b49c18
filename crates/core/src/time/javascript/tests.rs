use super::clock::days_to_month;
use super::parse;

/// What Node answers, under the time zone UTC, one date a line: the text in JSON, a tab, and `toISOString()` or a
/// `-`. `scripts/javascript-dates.js` writes it.
const TABLE: &str = include_str!("../javascript.tsv");

#[test]
fn every_date_is_read_as_javascript_reads_it() {
    assert!(TABLE.lines().count() > 200);
    for line in TABLE.lines() {
        let (text, expected) = line.split_once('\t').unwrap();
        let text: String = serde_json::from_str(text).unwrap();
        let read = parse(&text).map(|instant| instant.to_string());
        assert_eq!(read.as_deref().unwrap_or("-"), expected, "{text:?}");
    }
}

#[test]
fn days_are_counted_as_calendars_do() {
    for (year, month, days) in [(1970, 1, 0), (2000, 3, 11_017), (0, 1, -719_528), (9999, 12, 2_932_866)] {
        assert_eq!(days_to_month(year, month), days, "{year}-{month}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_taken(text in "[ -~TZ0-9:+\\-./()é\u{2028}]{0,40}") {
        parse(&text);
    }
}

use std::collections::BTreeSet;

use mailwright_app::Resource;

use super::CODES;
use super::answer::ApiError;

/// Words in capitals within quotation marks.
fn codes(text: &str) -> BTreeSet<&str> {
    let is_code =
        |word: &&str| word.len() > 4 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    text.split('"').filter(is_code).collect()
}

#[test]
fn a_lost_race_is_no_outage_and_no_bug() {
    use mailwright_app::Error;
    use mailwright_store::Error as StoreError;
    for (error, status, code) in [
        (Error::ChangedMeanwhile(Resource::Campaign), 409, "CONFLICT"),
        (StoreError::Contention("met".into()).into(), 503, "DATABASE_ERROR"),
        (StoreError::Aborted.into(), 500, "INTERNAL_SERVER_ERROR"),
        (Error::NoOwnSender, 500, "INTERNAL_SERVER_ERROR"),
    ] {
        let ApiError(answer) = error.into();
        assert_eq!((answer.status.as_u16(), answer.code), (status, code), "{answer:?}");
    }
}

#[test]
fn the_codes_of_the_document_are_those_of_the_errors() {
    let used = concat!(
        include_str!("answer.rs"),
        include_str!("app.rs"),
        include_str!("billing.rs"),
        include_str!("kinds.rs")
    );
    assert_eq!(codes(used), BTreeSet::from(CODES));
}

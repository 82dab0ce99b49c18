use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

mod corpus;
mod rules;

fn class_of(code: u16, text: &str) -> BounceClass {
    classify(Some(code), None, text).class
}

#[test]
fn only_the_address_suppresses() {
    let at_once: Vec<BounceClass> =
        BounceClass::ALL.into_iter().filter(|class| class.suppresses() == Suppression::AtOnce).collect();
    assert_eq!(at_once, [BounceClass::InvalidRecipient, BounceClass::InactiveRecipient]);
    for class in BounceClass::ALL {
        assert_eq!(
            class.kind() == BounceKind::Permanent,
            class.suppresses() == Suppression::AtOnce,
            "{class}"
        );
    }
}

#[test]
fn a_temporary_refusal_suppresses_nothing_at_once() {
    let refused = classify(
        Some(450),
        Some((4, 1, 1)),
        "4.1.1 <ada@x.example>: Recipient address rejected: User unknown",
    );
    assert_eq!(refused.class, BounceClass::InvalidRecipient);
    assert_eq!((refused.kind(), refused.suppresses()), (BounceKind::Transient, Suppression::AfterRepetition));
    let refused = classify(Some(550), Some((5, 1, 1)), "5.1.1 User unknown");
    assert_eq!((refused.kind(), refused.suppresses()), (BounceKind::Permanent, Suppression::AtOnce));
}

#[test]
fn what_no_rule_knows_is_as_final_as_it_says() {
    for (code, enhanced, kind) in [
        (Some(550), None, BounceKind::Permanent),
        (Some(599), None, BounceKind::Permanent),
        (None, Some((5, 9, 9)), BounceKind::Permanent),
        (None, Some((4, 9, 9)), BounceKind::Transient),
        (None, None, BounceKind::Undetermined),
    ] {
        let verdict = classify(code, enhanced, "frobnicated");
        assert!(matches!(verdict.class, BounceClass::Unknown | BounceClass::Temporary), "{verdict:?}");
        assert_eq!((verdict.kind(), verdict.suppresses()), (kind, Suppression::Never), "{verdict:?}");
    }
}

#[test]
fn names_are_those_of_json() {
    let json = serde_json::to_string(&(BounceClass::MailboxFull, BounceKind::Undetermined)).unwrap();
    assert_eq!(json, r#"["mailbox-full","Undetermined"]"#);
    assert_eq!(BounceClass::from_name("spam-block"), Some(BounceClass::SpamBlock));
}

#[test]
fn codes_in_the_text_stand_in_for_codes_that_tell_nothing() {
    let frob = BounceClass::InvalidRecipient;
    assert_eq!(classify(None, Some((5, 0, 0)), "smtp; 550 5.1.1 frobnicated").class, frob);
    assert_eq!(classify(None, None, "smtp; 550 5.1.1 frobnicated").class, frob);
    assert!(classify(None, None, "smtp; 550 frobnicated").is_permanent);
    assert_eq!(class_of(550, "frobnicated (#5.1.1)"), frob);
}

fn any_reply() -> impl Strategy<Value = (Option<u16>, Option<(u8, u16, u16)>, String)> {
    let words = prop::sample::select(vec![
        "550",
        "5.1.1",
        "user",
        "unknown",
        "ada@x.example",
        "<>",
        "https://x.example/spam",
        "said:",
        "smtp;",
        "-",
        "mailbox",
        "full",
        "*",
        "@",
        "://",
        "\u{130}",
        "ß",
        "blocked",
        "spam",
        "n'existe",
        "用户不存在",
        "550-5.7.1",
        "(#5.7.1)",
        "a@b...User",
        "\"",
        "[",
    ]);
    let text = prop_oneof![
        any::<String>(),
        prop::collection::vec(words, 0..40).prop_map(|words| words.join(" ")),
        "\\PC{0,200}",
    ];
    (prop::option::of(any::<u16>()), prop::option::of(any::<(u8, u16, u16)>()), text)
}

proptest! {
    #[test]
    fn any_text_has_a_class_and_a_bounded_fingerprint((code, enhanced, text) in any_reply()) {
        let _ = classify(code, enhanced, &text);
        prop_assert!(fingerprint(&text).chars().count() <= 120);
        prop_assert!(!fingerprint(&text).contains('@'));
    }

    #[test]
    fn case_and_white_space_make_no_difference((code, enhanced, text) in any_reply()) {
        let verdict = classify(code, enhanced, &text);
        let words: Vec<&str> = text.split_whitespace().collect();
        for changed in [text.to_uppercase(), text.to_lowercase(), words.join("\n \t"), format!(" {text}\n")] {
            prop_assert_eq!(classify(code, enhanced, &changed), verdict, "{}", changed);
        }
    }
}

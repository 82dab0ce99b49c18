//! How far a session is said to be.

use super::player::{Player, config};
use crate::smtp_server::{Session, Stage};

/// A session that says so much, one after the other, and the stages that it comes to.
fn stages(sayings: &[&str]) -> Vec<Stage> {
    let mut player = Player::new(config(), true);
    player.play();
    let mut found = Vec::new();
    for saying in sayings {
        player.send(saying.as_bytes());
        found.push(player.session.stage());
    }
    found
}

#[test]
fn each_stage_is_further_than_the_one_before() {
    let content = format!("{}\r\n", "x".repeat(998)).repeat(40);
    let found = stages(&[
        "NOOP\r\n",
        "EHLO client.test\r\n",
        "STARTTLS\r\n",
        "EHLO client.test\r\n",
        "MAIL FROM:<a@example.com>\r\n",
        "RCPT TO:<b@example.net>\r\n",
        "RCPT TO:<c@example.net>\r\n",
        "DATA\r\n",
        &content,
    ]);
    let expected = [
        Stage::Connected,
        Stage::Introduced,
        Stage::Secured,
        Stage::SecurelyIntroduced,
        Stage::Sender,
        Stage::Recipients(1),
        Stage::Recipients(2),
        Stage::Content(0),
        Stage::Content(2),
    ];
    assert_eq!(found, expected);
    assert!(found.is_sorted());
    assert_eq!(found.iter().filter(|stage| stage.has_recipient()).count(), 4);
    assert!(!Stage::Recipient.has_recipient() && Stage::Taking > Stage::Content(u64::MAX));
}

#[test]
fn who_repeats_gets_no_further() {
    let hello = "EHLO client.test\r\n";
    let sender = "MAIL FROM:<a@example.com>\r\n";
    let found = stages(&[hello, hello, "NOOP\r\n", sender, "RCPT TO:<unknown@example.net>\r\n", "RSET\r\n"]);
    let (introduced, sender) = (Stage::Introduced, Stage::Sender);
    assert_eq!(found, [introduced, introduced, introduced, sender, sender, introduced]);
}

#[test]
fn a_message_that_was_taken_is_forgotten() {
    let group = "EHLO client.test\r\nMAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.net>\r\nDATA\r\n";
    assert_eq!(stages(&[group, "x\r\n.\r\n"]), [Stage::Content(0), Stage::Introduced]);
}

#[test]
fn what_is_being_decided_is_a_stage() {
    let mut session = Session::new(std::sync::Arc::new(config()), "192.0.2.1".parse().unwrap(), true);
    session.step();
    session.receive(b"EHLO client.test\r\nSTARTTLS\r\n");
    session.step();
    assert_eq!(session.stage(), Stage::Handshake);
    session.secured("TLSv1_3");
    session.receive(b"EHLO client.test\r\nMAIL FROM:<>\r\nRCPT TO:<b@example.net>\r\n");
    session.step();
    assert_eq!(session.stage(), Stage::Recipient);
}

//! The SMTP client against scripted servers.

use std::time::Duration;

use mailwright_mail::smtp::{Connection, ContentError, EnvelopeError, Reply, Security, Stage};

use crate::smtp_server::{Server, envelope, let_the_network_settle, open};

/// How a session begins with a server that pipelines, and with one that does not.
const PIPELINING: &str = "S: 220 hi\nC: EHLO client.test\nS: 250-hi\nS: 250-SIZE 1000\nS: 250 PIPELINING\n";
const SIMPLE: &str = "S: 220-hi\nS: 220 there\nC: EHLO client.test\nS: 250 hi\n";
const GROUP: &str = "C: MAIL FROM:<a@example.com> SIZE=7\nC: RCPT TO:<b@example.org>\nC: DATA\n";
/// The same without DATA, which is asked for by itself after a refusal.
const ENVELOPE: &str = "C: MAIL FROM:<a@example.com> SIZE=7\nC: RCPT TO:<b@example.org>\n";
const QUIT: &str = "C: QUIT\nS: 221 bye\n";

/// A connection after `script`, with the envelope accepted.
async fn accepted(script: &str) -> (Server, Connection) {
    let script = format!("{PIPELINING}{GROUP}S: 250 ok\nS: 250 ok\nS: 354 go\n{script}");
    let server = Server::run(&[&script]).await;
    let mut connection = open(&server).await;
    envelope(&mut connection).await.unwrap();
    (server, connection)
}

fn refused(result: Result<(), EnvelopeError>) -> (Stage, u16) {
    match result {
        Err(EnvelopeError::Refused { stage, reply }) => (stage, reply.code),
        other => panic!("{other:?}"),
    }
}

fn is_lost(result: &Result<(), EnvelopeError>) -> bool {
    matches!(result, Err(EnvelopeError::Lost { .. }))
}

#[tokio::test]
async fn messages_go_through_a_pipeline() {
    let message =
        format!("{GROUP}S: 250 2.1.0 ok\nS: 250 2.1.5 ok\nS: 354 go\nC: [content]\nS: 250 2.0.0 queued\n");
    let server = Server::run(&[&format!("{PIPELINING}{message}{message}{QUIT}")]).await;
    let mut connection = open(&server).await;
    assert!(!connection.tls());
    for _ in 0..2 {
        envelope(&mut connection).await.unwrap();
        assert!(!connection.is_reusable(), "it waits for content");
        let reply = connection.content(b"X: y\r\n", b".a\n.\r..b").await.unwrap();
        assert_eq!(reply, Reply { code: 250, enhanced: Some((2, 0, 0)), text: "2.0.0 queued".into() });
        assert!(connection.is_reusable());
    }
    connection.quit().await;
    assert_eq!(server.contents().await, ["X: y\r\n..a\r\n..\r\n...b\r\n"; 2]);
}

#[tokio::test]
async fn messages_go_step_by_step_without_pipelining() {
    let server = Server::run(&[&format!(
        "{SIMPLE}C: MAIL FROM:<>\nS: 250 ok\nC: RCPT TO:<b@example.org>\nS: 251 ok\nC: DATA\nS: 354 go\nC: [content]\nS: 250 ok\n{QUIT}"
    )])
    .await;
    let mut connection = open(&server).await;
    connection.envelope("", "b@example.org", 7).await.unwrap();
    connection.content(b"", b"").await.unwrap();
    connection.quit().await;
    assert_eq!(server.contents().await, [""]);
}

#[tokio::test]
async fn a_refused_recipient_ends_in_an_empty_message_when_data_is_taken() {
    let server = Server::run(&[&format!(
        "{PIPELINING}{GROUP}S: 250 ok\nS: 550-5.1.1 no\nS: 550 5.1.1 such user\nS: 354 go\nC: [content]\nS: 554 no recipients\n\
         C: RSET\n{ENVELOPE}S: 250 ok\nS: 250 ok\nS: 250 ok\nC: DATA\nS: 354 go\nC: [content]\nS: 250 ok\n\
         {GROUP}S: 250 ok\nS: 250 ok\nS: 354 go\nC: [content]\nS: 250 ok\n{QUIT}"
    )])
    .await;
    let mut connection = open(&server).await;
    match envelope(&mut connection).await {
        Err(EnvelopeError::Refused { stage: Stage::RcptTo, reply }) => {
            assert_eq!((reply.enhanced, reply.text.as_str()), (Some((5, 1, 1)), "5.1.1 no\n5.1.1 such user"));
            assert!(reply.is_permanent());
        }
        other => panic!("{other:?}"),
    }
    assert!(connection.is_reusable());
    envelope(&mut connection).await.unwrap();
    connection.content(b"", b"real\r\n").await.unwrap();
    // and then all at once again
    envelope(&mut connection).await.unwrap();
    connection.content(b"", b"more\r\n").await.unwrap();
    connection.quit().await;
    assert_eq!(server.contents().await, ["", "real\r\n", "more\r\n"]);
}

#[tokio::test]
async fn refusals_in_a_pipeline_leave_it_usable() {
    for (replies, expected, reset) in [
        ("S: 451 later\nS: 503 no\nS: 503 no", (Stage::MailFrom, 451), ""),
        ("S: 250 ok\nS: 452 full\nS: 503 no", (Stage::RcptTo, 452), "C: RSET\n"),
        ("S: 250 ok\nS: 250 ok\nS: 454 later", (Stage::Data, 454), "C: RSET\n"),
        // A server that answers DATA with 354 although it refused the sender.
        ("S: 550 no\nS: 503 no\nS: 354 go\nC: [content]\nS: 503 no", (Stage::MailFrom, 550), "C: RSET\n"),
    ] {
        let cleared = if reset.is_empty() { "" } else { "S: 250 ok\n" };
        let script = format!(
            "{PIPELINING}{GROUP}{replies}\n{reset}{ENVELOPE}{cleared}S: 250 ok\nS: 250 ok\nC: DATA\nS: 354 go\nS: [hold]"
        );
        let server = Server::run(&[&script]).await;
        let mut connection = open(&server).await;
        assert_eq!(refused(envelope(&mut connection).await), expected);
        assert!(connection.is_reusable());
        envelope(&mut connection).await.unwrap();
    }
}

#[tokio::test]
async fn refusals_without_pipelining_stop_the_envelope() {
    let mail = "C: MAIL FROM:<a@example.com>\n";
    let rcpt = "C: RCPT TO:<b@example.org>\n";
    for (steps, expected, reset) in [
        (format!("{mail}S: 550 no"), (Stage::MailFrom, 550), ""),
        (format!("{mail}S: 250 ok\n{rcpt}S: 550 no"), (Stage::RcptTo, 550), "C: RSET\nS: 250 ok\n"),
        (
            format!("{mail}S: 250 ok\n{rcpt}S: 250 ok\nC: DATA\nS: 451 no"),
            (Stage::Data, 451),
            "C: RSET\nS: 250 ok\n",
        ),
    ] {
        let server = Server::run(&[&format!("{SIMPLE}{steps}\n{reset}{mail}S: 421 bye\nS: [close]")]).await;
        let mut connection = open(&server).await;
        assert_eq!(refused(envelope(&mut connection).await), expected);
        assert_eq!(refused(envelope(&mut connection).await), (Stage::MailFrom, 421));
        assert!(!connection.is_reusable());
    }
}

#[tokio::test]
async fn after_421_nothing_more_is_expected() {
    for (replies, expected) in [
        ("S: 421 bye", (Stage::MailFrom, 421)),
        ("S: 250 ok\nS: 421 bye", (Stage::RcptTo, 421)),
        ("S: 250 ok\nS: 250 ok\nS: 421 bye", (Stage::Data, 421)),
        ("S: 250 ok\nS: 550 no\nS: 421 bye", (Stage::RcptTo, 550)),
    ] {
        let server = Server::run(&[&format!("{PIPELINING}{GROUP}{replies}\nS: [hold]")]).await;
        let mut connection = open(&server).await;
        assert_eq!(refused(envelope(&mut connection).await), expected);
        assert!(!connection.is_reusable());
        assert!(is_lost(&envelope(&mut connection).await));
    }
}

#[tokio::test]
async fn a_connection_that_breaks_during_the_envelope_is_lost() {
    for end in ["S: [close]", "S: [reset]", "S: nonsense", "S: 150 what", "S: 354 what", "S: [raw]250"] {
        for replies in ["", "S: 250 ok\n", "S: 250 ok\nS: 250 ok\n"] {
            // There 354 is no mistake, and is followed by silence.
            if end == "S: 354 what" && replies.len() > 12 {
                continue;
            }
            let server = Server::run(&[&format!("{PIPELINING}{GROUP}{replies}{end}\nS: [close]")]).await;
            let mut connection = open(&server).await;
            let result = envelope(&mut connection).await;
            assert!(is_lost(&result), "{replies}{end}: {result:?}");
            assert!(!connection.is_reusable());
        }
    }
    // What was refused before the break stays refused.
    let server = Server::run(&[&format!("{PIPELINING}{GROUP}S: 250 ok\nS: 550 no\nS: [close]")]).await;
    let mut connection = open(&server).await;
    assert_eq!(refused(envelope(&mut connection).await), (Stage::RcptTo, 550));
    assert!(!connection.is_reusable());
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_is_lost_not_refused() {
    let server = Server::run(&[&format!("{PIPELINING}S: 421 idle for too long\nS: [close]")]).await;
    let mut connection = open(&server).await;
    server.contents().await;
    let_the_network_settle().await;
    assert!(connection.is_reusable(), "nobody looked yet");
    assert!(is_lost(&envelope(&mut connection).await));
    assert!(!connection.is_reusable());
}

#[tokio::test]
async fn addresses_cannot_become_commands() {
    let server = Server::run(&[&format!("{PIPELINING}{QUIT}")]).await;
    let mut connection = open(&server).await;
    for address in ["a@b>\r\nDATA", "a b@c", "a@b\n", "\u{e4}@b", "<a@b>", &"a".repeat(255)] {
        assert_eq!(refused(connection.envelope(address, "b@c", 1).await), (Stage::MailFrom, 553));
        assert_eq!(refused(connection.envelope("a@b", address, 1).await), (Stage::RcptTo, 553));
    }
    assert_eq!(refused(connection.envelope("a@b", "", 1).await), (Stage::RcptTo, 553));
    connection.quit().await;
    server.contents().await;
}

#[tokio::test]
async fn a_final_refusal_leaves_the_connection_usable_unless_it_closes() {
    for (code, reusable) in [(451, true), (552, true), (554, true), (421, false)] {
        let (server, mut connection) = accepted(&format!("C: [content]\nS: {code} no\nS: [hold]")).await;
        match connection.content(b"", b"x").await {
            Err(ContentError::Refused(reply)) => assert_eq!(reply.code, code),
            other => panic!("{other:?}"),
        }
        assert_eq!(connection.is_reusable(), reusable);
        drop(connection);
        server.contents().await;
    }
}

#[tokio::test]
async fn after_the_dot_a_missing_or_strange_reply_is_in_doubt() {
    for end in
        ["S: [close]", "S: [reset]", "S: [raw]25", "S: [raw]250-half\\r\\n", "S: nonsense", "S: 354 again"]
    {
        let (_server, mut connection) = accepted(&format!("C: [content]\n{end}\nS: [close]")).await;
        let result = connection.content(b"", b"x").await;
        assert!(matches!(result, Err(ContentError::InDoubt { .. })), "{end}: {result:?}");
        assert!(!connection.is_reusable());
    }
}

#[tokio::test]
async fn silence_after_the_dot_is_in_doubt() {
    let server = Server::run(&[&format!(
        "{PIPELINING}{GROUP}S: 250 ok\nS: 250 ok\nS: 354 go\nC: [content]\nS: [hold]"
    )])
    .await;
    let mut config = server.config(Security::None);
    config.timeouts.data_end = Duration::from_millis(50);
    let mut connection = Connection::open(&config).await.unwrap();
    envelope(&mut connection).await.unwrap();
    let result = connection.content(b"", b"x").await;
    assert!(matches!(result, Err(ContentError::InDoubt { .. })), "{result:?}");
}

/// More than the buffers of both ends hold.
fn large() -> Vec<u8> {
    b"a line of the content\r\n".repeat(2_000_000)
}

#[tokio::test]
async fn a_break_during_the_content_is_certain() {
    for end in ["S: [reset]", "S: [close]", "S: 250 too early\nS: [close]", "S: garbage\nS: [close]"] {
        let (_server, mut connection) = accepted(&format!("C: [some]\n{end}")).await;
        let result = connection.content(b"", &large()).await;
        assert!(matches!(result, Err(ContentError::LostBefore { .. })), "{end}: {result:?}");
        assert!(!connection.is_reusable());
    }
}

#[tokio::test]
async fn a_refusal_during_the_content_is_heard() {
    for (end, code) in [
        ("S: 552 too big\nS: [close]", 552),
        ("S: 421 shutting down\nS: [close]", 421),
        ("S: 451-wait\nS: 451 a little\nS: [close]", 451),
    ] {
        let (_server, mut connection) = accepted(&format!("C: [some]\n{end}")).await;
        match connection.content(b"", &large()).await {
            Err(ContentError::Refused(reply)) => assert_eq!(reply.code, code),
            other => panic!("{end}: {other:?}"),
        }
        assert!(!connection.is_reusable(), "the rest of the content would count as commands");
    }
}

#[tokio::test]
async fn a_close_before_the_content_is_certain_when_it_is_known() {
    let (server, mut connection) = accepted("S: [close]").await;
    server.contents().await;
    let_the_network_settle().await;
    let result = connection.content(b"", b"small").await;
    assert!(matches!(result, Err(ContentError::LostBefore { .. })), "{result:?}");
}

#[tokio::test]
async fn an_answer_too_many_is_not_taken_for_the_final_one() {
    let (server, mut connection) = accepted("S: 250 too many\nS: [close]").await;
    server.contents().await;
    let_the_network_settle().await;
    let result = connection.content(b"", b"small").await;
    assert!(matches!(result, Err(ContentError::LostBefore { .. })), "{result:?}");
}

#[tokio::test]
async fn a_server_that_does_not_read_is_given_up() {
    let server =
        Server::run(&[&format!("{PIPELINING}{GROUP}S: 250 ok\nS: 250 ok\nS: 354 go\nS: [stall]")]).await;
    let mut config = server.config(Security::None);
    config.timeouts.block = Duration::from_millis(100);
    let mut connection = Connection::open(&config).await.unwrap();
    envelope(&mut connection).await.unwrap();
    let result = connection.content(b"", &large()).await;
    assert!(matches!(result, Err(ContentError::LostBefore { .. })), "{result:?}");
}

#[tokio::test]
async fn content_without_an_envelope_is_not_sent() {
    let server = Server::run(&[&format!("{PIPELINING}S: [hold]")]).await;
    let mut connection = open(&server).await;
    assert!(matches!(connection.content(b"", b"x").await, Err(ContentError::LostBefore { .. })));
}

#[tokio::test]
async fn an_operation_that_is_dropped_leaves_an_unusable_connection() {
    let server = Server::run(&[&format!("{PIPELINING}{GROUP}S: [hold]")]).await;
    let mut connection = open(&server).await;
    let dropped = tokio::time::timeout(Duration::from_millis(20), envelope(&mut connection)).await;
    assert!(dropped.is_err());
    assert!(!connection.is_reusable());
}

#[tokio::test]
async fn reset_finds_out_whether_the_connection_lives() {
    let server =
        Server::run(&[&format!("{PIPELINING}C: RSET\nS: 250 ok\nC: RSET\nS: 421 bye\nS: [close]")]).await;
    let mut connection = open(&server).await;
    connection.reset().await;
    assert!(connection.is_reusable());
    connection.reset().await;
    assert!(!connection.is_reusable());
    connection.quit().await;
}

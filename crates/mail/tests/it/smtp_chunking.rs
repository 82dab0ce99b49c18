//! Content by BDAT (RFC 3030) against scripted servers.

use mailwright_mail::smtp::{Connection, ContentError, EnvelopeError, Reply, Security, Stage};

use crate::smtp_server::{Server, envelope, let_the_network_settle, open};

/// How a session begins with a server that takes chunks.
const HELLO: &str = "S: 220 hi\nC: EHLO client.test\nS: 250-hi\nS: 250-PIPELINING\nS: 250 CHUNKING\n";
const ENVELOPE: &str = "C: MAIL FROM:<a@example.com>\nC: RCPT TO:<b@example.org>\n";
const TAKEN: &str = "S: 250 ok\nS: 250 ok\n";
/// The first content of a connection, of one line with one letter.
const FIRST: &str = "C: BDAT 3\nC: [3 bytes]\nS: 250 ok\nC: BDAT 0 LAST\nS: 250 ok\n";
const QUIT: &str = "C: QUIT\nS: 221 bye\n";

/// A connection before `script`, with the envelope accepted.
async fn accepted(script: &str) -> (Server, Connection) {
    let server = Server::run(&[&format!("{HELLO}{ENVELOPE}{TAKEN}{script}")]).await;
    let mut connection = open(&server).await;
    envelope(&mut connection).await.unwrap();
    (server, connection)
}

/// The same where the server has taken chunks on the connection before.
async fn known(script: &str) -> (Server, Connection) {
    let (server, mut connection) = accepted(&format!("{FIRST}{ENVELOPE}{TAKEN}{script}")).await;
    connection.content(b"", b"w").await.unwrap();
    envelope(&mut connection).await.unwrap();
    (server, connection)
}

/// More than the buffers of both ends hold.
fn large() -> Vec<u8> {
    b"a line of the content\r\n".repeat(2_000_000)
}

#[tokio::test]
async fn content_goes_as_it_is_with_its_size_and_at_first_its_first_line_alone() {
    let first = "C: BDAT 6\nC: [6 bytes]\nS: 250 and the next\n\
                 C: BDAT 12 LAST\nC: [12 bytes]\nS: 250 2.0.0 queued\n";
    let second = "C: BDAT 18 LAST\nC: [18 bytes]\nS: 250 2.0.0 queued\n";
    let server =
        Server::run(&[&format!("{HELLO}{ENVELOPE}{TAKEN}{first}{ENVELOPE}{TAKEN}{second}{QUIT}")]).await;
    let mut connection = open(&server).await;
    for _ in 0..2 {
        assert!(connection.sends_chunks());
        envelope(&mut connection).await.unwrap();
        assert!(!connection.is_reusable(), "it waits for content");
        let reply = connection.content(b"X: y\r\n", b".a\n.\r..b").await.unwrap();
        assert_eq!(reply, Reply { code: 250, enhanced: Some((2, 0, 0)), text: "2.0.0 queued".into() });
        assert!(connection.is_reusable());
    }
    connection.quit().await;
    let rest = ".a\r\n.\r\n..b\r\n";
    assert_eq!(server.contents().await, ["X: y\r\n", rest, format!("X: y\r\n{rest}").as_str()]);
}

#[tokio::test]
async fn content_of_any_size_goes_in_one_chunk() {
    let (server, mut connection) = known("C: BDAT 0 LAST\nS: 250 ok").await;
    connection.content(b"", b"").await.unwrap();
    drop(connection);
    server.contents().await;
    let content = ".a line\r\n".repeat(30_000);
    let length = content.len();
    let (server, mut connection) =
        known(&format!("C: BDAT {length} LAST\nC: [{length} bytes]\nS: 250 ok")).await;
    connection.content(b"", content.as_bytes()).await.unwrap();
    drop(connection);
    assert!(server.contents().await == ["w\r\n".to_owned(), content]);
}

#[tokio::test]
async fn the_first_line_is_found_in_any_content() {
    for (header, raw, first, rest) in [
        ("", "", 0, 0),
        ("", "x", 3, 0),
        ("", "a\rb\nc", 3, 6),
        ("", "\r\na\r\n", 2, 3),
        ("a: b\r\n\tc\r\n", "d", 6, 7),
    ] {
        let read = |length| if length == 0 { String::new() } else { format!("C: [{length} bytes]\n") };
        let (server, mut connection) = accepted(&format!(
            "C: BDAT {first}\n{}S: 250 ok\nC: BDAT {rest} LAST\n{}S: 250 ok",
            read(first),
            read(rest)
        ))
        .await;
        connection.content(header.as_bytes(), raw.as_bytes()).await.unwrap();
        drop(connection);
        server.contents().await;
    }
}

#[tokio::test]
async fn a_server_that_refuses_the_first_chunk_sees_one_line_whatever_it_says() {
    for reply in [
        "500 what?",
        "501 5.5.4 syntax",
        "502 5.5.1 unknown command",
        "503 bad sequence of commands",
        "504 not implemented",
        "554 5.5.1 invalid command",
        "554 unknown command",
        "550 5.5.0 unrecognized",
        "550 5.7.1 no",
        "450 later",
        "452 4.3.1 full",
        "421 closing",
        "354 go on",
    ] {
        let (server, mut connection) =
            accepted(&format!("C: BDAT 6\nC: [6 bytes]\nS: {reply}\nC: [end]")).await;
        let result = connection.content(b"X: y\r\n", b"RSET\r\n").await;
        assert!(matches!(result, Err(ContentError::NoChunks { .. })), "{reply}: {result:?}");
        assert!(!connection.is_reusable(), "it may take the line for a command");
        connection.quit().await;
        assert_eq!(server.contents().await, ["X: y\r\n"], "{reply}");
    }
}

#[tokio::test]
async fn a_break_at_the_first_chunk_is_never_in_doubt() {
    for end in [
        "S: [close]",
        "S: [reset]",
        "S: [raw]250-half\\r\\n\nS: [close]",
        "S: nonsense\nS: [close]",
        "S: 421 4.3.2 closing\nS: [close]",
    ] {
        let (_server, mut connection) = accepted(&format!("C: BDAT 3\nC: [3 bytes]\n{end}")).await;
        let result = connection.content(b"", b"x").await;
        assert!(matches!(result, Err(ContentError::NoChunks { .. })), "{end}: {result:?}");
        assert!(!connection.is_reusable());
    }
}

#[tokio::test]
async fn a_break_before_the_first_chunk_says_nothing_of_chunks() {
    let (server, mut connection) = accepted("S: [close]").await;
    server.contents().await;
    let_the_network_settle().await;
    let result = connection.content(b"", b"x").await;
    assert!(matches!(result, Err(ContentError::LostBefore { .. })), "{result:?}");
}

#[tokio::test]
async fn a_break_after_the_first_chunk_is_in_doubt_once_the_last_bytes_have_left() {
    let first = "C: BDAT 3\nC: [3 bytes]\nS: 250 and the next\n";
    for end in ["S: [reset]", "S: [close]"] {
        let (_server, mut connection) =
            accepted(&format!("{first}C: BDAT 3 LAST\nC: [3 bytes]\n{end}")).await;
        let result = connection.content(b"", b"x\ny").await;
        assert!(matches!(result, Err(ContentError::InDoubt { .. })), "{end}: {result:?}");
    }
}

#[tokio::test]
async fn a_last_chunk_that_is_refused_as_a_command_says_nothing_of_the_message() {
    for code in [500, 501, 502, 503, 504] {
        let (server, mut connection) =
            known(&format!("C: BDAT 3 LAST\nC: [3 bytes]\nS: {code} no\nC: [end]")).await;
        let result = connection.content(b"", b"x").await;
        assert!(matches!(result, Err(ContentError::NoChunks { .. })), "{code}: {result:?}");
        assert!(!connection.is_reusable());
        connection.quit().await;
        server.contents().await;
    }
}

#[tokio::test]
async fn content_that_is_refused_is_cleared_before_the_next() {
    for (code, is_closing) in [(451, false), (554, false), (421, true)] {
        let next = if is_closing {
            String::new()
        } else {
            format!("C: RSET\n{ENVELOPE}S: 250 ok\n{TAKEN}C: BDAT 3 LAST\nC: [3 bytes]\nS: 250 ok\n")
        };
        let (server, mut connection) =
            known(&format!("C: BDAT 3 LAST\nC: [3 bytes]\nS: {code} no\n{next}S: [hold]")).await;
        match connection.content(b"", b"x").await {
            Err(ContentError::Refused(reply)) => assert_eq!(reply.code, code),
            other => panic!("{other:?}"),
        }
        assert_eq!(connection.is_reusable(), !is_closing);
        if !is_closing {
            envelope(&mut connection).await.unwrap();
            connection.content(b"", b"y").await.unwrap();
        }
        drop(connection);
        server.contents().await;
    }
}

#[tokio::test]
async fn a_refused_recipient_needs_no_empty_message() {
    let server = Server::run(&[&format!(
        "{HELLO}{ENVELOPE}S: 250 ok\nS: 550 no\nC: RSET\n{ENVELOPE}S: 250 ok\n{TAKEN}S: [hold]"
    )])
    .await;
    let mut connection = open(&server).await;
    let refused = envelope(&mut connection).await;
    assert!(matches!(refused, Err(EnvelopeError::Refused { stage: Stage::RcptTo, .. })), "{refused:?}");
    envelope(&mut connection).await.unwrap();
}

#[tokio::test]
async fn a_break_is_certain_before_the_last_bytes_and_in_doubt_after_them() {
    for end in ["S: [reset]", "S: [close]"] {
        let (_server, mut connection) = known(&format!("C: [some]\n{end}")).await;
        let result = connection.content(b"", &large()).await;
        assert!(matches!(result, Err(ContentError::LostBefore { .. })), "{end}: {result:?}");
        let (_server, mut connection) = known(&format!("C: BDAT 3 LAST\nC: [3 bytes]\n{end}")).await;
        let result = connection.content(b"", b"x").await;
        assert!(matches!(result, Err(ContentError::InDoubt { .. })), "{end}: {result:?}");
        assert!(!connection.is_reusable());
    }
}

#[tokio::test]
async fn without_chunks_where_they_are_not_wanted() {
    let server = Server::run(&[&format!(
        "{HELLO}{ENVELOPE}C: DATA\n{TAKEN}S: 354 go\nC: [content]\nS: 250 ok\n{QUIT}"
    )])
    .await;
    let mut config = server.config(Security::None);
    config.chunking = false;
    let mut connection = Connection::open(&config).await.unwrap();
    envelope(&mut connection).await.unwrap();
    connection.content(b"", b".x").await.unwrap();
    connection.quit().await;
    assert_eq!(server.contents().await, ["..x\r\n"]);
}

#[tokio::test]
async fn chunks_can_be_given_up_between_messages() {
    let server = Server::run(&[&format!(
        "{HELLO}{ENVELOPE}{TAKEN}{FIRST}{ENVELOPE}C: DATA\n{TAKEN}S: 354 go\nC: [content]\nS: 250 ok\n{QUIT}"
    )])
    .await;
    let mut connection = open(&server).await;
    envelope(&mut connection).await.unwrap();
    connection.stop_chunking();
    assert!(connection.sends_chunks(), "the server waits for a chunk");
    connection.content(b"", b"x").await.unwrap();
    connection.stop_chunking();
    assert!(!connection.sends_chunks());
    envelope(&mut connection).await.unwrap();
    connection.content(b"", b".y").await.unwrap();
    connection.quit().await;
    assert_eq!(server.contents().await, ["x\r\n", "..y\r\n"]);
}

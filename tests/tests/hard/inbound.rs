//! The listener for mail under load and under fire: many idle connections, and sessions of random commands and damaged
//! reports.

use std::io::Result;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mailwright_testkit::mail_in::MailIn;
use mailwright_testkit::net::free_port;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, AppBuilder, Engine, both_engines, one_engine};
use mailwright_tests::random::Random;
use mailwright_tests::{inline, send_ok, sized, text, with};
use serde_json::json;
use tokio::task::JoinSet;

/// The domain that bounces return to.
const RETURN_PATH: &str = "bounces.mail.test";
const MEGABYTE: usize = 1024 * 1024;

fn taking_mail(engine: Engine, inbound: u16) -> AppBuilder {
    App::builder(engine)
        .env("MAILWRIGHT_INBOUND_LISTEN", format!("127.0.0.1:{inbound}"))
        .env("MAILWRIGHT_INBOUND_HOST", "mx.mail.test")
        .env("MAILWRIGHT_INBOUND_RETURN_PATH", RETURN_PATH)
        // bounces without end come in here
        .env("MAILWRIGHT_AUTO_PROJECT_DISABLE", "false")
}

/// Sends a mail to a subscribed contact: its id, and the address that its bounces return to.
async fn sent_to(app: &App, server: &ScriptedServer, to: &str) -> (String, String) {
    let request = with(inline(app, &json!(to)), &json!({"subscribed": true}));
    let id = text(&send_ok(app, request).await["emails"][0]["email"]).to_owned();
    app.email_in(&id, &["SENT"]).await;
    let received = server.received_for(to).into_iter().next().expect("the mail arrived");
    (id, received.mail_from)
}

/// A report that a mail did not arrive (RFC 3464), in which nothing but these words tells of which mail it is.
fn dsn(words: &str) -> String {
    format!(
        "From: MAILER-DAEMON@mx.test\nSubject: Undelivered Mail Returned to Sender\nMIME-Version: 1.0\n\
         Content-Type: multipart/report; report-type=delivery-status; boundary=x\n\n\
         --x\nContent-Type: text/plain\n\n{words}\n\
         --x\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.test\n\n\
         Final-Recipient: rfc822; <redacted>\nAction: failed\nStatus: 5.1.1\n\
         Diagnostic-Code: smtp; 550 5.1.1 User unknown\n\n--x--\n"
    )
}

/// A report is taken at once, and a request is answered at once.
async fn assert_quick(app: &App, inbound: u16, to: &str) {
    let began = Instant::now();
    let (mut session, greeting) = MailIn::greeted_from([127, 0, 0, 2], inbound).await.expect("a connection");
    assert!(greeting.starts_with("220 "), "{greeting}");
    session.raw(b"EHLO mx.test\r\nQUIT\r\n").await;
    let mut session = MailIn::connect(inbound).await;
    let reply = session.deliver(to, &dsn(to)).await;
    assert!(reply.starts_with("250"), "{reply}");
    let took = began.elapsed();
    assert!(took < Duration::from_secs(2), "a report took {took:?}");
    let began = Instant::now();
    app.get("/emails?limit=1").send().await.assert_status(200);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(1), "a request took {took:?}");
}

one_engine! {
    /// Where all places are taken, one of the network that has the most of them makes room.
    async fn connections_that_take_all_places_stop_nobody(engine: Engine) {
        const MOST: usize = 40;
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let inbound = free_port();
        let app = taking_mail(engine, inbound)
            .smtp(server.port)
            .env("MAILWRIGHT_INBOUND_CONNECTIONS", MOST.to_string())
            .env("MAILWRIGHT_INBOUND_CONNECTIONS_PER_CLIENT", (MOST * 2).to_string())
            .start()
            .await;
        let (id, to) = sent_to(&app, &server, "ada@example.com").await;
        let mut idle = Vec::new();
        for _ in 0..MOST {
            let (mut session, greeting) = MailIn::greeted(inbound).await.expect("a connection");
            assert!(greeting.starts_with("220 "), "{greeting}");
            assert!(session.command("EHLO mx.test").await.starts_with("250"));
            idle.push(session);
        }
        assert_quick(&app, inbound, &to).await;
        assert_eq!(app.email(&id).await["status"], "BOUNCED");
    }

    /// Whoever has a mail has its address for bounces, and could tell of it without end.
    async fn reports_of_one_mail_are_bounded(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let inbound = free_port();
        let app = taking_mail(engine, inbound).smtp(server.port).start().await;
        let (_, to) = sent_to(&app, &server, "ada@example.com").await;
        for part in 0..3 {
            let mut session = MailIn::connect(inbound).await;
            for number in 0..50 {
                let reply = session.deliver(&to, &dsn(&format!("Sorry, {part} {number}."))).await;
                assert!(reply.starts_with("250"), "{reply}");
            }
        }
        let rows = app.rows().await;
        let told = rows["events"].iter().filter(|row| row.contains("email.bounce")).count();
        assert_eq!(told, 100);
    }

    async fn idle_connections_cost_little_and_stop_nobody(engine: Engine) {
        const MOST: usize = 2_000;
        mailwright_testkit::net::allow_connections(3 * MOST);
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let inbound = free_port();
        let app = taking_mail(engine, inbound)
            .smtp(server.port)
            .env("MAILWRIGHT_INBOUND_CONNECTIONS", MOST.to_string())
            .env("MAILWRIGHT_INBOUND_CONNECTIONS_PER_CLIENT", MOST.to_string())
            .start()
            .await;
        let (_, to) = sent_to(&app, &server, "ada@example.com").await;
        assert_quick(&app, inbound, &to).await;

        let before = app.resident_memory();
        let mut idle = Vec::new();
        for _ in 0..MOST / 2 {
            let (session, greeting) = MailIn::greeted(inbound).await.expect("a connection");
            assert!(greeting.starts_with("220 "), "{}: {greeting}", idle.len());
            idle.push(session);
        }
        // some of them have said something
        for session in idle.iter_mut().step_by(2) {
            assert!(session.command("EHLO mx.test").await.starts_with("250"));
        }
        let cost = app.resident_memory().saturating_sub(before);
        println!("{} idle connections cost {} KB", idle.len(), cost / 1024);
        assert!(cost < 50 * MEGABYTE, "{cost} bytes");
        let (id, to) = sent_to(&app, &server, "bob@example.com").await;
        assert_quick(&app, inbound, &to).await;
        assert_eq!(app.email(&id).await["status"], "BOUNCED");

        while idle.len() < MOST {
            let (session, greeting) = MailIn::greeted(inbound).await.expect("a connection");
            if !greeting.starts_with("220 ") {
                break;
            }
            idle.push(session);
        }
        // those of before may not have ended yet
        assert!(idle.len() >= MOST - 4, "{} connections are taken", idle.len());
        let (mut refused, greeting) = MailIn::greeted(inbound).await.expect("a connection");
        assert!(greeting.starts_with("421 "), "{greeting}");
        assert_eq!(refused.reply().await, "");
        app.get("/emails?limit=1").send().await.assert_status(200);
        idle.truncate(MOST / 2);
        app.eventually("a place is free again", async || MailIn::try_connect(inbound).await.ok()).await;
    }

    async fn a_client_has_its_share_of_the_connections(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let inbound = free_port();
        let app = taking_mail(engine, inbound)
            .smtp(server.port)
            .env("MAILWRIGHT_INBOUND_CONNECTIONS_PER_CLIENT", "5")
            .start()
            .await;
        let mut held = Vec::new();
        for _ in 0..5 {
            let (session, greeting) = MailIn::greeted_from([127, 0, 0, 3], inbound).await.expect("a connection");
            assert!(greeting.starts_with("220 "), "{greeting}");
            held.push(session);
        }
        let (_, greeting) = MailIn::greeted_from([127, 0, 0, 3], inbound).await.expect("a connection");
        assert!(greeting.starts_with("421 "), "{greeting}");
        let (_, greeting) = MailIn::greeted_from([127, 0, 0, 4], inbound).await.expect("a connection");
        assert!(greeting.starts_with("220 "), "{greeting}");
        held.pop();
        app.eventually("its place is free again", async || {
            let (_, greeting) = MailIn::greeted_from([127, 0, 0, 3], inbound).await.ok()?;
            greeting.starts_with("220 ").then_some(())
        })
        .await;
    }

    async fn sessions_of_anything_are_borne(engine: Engine) {
        const AT_ONCE: usize = 8;
        let mut random = Random::from_environment();
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let inbound = free_port();
        let app = taking_mail(engine, inbound).smtp(server.port).start().await;
        let (_, to) = sent_to(&app, &server, "ada@example.com").await;
        let words = Arc::new(Words { corpus: corpus(), to, port: inbound });
        let sessions = sized(300, 20_000);
        let mut memory = Vec::new();
        let mut messages = 0;
        for _ in 0..3 {
            let mut talking = JoinSet::new();
            for _ in 0..AT_ONCE {
                let (words, mut random) = (Arc::clone(&words), random.fork());
                talking.spawn(async move {
                    let mut taken = 0;
                    for _ in 0..sessions / 3 / AT_ONCE {
                        // the server may end it at any time
                        let talk = talk(&words, &mut random, &mut taken);
                        let _ = tokio::time::timeout(Duration::from_mins(1), talk).await.expect("an answer");
                    }
                    taken
                });
            }
            messages += talking.join_all().await.into_iter().sum::<usize>();
            memory.push(app.resident_memory());
        }
        println!("{sessions} sessions, {messages} messages taken, memory after each third: {memory:?}");
        assert!(messages > sessions / 4, "most were refused: {messages} of {sessions}");
        let grown = memory[2].saturating_sub(memory[0]);
        assert!(grown < 24 * MEGABYTE, "{memory:?}");
        assert!(!app.log().contains("panicked"), "{}", app.log());
        let (id, to) = sent_to(&app, &server, "bob@example.com").await;
        assert_quick(&app, inbound, &to).await;
        assert_eq!(app.email(&id).await["status"], "BOUNCED");
    }
}

both_engines! {
    /// Reports of hosts that tell neither address nor time can be the same to the letter.
    async fn the_same_words_about_two_mails_are_two_reports(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let inbound = free_port();
        let app = taking_mail(engine, inbound).smtp(server.port).start().await;
        let mut session = MailIn::connect(inbound).await;
        for name in ["ada", "bob"] {
            let (id, to) = sent_to(&app, &server, &format!("{name}@example.com")).await;
            assert!(session.deliver(&to, &dsn("Sorry.")).await.starts_with("250"));
            assert_eq!(app.email(&id).await["status"], "BOUNCED", "{name}");
        }
    }
}

/// What fuzzed sessions are made of.
struct Words {
    /// Reports and automatic answers as they come.
    corpus: Vec<Vec<u8>>,
    /// An address that takes mail.
    to: String,
    port: u16,
}

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/mail/src/report/corpus");
    let files = std::fs::read_dir(folder).expect("the corpus").map(|entry| entry.expect("an entry").path());
    let mut mails: Vec<_> = files.filter(|path| path.extension().is_some_and(|of| of == "eml")).collect();
    mails.sort();
    assert!(mails.len() > 50, "{mails:?}");
    mails.iter().map(|path| std::fs::read(path).expect("a mail")).collect()
}

fn pick<'a, T>(random: &mut Random, of: &'a [T]) -> &'a T {
    &of[random.below(of.len() as u64) as usize]
}

/// One session: commands in an order that makes sense, or in none, and messages.
async fn talk(words: &Words, random: &mut Random, taken: &mut usize) -> Result<()> {
    const COMMANDS: [&str; 24] = [
        "EHLO mx.test",
        "HELO [127.0.0.1]",
        "EHLO",
        "NOOP",
        "RSET",
        "VRFY x",
        "HELP",
        "EXPN list",
        "STARTTLS x",
        "MAIL FROM:<>",
        "MAIL FROM:<a@example.com> SIZE=100000000",
        "MAIL FROM:<a@example.com> BODY=8BITMIME SMTPUTF8",
        "mail from:<\u{e4}@example.com>",
        "MAIL FROM:a@example.com",
        "RCPT TO:<postmaster>",
        "RCPT TO:<nobody@example.com>",
        "RCPT TO:<fbl@bounces.mail.test>",
        "RCPT TO:<@a,@b:abuse@bounces.mail.test>",
        "RCPT TO:<\"a b\"@bounces.mail.test>",
        "DATA x",
        "BDAT 10 LAST",
        "AUTH PLAIN AGEAYg==",
        "GET / HTTP/1.1",
        "X-\u{0}",
    ];
    let (mut session, _) = MailIn::greeted(words.port).await?;
    for _ in 0..=random.below(4) {
        match random.below(10) {
            0 => {
                let bytes: Vec<u8> = (0..random.below(600)).map(|_| random.below(256) as u8).collect();
                session.try_raw(&bytes).await?;
                // what no line ends is answered by nothing
                session.try_raw(b"\r\n").await?;
                session.reply().await;
                // nobody knows how many replies are due now
                return Ok(());
            }
            1 => {
                let times = random.below(30) as usize;
                session.try_raw(format!("{}\r\n", pick(random, &COMMANDS)).repeat(times).as_bytes()).await?;
                for _ in 0..times {
                    session.reply().await;
                }
            }
            2 | 3 => {
                let command = *pick(random, &COMMANDS);
                session.try_command(command).await?;
            }
            _ => {
                let (mail, is_well_formed) = message(words, random);
                session.try_command("EHLO mx.test").await?;
                let to = if random.below(4) == 0 { format!("fbl@{RETURN_PATH}") } else { words.to.clone() };
                *taken += usize::from(bring(&mut session, &to, &mail).await?.starts_with("250"));
                if !is_well_formed {
                    // it may have ended at a dot in its midst, and the rest were commands
                    return Ok(());
                }
            }
        }
    }
    if random.below(2) == 0 {
        session.try_command("QUIT").await?;
    }
    Ok(())
}

/// Delivers bytes as they are: what is wrong in them is the server's affair.
async fn bring(session: &mut MailIn, to: &str, content: &[u8]) -> Result<String> {
    session.try_command("MAIL FROM:<>").await?;
    session.try_command(&format!("RCPT TO:<{to}>")).await?;
    let begun = session.try_command("DATA").await?;
    if !begun.starts_with("354") {
        return Ok(begun);
    }
    session.try_raw(content).await?;
    session.try_command("\r\n.").await
}

/// A message, mostly damaged, and whether its lines are as SMTP wants them.
fn message(words: &Words, random: &mut Random) -> (Vec<u8>, bool) {
    let mut raw = pick(random, &words.corpus).clone();
    for _ in 0..random.below(4) {
        let (one, other) =
            (random.below(raw.len() as u64 + 1) as usize, random.below(raw.len() as u64 + 1) as usize);
        let (from, to) = (one.min(other), one.max(other));
        match random.below(5) {
            0 if !raw.is_empty() => {
                let at = one.min(raw.len() - 1);
                raw[at] ^= 1 << random.below(8);
            }
            1 => raw.truncate(to),
            2 => drop(raw.drain(from..to)),
            3 => {
                let piece = raw[from..to].to_vec();
                raw.splice(from..from, piece);
            }
            _ => {
                let other = pick(random, &words.corpus);
                let begin = random.below(other.len() as u64 + 1) as usize;
                raw.splice(from..from, other[begin..].iter().copied());
            }
        }
    }
    let is_well_formed = random.below(10) > 0;
    let mut lines = Vec::with_capacity(raw.len() + raw.len() / 32);
    for line in raw.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.starts_with(b".") && is_well_formed {
            lines.push(b'.');
        }
        lines.extend(line.iter().filter(|byte| !is_well_formed || !b"\r\0".contains(byte)));
        lines.extend_from_slice(b"\r\n");
    }
    (lines, is_well_formed)
}

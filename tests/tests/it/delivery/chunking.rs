//! Content by BDAT (RFC 3030), where the next hop offers CHUNKING.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines, json};
use mailwright_tests::text;

use crate::delivery::direct::Net;
use crate::delivery::{LONG, codes, header, pass, sent};

async fn chunking(script: impl Fn(&str, u32) -> Answer + Send + Sync + 'static) -> ScriptedServer {
    ScriptedServer::builder().chunking().start(script).await
}

async fn app_with(engine: Engine, server: &ScriptedServer) -> App {
    App::builder(engine).smtp(server.port).start().await
}

/// Sends two mails to a domain whose server takes no chunks, although it offers CHUNKING: each arrives once, by DATA,
/// with one attempt. The first finds out, with a line of our own at most.
async fn arrive_by_data(app: &App, server: &ScriptedServer, domain: &str) {
    let (first, second) = (format!("ada@{domain}"), format!("bob@{domain}"));
    for to in [&first, &second] {
        let email = sent(app, to).await;
        assert_eq!((codes(&email), &email["inDoubt"]), (vec![Some(250)], &json!(false)), "{domain}");
        let copies = server.received_for(to);
        assert!(copies.len() == 1 && copies[0].chunks == 0, "{domain}: {}", copies.len());
    }
    assert_eq!((server.attempts_for(&first).len(), server.attempts_for(&second).len()), (2, 1), "{domain}");
    let lines = server.unknown_commands();
    let is_ours = |line: &String| line.starts_with("DKIM-Signature: ");
    assert!(lines.len() <= 1 && lines.iter().all(is_ours), "{domain}: {lines:?}");
}

both_engines! {
    async fn a_mail_goes_in_chunks_as_it_is(engine: Engine) {
        let server = chunking(|_, _| Answer::Accept).await;
        let app = app_with(engine, &server).await;
        let body = json!({
            "to": "ada@example.com", "subject": "Hello", "from": app.from(),
            "body": "<p>Hello there</p>\n.\n..\n.leading dot\n",
        });
        let answer = app.send(body).await.assert_status(200).json();
        let email = app.email_in(text(&answer["data"]["emails"][0]["email"]), &["SENT"]).await;
        assert_eq!((codes(&email), &email["inDoubt"]), (vec![Some(250)], &json!(false)));
        let received = server.received();
        assert_eq!(received.len(), 1);
        assert_eq!(received[0].chunks, 2, "the first line finds out whether chunks are taken");
        let content = String::from_utf8_lossy(&received[0].data).into_owned();
        assert!(content.contains("\r\n.\r\n..\r\n.leading dot\r\n"), "no dot is added: {content}");
        // the connection is used again
        sent(&app, "bob@example.com").await;
        assert_eq!((server.received().len(), server.connections()), (2, 1));
        assert_eq!(server.received()[1].chunks, 1);
        assert_eq!(server.violations(), Vec::<String>::new());
    }

    async fn a_refused_chunk_is_a_refusal_of_the_content(engine: Engine) {
        let server = chunking(|to, attempt| match (to, attempt) {
            ("later@example.com", 1) => Answer::RefuseData(451, "4.3.0 later"),
            ("spam@example.com", _) => Answer::RefuseData(554, "5.7.1 looks like spam"),
            _ => Answer::Accept,
        })
        .await;
        let app = app_with(engine, &server).await;
        let later = app.send_to("later@example.com").await;
        let later = app.email_in(&later, &["SENT"]).await;
        assert_eq!((codes(&later), &later["inDoubt"]), (vec![Some(451), Some(250)], &json!(false)));
        let spam = app.send_to("spam@example.com").await;
        let spam = app.email_in(&spam, &["FAILED"]).await;
        assert_eq!((codes(&spam), &spam["reason"]), (vec![Some(554)], &json!("rejected")));
        assert_eq!(server.received().len(), 1);
        assert_eq!(server.violations(), Vec::<String>::new());
    }

    async fn a_mail_is_marked_before_its_chunk_and_in_doubt_after_it(engine: Engine) {
        let server = chunking(|to, attempt| match (to, attempt) {
            ("held@example.com", _) => Answer::HoldAfterDot,
            ("once@example.com", 1) | ("never@example.com", _) => Answer::DropAfterDot,
            _ => Answer::Accept,
        })
        .await;
        let app = app_with(engine, &server).await;
        let held = app.send_to("held@example.com").await;
        app.eventually("the content is there", async || {
            (!server.received_for("held@example.com").is_empty()).then_some(())
        }).await;
        assert_eq!(app.email(&held).await["status"], "SENDING");
        server.release();
        app.email_in(&held, &["SENT"]).await;

        let once = app.send_to("once@example.com").await;
        let once = app.email_in(&once, &["SENT"]).await;
        assert_eq!((codes(&once), &once["inDoubt"]), (vec![None, Some(250)], &json!(true)));
        let copies = server.received_for("once@example.com");
        let ids: Vec<_> = copies.iter().map(|copy| header(&copy.data, "message-id")).collect();
        assert!(ids.len() == 2 && ids[0].is_some() && ids[0] == ids[1], "{ids:?}");

        let never = app.send_to("never@example.com").await;
        app.email_in(&never, &["IN_DOUBT"]).await;
        pass(&app, LONG).await;
        assert_eq!(server.received_for("never@example.com").len(), 2, "once more, and then a person decides");
    }

    async fn that_chunks_are_taken_is_found_out_on_each_connection(engine: Engine) {
        let mut server = chunking(|_, _| Answer::Accept).await;
        let app = app_with(engine, &server).await;
        sent(&app, "ada@example.com").await;
        server.stop().await;
        server.start_again().await;
        sent(&app, "bob@example.com").await;
        let received = server.received();
        let chunks: Vec<_> = received.iter().map(|mail| mail.chunks).collect();
        assert_eq!(chunks, [2, 2]);
        assert!(received[1].connection > received[0].connection);

        // another server has its place, which does not know BDAT
        server.stop().await;
        let other = ScriptedServer::builder().port(server.port).refusing_chunks(502, "5.5.1 unknown command");
        let other = other.start(|_, _| Answer::Accept).await;
        arrive_by_data(&app, &other, "example.org").await;
    }

    async fn a_next_hop_that_offers_chunks_and_does_not_take_them_gets_its_mail_by_data(engine: Engine) {
        let servers = [
            ScriptedServer::builder().refusing_chunks(501, "5.5.4 syntax"),
            ScriptedServer::builder().refusing_chunks(554, "unknown command"),
            ScriptedServer::builder().refusing_chunks(450, "later"),
            ScriptedServer::builder().refusing_chunks(421, "closing"),
            ScriptedServer::builder().closing_at_chunks(),
        ];
        for server in servers {
            let server = server.start(|_, _| Answer::Accept).await;
            let app = app_with(engine, &server).await;
            arrive_by_data(&app, &server, "example.com").await;
        }
    }

    async fn a_next_hop_that_takes_no_more_chunks_gets_its_mail_by_data(engine: Engine) {
        let server = chunking(|to, attempt| match (to, attempt) {
            ("bob@example.com", 1) => Answer::RefuseData(501, "5.5.4 syntax"),
            _ => Answer::Accept,
        })
        .await;
        let app = app_with(engine, &server).await;
        for (to, chunks) in [("ada@example.com", 2), ("bob@example.com", 0), ("eve@example.com", 0)] {
            let email = sent(&app, to).await;
            assert_eq!((codes(&email), &email["inDoubt"]), (vec![Some(250)], &json!(false)), "{to}");
            let copies = server.received_for(to);
            assert!(copies.len() == 1 && copies[0].chunks == chunks, "{to}: {}", copies.len());
        }
    }

    async fn a_next_hop_that_breaks_off_at_the_last_chunk_gets_the_mail_by_data(engine: Engine) {
        let server = chunking(|to, attempt| match (to, attempt) {
            ("ada@example.com", 1) => Answer::DropAfterDot,
            _ => Answer::Accept,
        })
        .await;
        let app = app_with(engine, &server).await;
        let ada = sent(&app, "ada@example.com").await;
        assert_eq!((codes(&ada), &ada["inDoubt"]), (vec![None, Some(250)], &json!(true)));
        sent(&app, "bob@example.com").await;
        let chunks: Vec<_> = server.received().iter().map(|mail| mail.chunks).collect();
        assert_eq!(chunks, [2, 0, 0]);
    }

    async fn a_recipients_server_that_offers_chunks_and_does_not_take_them_gets_its_mail_by_data(engine: Engine) {
        let net = Net::new().await;
        let app = net.app(engine).start().await;
        let replies = [(500, "what?"), (501, "5.5.4 syntax"), (502, "5.5.1 unknown command"), (503, "5.5.1 bad sequence"),
            (504, "not implemented"), (554, "5.5.1 invalid command"), (554, "unknown command"), (550, "5.5.0 unrecognized"),
            (450, "later"), (421, "closing")];
        let refusing = replies.map(|(code, text)| ScriptedServer::builder().refusing_chunks(code, text));
        let servers = refusing.into_iter().chain([ScriptedServer::builder().closing_at_chunks()]);
        for (number, server) in (1..).zip(servers) {
            let domain = format!("of{number}.example");
            let host = format!("mx.{domain}");
            net.dns.set_mx(&domain, [(10, &host)]);
            let server = net.server(&host, number, server, |_, _| Answer::Accept).await;
            arrive_by_data(&app, &server, &domain).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transport_may_do_without() {
    let server = chunking(|_, _| Answer::Accept).await;
    let url = format!("smtp://127.0.0.1:{}?tls=none&chunking=no", server.port);
    let app = App::builder(Engine::Sqlite).env("MAILWRIGHT_TRANSPORT", url).start().await;
    sent(&app, "ada@example.com").await;
    assert_eq!(server.received()[0].chunks, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recipients_servers_get_chunks_too() {
    let net = Net::new().await;
    net.dns.set_mx("one.example", [(10, "mx.one.example")]);
    let server = ScriptedServer::builder().chunking();
    let server = net.server("mx.one.example", 1, server, |_, _| Answer::Accept).await;
    let app = net.app(Engine::Sqlite).start().await;
    for to in ["ada@one.example", "bob@one.example"] {
        sent(&app, to).await;
    }
    let chunks: Vec<_> = server.received().iter().map(|mail| mail.chunks).collect();
    assert_eq!(chunks, [2, 1], "the first line finds out whether chunks are taken");
    assert_eq!(server.violations(), Vec::<String>::new());
}

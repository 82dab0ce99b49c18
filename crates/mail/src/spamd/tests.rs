//! A `spamd` that sends what it is told to.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::sleep;

use super::*;

/// What SpamAssassin 4.0.1 reports of a mail in whose text there is a table that looks like its own.
const SPAM: &str = r#"Spam detection software, running on the system "mx.example",
has identified this incoming email as possible spam.  The original
message has been attached to this so you can view it or label
similar future email.  If you have any questions, see
@@CONTACT_ADDRESS@@ for details.

Content preview:  ---- --------- 1000 FAKE_RULE Invented Click here http://192.168.3.4/x
   and http://example.com/unsubscribe to buy VIAGRA cheap viagra cialis. Million
   dollars, Nigeria, inheritance fund bank transfer USD 10,500,000.00 as next
   of kin, dear fr [...] 

Content analysis details:   (26.3 points, 5.0 required)

 pts rule name              description
---- ---------------------- --------------------------------------------------
 2.7 MISSING_DATE           Missing Date: header
 0.6 MISSING_MID            Missing Message-Id: header
-0.0 NO_RECEIVED            Informational: message has no Received headers
 4.3 HK_NAME_DRUGS          From name contains drugs
 0.5 SUBJ_ALL_CAPS          Subject is all capitals
-0.0 NO_RELAYS              Informational: message was not relayed via SMTP
 0.0 FREEMAIL_FROM          Sender email is commonly abused enduser mail provider
                            [a123456789(at)gmail.com]
 1.0 FORGED_GMAIL_RCVD      'From' gmail.com does not match 'Received' headers
 2.8 DRUG_ED_CAPS           BODY: Mentions an E.D. drug
 2.7 GUARANTEED_100_PERCENT BODY: One hundred percent guaranteed
 1.0 US_DOLLARS_3           BODY: Mentions millions of $ ($NN,NNN,NNN.NN)
 0.1 BAD_CREDIT             BODY: Eliminate Bad Credit
 0.7 DIET_1                 BODY: Lose Weight Spam
 0.0 HTML_FONT_SIZE_HUGE    BODY: HTML font size is huge
 0.0 HTML_MESSAGE           BODY: HTML included in message
 0.6 HTML_IMAGE_ONLY_08     BODY: HTML: images with 400-800 bytes of words
 0.1 MIME_HTML_ONLY         BODY: Message only has text/html MIME parts
 0.7 HTML_FONT_LOW_CONTRAST BODY: HTML font color similar or identical to
                            background
 1.8 DRUGS_ERECTILE         Refers to an erectile drug
 1.0 HK_SCAM                No description available.
 1.8 URG_BIZ                Contains urgent matter
 0.0 LOTS_OF_MONEY          Huge... sums of money
 3.0 ADVANCE_FEE_5_NEW_MONEY Advance Fee fraud and lots of money
 1.0 UNDISC_MONEY           Undisclosed recipients + money/fraud signs

"#;

/// What it reports where no rule hit.
const NOTHING: &str = "Content analysis details:   (0.0 points, 5.0 required)\n\n\x20\
                       pts rule name              description\n\
                       ---- ---------------------- ------------------------------------------\n\n";

fn answer(verdict: &str, report: &str) -> String {
    format!("SPAMD/1.1 0 EX_OK\r\nContent-length: {}\r\nSpam: {verdict}\r\n\r\n{report}", report.len())
}

fn rule(name: &str, points: f64, description: &str) -> SpamRule {
    SpamRule { name: name.to_owned(), points, description: description.to_owned() }
}

/// What a server gets that sends these pieces with a pause before each, and what the client makes of them.
async fn ask(
    pieces: Vec<Vec<u8>>,
    pause: Duration,
    mail: &[u8],
) -> (Vec<u8>, Result<SpamReport, SpamdError>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        stream.read_to_end(&mut request).await.unwrap();
        for piece in pieces {
            sleep(pause).await;
            // the client may have enough
            if stream.write_all(&piece).await.is_err() {
                break;
            }
        }
        request
    });
    let result = check_within(&address, mail, Duration::from_secs(10), Duration::from_millis(800)).await;
    (server.await.unwrap(), result)
}

#[tokio::test]
async fn a_mail_is_judged() {
    let pieces = answer("True ; 26.3 / 5.0", SPAM).into_bytes();
    let pieces = pieces.chunks(100).map(<[u8]>::to_vec).collect();
    let (request, result) = ask(pieces, Duration::ZERO, b"Subject: x\r\n\r\nbody").await;
    assert_eq!(request, b"REPORT SPAMC/1.5\r\nContent-length: 18\r\n\r\nSubject: x\r\n\r\nbody");
    let report = result.unwrap();
    assert_eq!((report.score, report.threshold, report.is_spam), (26.3, 5.0, true));
    assert_eq!(report.rules.len(), 24);
    for (nth, wanted) in [
        (0, rule("MISSING_DATE", 2.7, "Missing Date: header")),
        (2, rule("NO_RECEIVED", -0.0, "Informational: message has no Received headers")),
        (
            6,
            rule(
                "FREEMAIL_FROM",
                0.0,
                "Sender email is commonly abused enduser mail provider [a123456789(at)gmail.com]",
            ),
        ),
        (17, rule("HTML_FONT_LOW_CONTRAST", 0.7, "BODY: HTML font color similar or identical to background")),
        (22, rule("ADVANCE_FEE_5_NEW_MONEY", 3.0, "Advance Fee fraud and lots of money")),
    ] {
        assert_eq!(report.rules[nth], wanted);
    }
}

#[test]
fn a_mail_without_hits_and_a_report_of_another_form_have_no_rules() {
    for report in [NOTHING, "", "Score: 3\nMISSING_DATE,MISSING_MID\n"] {
        let read = parse(answer("False ; 0.0 / 5.0", report).as_bytes()).unwrap();
        assert_eq!(read, SpamReport { score: 0.0, threshold: 5.0, is_spam: false, rules: Vec::new() });
    }
}

#[test]
fn large_points_and_other_languages_are_read() {
    let report = " Pkte Regelname              Beschreibung\n---- ---------------------- ----------\n\
                  1000 GTUBE                  TEXT: Test\n-100 USER_IN_WELCOMELIST    Absender\n  12 SHORT\n";
    let read = parse(answer("Yes ; 900 / 6.31", report).as_bytes()).unwrap();
    assert_eq!((read.score, read.threshold), (900.0, 6.31));
    let wanted = [
        rule("GTUBE", 1000.0, "TEXT: Test"),
        rule("USER_IN_WELCOMELIST", -100.0, "Absender"),
        rule("SHORT", 12.0, ""),
    ];
    assert_eq!(read.rules, wanted);
}

#[test]
fn what_is_no_answer_is_refused() {
    let whole = answer("True ; 26.3 / 5.0", SPAM);
    let cases = [
        (String::new(), "it is empty"),
        (whole[..whole.len() - 1].to_owned(), "it is cut"),
        (whole[..40].to_owned(), "it is cut"),
        (whole.replace("True", "Maybe"), "there is no score"),
        (whole.replace("; 26.3", "; NaN"), "there is no score"),
        (whole.replace("/ 5.0\r", "/ inf\r"), "there is no score"),
        (whole.replace("Spam:", "Ham:"), "there is no score"),
        (whole.replace("Content-length: ", "Content-length: -"), "its length is no number"),
        ("SPAMD/1.0 76 Bad header line: REPORT SPAMC/1.5\r\n".to_owned(), "the server reports an error"),
        ("SPAMD/1.5 0 PONG\r\n".to_owned(), "it is cut"),
        ("HTTP/1.1 400 Bad Request\r\n\r\n".to_owned(), "it is not from spamd"),
        (format!("{whole}{}", " ".repeat(MAX_ANSWER)), "it is too long"),
    ];
    for (text, wanted) in cases {
        assert_eq!(
            parse(text.as_bytes()),
            Err(SpamdError::BadAnswer(wanted)),
            "{}",
            &text[..text.len().min(60)]
        );
    }
}

#[test]
fn rules_and_texts_are_bounded() {
    let mut report = NOTHING.trim_end().to_owned();
    report.push('\n');
    report.push_str(&format!(" 1.0 LONG {}\n", "ä".repeat(2000)));
    report.push_str(&format!("{INDENT}          more\n").repeat(1000));
    report.push_str(&format!(" 1.0 {} x\n", "N".repeat(MAX_NAME + 1)));
    report.push_str(&" 0.1 RULE_X text\n".repeat(1000));
    let read = parse(answer("True ; 5 / 5", &report).as_bytes()).unwrap();
    assert_eq!(read.rules.len(), MAX_RULES);
    assert_eq!((read.rules[0].description.len(), read.rules[1].name.as_str()), (MAX_DESCRIPTION, "RULE_X"));
}

#[tokio::test]
async fn a_server_that_does_not_end_is_given_up() {
    let huge = vec![answer("True ; 26.3 / 5.0", SPAM).into_bytes(), vec![b'x'; 64 * MAX_ANSWER]];
    let (_, result) = ask(huge, Duration::ZERO, b"").await;
    assert_eq!(result, Err(SpamdError::BadAnswer("it is too long")));
    let drops = vec![b"S".to_vec(); 30];
    let begin = Instant::now();
    let (_, result) = ask(drops, Duration::from_millis(100), b"").await;
    assert_eq!(result, Err(SpamdError::TimedOut));
    assert!(begin.elapsed() < Duration::from_secs(10));
    let (_, result) = ask(Vec::new(), Duration::ZERO, b"").await;
    assert_eq!(result, Err(SpamdError::BadAnswer("it is empty")));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    for address in [address.as_str(), "no port", "spamd.invalid:783"] {
        let result = check(address, b"").await;
        assert!(matches!(result, Err(SpamdError::Unreachable(_))), "{address}: {result:?}");
    }
    assert_eq!(check(&address, &vec![0; MAX_MAIL + 1]).await, Err(SpamdError::TooLarge));
}

#[tokio::test]
async fn a_server_is_asked_whether_it_answers() {
    for (said, expected) in [
        ("SPAMD/1.5 0 PONG\r\n", Ok(())),
        ("SPAMD/1.0 76 Bad header line\r\n", Err(SpamdError::BadAnswer("it is not from spamd"))),
        ("220 mx.example ESMTP\r\n", Err(SpamdError::BadAnswer("it is not from spamd"))),
        ("", Err(SpamdError::BadAnswer("it is not from spamd"))),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            stream.read_to_end(&mut request).await.unwrap();
            stream.write_all(said.as_bytes()).await.unwrap();
            request
        });
        assert_eq!(ping(&address).await, expected, "{said}");
        assert_eq!(server.await.unwrap(), b"PING SPAMC/1.5\r\n\r\n");
    }
}

/// Against a real server, where one is: `MAILWRIGHT_TEST_SPAMD=127.0.0.1:783`.
#[tokio::test]
async fn a_real_server_knows_its_test_mail() {
    let Ok(address) = std::env::var("MAILWRIGHT_TEST_SPAMD") else { return };
    let mail = "From: a@example.com\r\nSubject: x\r\n\r\n\
                XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X\r\n";
    let report = check(&address, mail.as_bytes()).await.unwrap();
    assert!(report.is_spam && report.score > 900.0, "{report:?}");
    assert!(report.rules.iter().any(|rule| rule.name == "GTUBE" && rule.points > 900.0), "{report:?}");
}

proptest! {
    #[test]
    fn any_answer_is_read(
        head in "(SPAMD/1\\.1 0 EX_OK\r\n)?(Content-length: [0-9]{0,3}\r\n)?\
                 (Spam: (True|False) ; -?[0-9.]{1,5} / 5\r\n)?\r\n",
        table in "(---- ---- ----\n)?( {0,10}[-0-9.]{0,4} [A-Z_]{0,8} .{0,20}\n){0,8}",
        bytes in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        let answer = [head.as_bytes(), table.as_bytes(), &bytes].concat();
        if let Ok(report) = parse(&answer) {
            prop_assert!(report.score.is_finite() && report.rules.len() <= MAX_RULES);
        }
        let _ = parse(&bytes);
    }
}

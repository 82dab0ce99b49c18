//! Answers are kept as long as they say, and each domain is asked about once.

use std::time::Duration;

use tokio::time::Instant;

use super::{flags, rows, server, verifier};

const CORPUS: &str = include_str!("corpus.tsv");

/// MX, A, AAAA and NS.
const QUESTIONS: usize = 4;

#[tokio::test]
async fn answers_are_kept_as_long_as_they_say() {
    let dns = server().await;
    let verifier = verifier(&dns);
    for ttl in [600, 0] {
        dns.set_ttl(ttl);
        let factor = if ttl == 0 { 2 } else { 1 };
        let [mine, missing] = [format!("shop{ttl}.net"), format!("missing{ttl}.net")];
        dns.set_mx(&mine, [(10, "mx.example.net")]);
        for _ in 0..2 {
            assert_eq!(flags(&verifier.verify(&format!("ada@{mine}")).await), "EMV");
            assert_eq!(flags(&verifier.verify(&format!("ada@{missing}")).await), "-");
        }
        assert_eq!(dns.queries_for(&mine), QUESTIONS * factor, "what is there, and that there is no address");
        assert_eq!(
            dns.queries_for(&missing),
            (QUESTIONS + 1) * factor,
            "what is not there, an alias included"
        );
    }
}

#[tokio::test]
async fn an_answer_is_let_go_of_when_its_time_is_over() {
    let dns = server().await;
    dns.set_ttl(1);
    let verifier = verifier(&dns);
    assert_eq!(flags(&verifier.verify("ada@soon-there.net").await), "-");
    dns.set_mx("soon-there.net", [(10, "mx.example.net")]);
    let begin = Instant::now();
    while flags(&verifier.verify("ada@soon-there.net").await) != "EMV" {
        assert!(begin.elapsed() < Duration::from_secs(5));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_domain_is_asked_about_once_for_all_its_addresses() {
    let dns = server().await;
    let addresses: Vec<String> = (0..300)
        .map(|n| format!("a{n}@{}", ["nordwind-logistik.de", "Casa-Azul.es", "tulipano.it"][n % 3]))
        .collect();
    let found = verifier(&dns).verify_all(&addresses, 4).await;
    assert!(found.iter().all(|found| flags(found) == "EMVW"));
    assert_eq!(dns.queries(), 3 * QUESTIONS);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_addresses_of_known_domains_ask_nothing() {
    let dns = server().await;
    dns.set_ttl(3600);
    let verifier = verifier(&dns);
    let known: Vec<&str> = rows(CORPUS).filter(|row| row[1].contains('V')).map(|row| row[0]).collect();
    let known: Vec<&str> = known.into_iter().filter(|address| !address.contains("servfail")).collect();
    verifier.verify_all(&known, 32).await;
    let answering: Vec<&str> = {
        let before = verifier.verify_all(&known, 32).await;
        let pairs = known.iter().zip(before);
        pairs.filter(|(_, found)| found.domain_exists).map(|(address, _)| *address).collect()
    };
    let many: Vec<&str> = answering.iter().copied().cycle().take(10_000).collect();

    let asked = dns.queries();
    for address in &many {
        verifier.verify(address).await;
    }
    let found = verifier.verify_all(&many, 32).await;
    assert_eq!((found.len(), dns.queries()), (10_000, asked), "from what was kept alone");
}

//! What is found out about several hundred addresses.

use super::{flags, rows, server, verifier};

const CORPUS: &str = include_str!("corpus.tsv");

#[tokio::test(flavor = "multi_thread")]
async fn every_address_has_its_flags() {
    let dns = server().await;
    let expected: Vec<(&str, &str, &str)> = rows(CORPUS).map(|row| (row[0], row[1], row[2])).collect();
    assert!(expected.len() >= 500);
    let addresses: Vec<&str> = expected.iter().map(|(address, ..)| *address).collect();
    let verifier = verifier(&dns);
    // in a task, as callers do it
    let found = tokio::spawn(async move { verifier.verify_all(&addresses, 16).await }).await.unwrap();
    assert_eq!(found.len(), expected.len());
    let mut wrong = Vec::new();
    for (found, (address, letters, suggested)) in found.iter().zip(expected) {
        assert_eq!(found.email, address, "as it was given, in the order it was given");
        assert!(!found.reasons.is_empty());
        assert!(found.reasons.iter().all(|reason| reason.ends_with('.') && !reason.contains('\n')));
        assert_eq!(found.suggested_email, found.did_you_mean);
        assert_eq!(found.suggested_email.is_some(), found.is_typo);
        if flags(found) != letters || found.suggested_email.as_deref().unwrap_or("-") != suggested {
            wrong.push(format!(
                "{address}: {} for {letters}, {:?} for {suggested}; {:?}",
                flags(found),
                found.suggested_email,
                found.reasons
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn reasons_come_in_the_order_of_detection() {
    let dns = server().await;
    dns.set_mx("gmial.com", [(0, "")]);
    let verifier = verifier(&dns);
    for (address, reasons) in [
        ("ada", &["The address is malformed: it has no @."][..]),
        ("ada@nordwind-logistik.de", &["The address looks valid."]),
        (
            "Ada@gmail.cmo",
            &[
                "The domain gmail.cmo may be a typing mistake for gmail.com.",
                "The domain gmail.cmo does not exist.",
            ],
        ),
        (
            "ada@nosuch.nordwind-logistik.de",
            &["The domain nosuch.nordwind-logistik.de does not exist, although nordwind-logistik.de does."],
        ),
        ("ada@nosuch.co.uk", &["The domain nosuch.co.uk does not exist."]),
        (
            "info+a@gmial.com",
            &[
                "The domain gmial.com may be a typing mistake for gmail.com.",
                "The domain gmial.com cannot receive mail.",
                "The list of disposable domains has gmial.com.",
                "The name info is that of an office or a program and not of a person.",
                "The part before the @ has a tag after a plus.",
                "A null MX record says that gmial.com takes no mail.",
            ],
        ),
        (
            "ada@onlytxt.com",
            &[
                "The domain onlytxt.com cannot receive mail.",
                "The domain onlytxt.com has neither mail servers nor an address.",
            ],
        ),
        (
            "ada@oneserver.org",
            &["The domain oneserver.org has no MX record, so its mail goes to its own address."],
        ),
        ("x@inbox.mailinator.com", &["The list of disposable domains has mailinator.com."]),
        (
            "x@duck.com",
            &["DuckDuckGo Email Protection forwards the mail of duck.com and hides the real address."],
        ),
        ("x@gmail.com", &["Private persons have their mailboxes at gmail.com."]),
        (
            "ada@premium-name.com",
            &["The domain premium-name.com is parked: ns1.sedoparking.com belongs to Sedo."],
        ),
        (
            "ada@broken-dns.com",
            &[
                "The name server gave no usable answer about broken-dns.com, so whether it exists, whether it receives mail and whether it has a website is unknown.",
            ],
        ),
    ] {
        assert_eq!(verifier.verify(address).await.reasons, reasons, "{address}");
    }
}

#[test]
fn any_text_is_taken() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(1).build().unwrap();
    let (dns, verifier) = runtime.block_on(async {
        let dns = server().await;
        let verifier = verifier(&dns);
        (dns, verifier)
    });
    let texts = proptest::prop_oneof![
        proptest::string::string_regex(".{0,80}").unwrap(),
        proptest::string::string_regex("[ -~]{0,20}@[ -~]{0,20}").unwrap(),
        proptest::string::string_regex("[a-c+.\"\\\\é ]{0,6}@[a-cé.-]{0,8}\\.(com|de|co\\.uk|рф|x)").unwrap(),
    ];
    proptest::test_runner::TestRunner::default()
        .run(&texts, |text| {
            let found = runtime.block_on(verifier.verify(&text));
            proptest::prop_assert_eq!(&found.email, &text);
            proptest::prop_assert!(!found.reasons.is_empty());
            proptest::prop_assert_eq!(found.is_typo, found.suggested_email.is_some());
            Ok(())
        })
        .unwrap();
    drop(dns);
}

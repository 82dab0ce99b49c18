//! Mails of every kind that the service sends, judged as receivers judge them: by dkimpy, `OpenDKIM`, SpamAssassin and
//! rspamd.

mod kinds;
mod sender;
mod texts;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use mailwright_testkit::python::judge_mails;
use mailwright_testkit::smtp::Received;
use mailwright_testkit::{Value, json};
use mailwright_tests::{members, text};

use kinds::{
    OWN, send_confirmations, send_files, send_in_other_scripts, send_own_ones, send_plain_ones,
    send_templates,
};
use sender::{ADDRESS, HELO, RECEIVER, Sender, address};

/// The most points of SpamAssassin that a mail may have.
const MOST: f64 = 0.5;

/// Writes the mails into a folder, each named after its recipient; how each came.
fn write_down(folder: &Path, received: &[Received]) -> BTreeMap<String, Value> {
    let (mut mails, mut counts) = (BTreeMap::new(), HashMap::<&str, usize>::new());
    for mail in received {
        let to = &mail.rcpt_to[0];
        let kind = to.split('@').next().unwrap_or_default();
        if kind.starts_with("dropped") {
            continue;
        }
        let count = counts.entry(kind).or_default();
        *count += 1;
        let name = if *count == 1 { format!("{kind}.eml") } else { format!("{kind}-{count}.eml") };
        fs::write(folder.join(&name), &mail.data).expect("a file");
        let came = json!({"from": mail.mail_from, "to": to});
        if kind == "order" {
            // the judges are awake: this one is not what was signed
            let forged = String::from_utf8_lossy(&mail.data).replace("potting", "peat");
            fs::write(folder.join("forged.eml"), forged).expect("a file");
            mails.insert("forged.eml".to_owned(), came.clone());
        }
        mails.insert(name, came);
    }
    mails
}

/// The signature of the key that proves a domain.
fn first_of(signatures: &Value) -> &str {
    let rsa = "rsa-sha256";
    if signatures.get(rsa).is_some() { rsa } else { "ed25519-sha256" }
}

/// Rules or symbols with points against a mail.
fn against(points: &Value) -> Vec<String> {
    let counted = members(points).iter().filter(|(_, points)| points.as_f64() > Some(0.0));
    counted.map(|(name, points)| format!("{name} {points}")).collect()
}

/// What is wrong with a mail.
fn faults(name: &str, verdict: &Value, signatures: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    // the record of the instance's second key is not looked for until minutes later
    let is_own = ["invitation", "owner", "verification"].iter().any(|own| name.starts_with(own));
    let signatures = if is_own { &json!({first_of(signatures): "pass"}) } else { signatures };
    for judge in ["dkimpy", "opendkim"] {
        if verdict[judge] != *signatures {
            faults.push(format!("{judge}: {}", verdict[judge]));
        }
    }
    let [assassin, rspamd] = ["spamassassin", "rspamd"].map(|judge| &verdict[judge]);
    if assassin["score"].as_f64().is_none_or(|score| score > MOST) {
        faults.push(format!("SpamAssassin: {} by {:?}", assassin["score"], against(&assassin["rules"])));
    }
    if rspamd["action"] != "no action" {
        faults.push(format!("rspamd: {} by {:?}", rspamd["action"], against(&rspamd["symbols"])));
    }
    for (found, name) in [
        (&assassin["rules"], "SPF_PASS"),
        (&rspamd["symbols"], "R_SPF_ALLOW"),
        (&rspamd["symbols"], "R_DKIM_ALLOW"),
    ] {
        if found.get(name).is_none() {
            faults.push(format!("without {name}"));
        }
    }
    faults
}

/// Sends mails of every kind, signed with keys of this type, and has them judged.
async fn assert_welcome(key_type: &str, signatures: Value) {
    let mut sender = Sender::start(key_type).await;
    send_plain_ones(&sender).await;
    send_files(&sender).await;
    send_in_other_scripts(&sender).await;
    let mut kinds = send_templates(&sender).await;
    let gtube = "<p>XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X</p>";
    sender.send("gtube", json!({"subject": "Hello", "body": gtube, "tracking": false})).await;
    send_confirmations(&sender).await;
    send_own_ones(&sender).await;
    kinds.extend(["two-b", "campaign-test", "invitation", "verification", "gtube"].map(str::to_owned));
    for kind in kinds {
        sender.wait_for(&address(&kind), 1).await;
    }
    for email in sender.app.list_all("/emails").await {
        sender.app.email_in(text(&email["id"]), &["SENT"]).await;
    }
    sender.publish_own_keys();

    let folder = tempfile::tempdir().expect("a folder");
    let mails = write_down(folder.path(), &sender.server.received());
    assert_eq!(mails.keys().filter(|name| name.starts_with("owner")).count(), OWN);
    let setting = json!({
        "address": ADDRESS, "helo": HELO, "receiver": RECEIVER, "zone": sender.zone, "mails": mails,
    });
    let mut verdicts = judge_mails(folder.path(), &setting);
    let verdicts = verdicts.as_object_mut().expect("verdicts by mail");
    assert_eq!(verdicts.len(), mails.len());

    let spam = verdicts.remove("gtube.eml").expect("a verdict");
    assert!(
        spam["spamassassin"]["score"].as_f64() > Some(100.0) && spam["rspamd"]["action"] == "reject",
        "{spam}"
    );
    let forged = verdicts.remove("forged.eml").expect("a verdict");
    for judge in ["dkimpy", "opendkim"] {
        let results = members(&forged[judge]);
        assert!(
            results.len() == members(&signatures).len() && results.values().all(|said| said != "pass"),
            "{forged}"
        );
    }
    let faults: Vec<String> = verdicts
        .iter()
        .map(|(name, verdict)| (name, faults(name, verdict, &signatures)))
        .filter(|(_, faults)| !faults.is_empty())
        .map(|(name, faults)| format!("{name}: {}", faults.join("; ")))
        .collect();
    assert!(faults.is_empty(), "{} of {} mails:\n{}", faults.len(), verdicts.len(), faults.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mails_signed_with_ed25519_are_welcome() {
    assert_welcome("ed25519", json!({"ed25519-sha256": "pass"})).await;
}
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mails_signed_with_both_are_welcome() {
    assert_welcome("both", json!({"rsa-sha256": "pass", "ed25519-sha256": "pass"})).await;
}

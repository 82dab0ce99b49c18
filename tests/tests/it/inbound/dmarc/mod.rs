//! Reports of receivers about the mail of sender domains (DMARC): how they come, and what they show.

mod forged;

use std::io::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};
use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::mail_in::MailIn;
use mailwright_testkit::net::free_port;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{UNKNOWN_ID, as_project, items, read, text};
use serde_json::{Value, json};

use super::{bring, bring_ok, capturing};

const RETURN_PATH: &str = "bounces.mail.test";
const DAY: i64 = 86_400;
/// Domains of receivers whose mail is proved to be their own, when it comes from this machine.
const RECEIVERS: [&str; 2] = ["google.com", "yahoo.com"];

/// A service that takes reports about its domain, and what belongs to it.
struct Shop {
    app: App,
    dns: FakeDns,
    _server: ScriptedServer,
    inbound: u16,
    /// The id of the domain.
    id: String,
    domain: String,
}

impl Shop {
    async fn start(engine: Engine) -> Self {
        let dns = FakeDns::start().await;
        for receiver in RECEIVERS {
            dns.set_txt(receiver, ["v=spf1 ip4:127.0.0.1 -all"]);
        }
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let inbound = free_port();
        let builder = capturing(engine, &dns, inbound).smtp(server.port);
        let app = builder.env("MAILWRIGHT_INBOUND_RETURN_PATH", RETURN_PATH).start().await;
        let listed = read(&app, &format!("/domains/project/{}", app.project_id())).await;
        let id = text(&listed[0]["id"]).to_owned();
        let domain = text(&listed[0]["domain"]).to_owned();
        Self { app, dns, _server: server, inbound, id, domain }
    }

    /// The domain as the API shows it.
    async fn shown(&self) -> Value {
        read(&self.app, &format!("/domains/project/{}", self.app.project_id())).await[0].clone()
    }

    /// The record of DMARC that is to be published.
    async fn record(&self) -> Value {
        let shown = self.shown().await;
        items(&shown["records"]).iter().find(|record| record["purpose"] == "dmarc").expect("a record").clone()
    }

    /// The address that takes reports.
    async fn address(&self) -> String {
        let record = self.record().await;
        let (policy, address) = text(&record["value"]).split_once("; rua=mailto:").expect("an address");
        assert_eq!(policy, "v=DMARC1; p=none");
        address.to_owned()
    }

    /// Publishes a DMARC record and has it looked up.
    async fn publish(&self, record: &str) {
        self.dns.set_txt(&format!("_dmarc.{}", self.domain), [record]);
        read(&self.app, &format!("/domains/{}/verify", self.id)).await;
        assert_eq!(self.record().await["status"], "found");
    }

    /// The selector of the domain's key.
    async fn selector(&self) -> String {
        let shown = self.shown().await;
        text(&shown["records"][0]["name"]).split('.').next().expect("a label").to_owned()
    }

    async fn session(&self) -> MailIn {
        MailIn::connect(self.inbound).await
    }

    async fn figures(&self, query: &str) -> Value {
        read(&self.app, &format!("/domains/{}/dmarc{query}", self.id)).await
    }

    /// The second at which the day began, so many days ago.
    fn days_ago(&self, days: i64) -> i64 {
        (self.app.now() / 1000).div_euclid(DAY) * DAY - days * DAY
    }

    /// A report of a day.
    fn report(&self, reporter: &str, id: &str, days_ago: i64, policy: &str, records: &str) -> String {
        let begin = self.days_ago(days_ago);
        format!(
            "<?xml version=\"1.0\"?><feedback><report_metadata><org_name>{reporter}</org_name>\
             <email>dmarc@{reporter}</email><report_id>{id}</report_id><date_range><begin>{begin}</begin><end>{}</end>\
             </date_range></report_metadata><policy_published><domain>{}</domain><p>{policy}</p></policy_published>\
             {records}</feedback>",
            begin + DAY - 1,
            self.domain
        )
    }

    /// One mail each from so many addresses, nothing of it aligned.
    fn sources(&self, count: usize) -> String {
        let ip = |nth: usize| format!("10.0.{}.{}", nth / 256, nth % 256);
        (0..count).map(|nth| self.record_of(&ip(nth), 1, "none", [false, false], ("x.test", "x"))).collect()
    }

    /// Mails from an address: how many, what was done with them, and whether DKIM and SPF passed for the domain.
    fn record_of(
        &self,
        ip: &str,
        count: u64,
        disposition: &str,
        passed: [bool; 2],
        signed: (&str, &str),
    ) -> String {
        let [dkim, spf] = passed.map(|passed| if passed { "pass" } else { "fail" });
        let domain = &self.domain;
        format!(
            "<record><row><source_ip>{ip}</source_ip><count>{count}</count><policy_evaluated>\
             <disposition>{disposition}</disposition><dkim>{dkim}</dkim><spf>{spf}</spf></policy_evaluated></row>\
             <identifiers><header_from>{domain}</header_from></identifiers><auth_results><dkim><domain>{}</domain>\
             <selector>{}</selector><result>{dkim}</result></dkim><spf><domain>elsewhere.test</domain>\
             <result>{spf}</result></spf></auth_results></record>",
            signed.0, signed.1
        )
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).expect("memory");
    encoder.finish().expect("memory")
}

/// A zip with one file.
fn zip(name: &str, content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).expect("memory");
    let packed = encoder.finish().expect("memory");
    let mut crc = Crc::new();
    crc.update(content);
    // the method, the time, and what is behind it
    let head =
        [&[8, 0, 0, 0, 0, 0][..], &crc.sum().to_le_bytes(), &(packed.len() as u32).to_le_bytes()].concat();
    let sizes =
        [&(content.len() as u32).to_le_bytes()[..], &(name.len() as u16).to_le_bytes(), &[0; 2]].concat();
    let file = [b"PK\x03\x04", &[20, 0, 0, 0][..], &head, &sizes, name.as_bytes(), &packed].concat();
    let entry = [b"PK\x01\x02", &[20, 0, 20, 0, 0, 0][..], &head, &sizes, &[0; 14], name.as_bytes()].concat();
    let end = [
        b"PK\x05\x06",
        &[0, 0, 0, 0, 1, 0, 1, 0][..],
        &(entry.len() as u32).to_le_bytes(),
        &(file.len() as u32).to_le_bytes(),
        &[0; 2],
    ];
    [file, entry, end.concat()].concat()
}

/// A mail with a file.
fn mail(media: &str, name: &str, file: &[u8]) -> String {
    let encoded = STANDARD.encode(file);
    let lines: Vec<&str> =
        encoded.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).expect("ASCII")).collect();
    format!(
        "From: reports@receiver.test\nTo: somebody\nSubject: Report domain: acme.test\nMIME-Version: 1.0\n\
         Content-Type: {media}; name=\"{name}\"\nContent-Transfer-Encoding: base64\n\n{}\n",
        lines.join("\n")
    )
}

fn packed(report: &str) -> String {
    mail("application/gzip", "receiver.test!acme.test!1!2.xml.gz", &gzip(report.as_bytes()))
}

/// Delivers a mail from a domain, by its header and by its envelope.
async fn send(session: &mut MailIn, domain: &str, to: &str, mail: &str) {
    let mail = mail.replace("reports@receiver.test", &format!("reports@{domain}"));
    bring_ok(session, &format!("a@{domain}"), &[to], &mail).await;
}

/// How many rows the tables of reports have.
async fn rows(app: &App) -> [usize; 2] {
    let rows = app.rows().await;
    ["dmarc_reports", "dmarc_sums"].map(|table| rows[table].len())
}

both_engines! {
    async fn reports_are_summed_by_source(engine: Engine) {
        let shop = Shop::start(engine).await;
        let address = shop.address().await;
        assert!(address.starts_with("dmarc-") && address.ends_with("@bounces.mail.test"), "{address}");
        // a record that reports to somebody else is one
        shop.publish("v=DMARC1; p=none; rua=mailto:other@example.com").await;
        let ours = shop.selector().await;
        let (own, other) = ((&*shop.domain, &*ours), ("elsewhere.test", "x"));
        let google = [
            shop.record_of("192.0.2.1", 60, "none", [true, false], own),
            shop.record_of("192.0.2.1", 5, "none", [false, true], other),
            shop.record_of("2001:db8::1", 40, "quarantine", [false, false], other),
        ].concat();
        let yahoo = [
            shop.record_of("192.0.2.1", 10, "none", [true, true], own),
            shop.record_of("198.51.100.7", 2, "reject", [false, false], other),
        ].concat();
        let google = shop.report("google.com", "g1", 2, "none", &google);
        let yahoo = shop.report("Yahoo", "y1", 40, "none", &yahoo);
        let mut session = shop.session().await;
        for _ in 0..2 {
            send(&mut session, "google.com", &address.to_uppercase(), &packed(&google)).await;
        }
        let zipped = mail("application/zip", "yahoo!acme.test!1!2.zip", &zip("report.xml", yahoo.as_bytes()));
        send(&mut session, "yahoo.com", &address, &zipped).await;
        assert_eq!(rows(&shop.app).await, [2, 5]);

        let all = shop.figures("?days=90").await;
        assert_eq!(all["domain"], shop.domain);
        let totals = json!({
            "messages": 117, "aligned": 75, "dkimAligned": 70, "spfAligned": 15, "quarantined": 40, "rejected": 2,
        });
        assert_eq!(all["totals"], totals);
        assert_eq!(all["unproven"]["messages"], 0);
        let source = |ip: &str, [messages, aligned, dkim, spf]: [u32; 4], is_ours: bool| json!({
            "ip": ip, "messages": messages, "aligned": aligned, "dkimAligned": dkim, "spfAligned": spf,
            "isOurs": is_ours, "isProven": true, "domains": [shop.domain],
        });
        assert_eq!(all["sources"], json!([
            source("192.0.2.1", [75, 75, 70, 15], true),
            source("2001:db8::1", [40, 0, 0, 0], false),
            source("198.51.100.7", [2, 0, 0, 0], false),
        ]));
        assert_eq!(all["more"], 0);
        let names: Vec<_> = items(&all["reporters"]).iter().map(|r| (text(&r["name"]), &r["reports"], &r["messages"])).collect();
        assert_eq!(names, [("google.com", &json!(1), &json!(105)), ("Yahoo", &json!(1), &json!(12))]);
        let domains: Vec<_> = items(&all["reporters"]).iter().map(|r| text(&r["domain"])).collect();
        assert_eq!(domains, RECEIVERS);
        let end = jiff::Timestamp::from_second(shop.days_ago(1) - 1).expect("a time");
        assert_eq!(text(&all["reporters"][0]["lastEnd"]).parse().ok(), Some(end));
        assert_eq!(all["policy"]["published"], "none");
        assert_eq!(shop.figures("").await["totals"]["messages"], 105, "thirty days if nothing is said");
        assert_eq!(shop.figures("?days=1").await["sources"], json!([]));

        // nothing else came of it, and nobody else sees it
        assert_eq!(read(&shop.app, "/emails").await["total"], 0);
        assert_eq!(read(&shop.app, "/contacts").await["total"], 0);
        let stored = shop.app.rows().await;
        assert_eq!((stored["events"].len(), stored["inbound_mails"].len()), (0, 0));
        let other = shop.app.bootstrap("Other", "other.test").await;
        let path = format!("/domains/{}/dmarc", shop.id);
        as_project(&shop.app, &other, "GET", &path).send().await.assert_status(404);
        shop.app.get(&format!("/domains/{UNKNOWN_ID}/dmarc")).send().await.assert_status(404);
    }

    async fn what_is_no_report_about_the_domain_is_dropped(engine: Engine) {
        let shop = Shop::start(engine).await;
        let address = shop.address().await;
        let mut session = shop.session().await;
        // an address that was not given out
        let last = address.find('@').expect("an address") - 1;
        let mut forged = address.clone();
        forged.replace_range(last..=last, if address.as_bytes()[last] == b'a' { "b" } else { "a" });
        let report = shop.report("google.com", "g1", 1, "none", &shop.record_of("192.0.2.1", 1, "none", [true, true], ("x.test", "x")));
        let reply = bring(&mut session, "a@google.com", &[&forged], &packed(&report)).await;
        assert!(reply.starts_with("550 5.1.1"), "{reply}");

        let foreign = report.replace(&shop.domain, "foreign.test");
        let old = shop.report("google.com", "g2", 92, "none", "");
        let future = shop.report("google.com", "g3", -3, "none", "");
        let spaces = vec![b' '; 64 * 1024 * 1024];
        let bomb = [report.as_bytes(), &spaces].concat();
        for dropped in [
            packed(&foreign), packed(&old), packed(&future), packed("<feedback><report_metadata>"),
            mail("application/gzip", "google.com!acme.test!1!2.xml.gz", &gzip(&bomb)),
            mail("application/zip", "google.com!acme.test!1!2.zip", &zip("a.xml", &bomb)),
            mail("application/gzip", "google.com!acme.test!1!2.xml.gz", b"nothing of the kind"),
            "Subject: Hello\n\nHello\n".to_owned(),
        ] {
            bring_ok(&mut session, "", &[&address], &dropped).await;
        }
        assert_eq!(rows(&shop.app).await, [0, 0]);
        let metrics = shop.app.get("/metrics").send().await.assert_status(200).text();
        assert!(metrics.contains("mailwright_inbound_messages_total{outcome=\"dmarc_dropped\"} 8"), "{metrics}");

        // the service lives on
        bring_ok(&mut session, "", &[&address], &packed(&report)).await;
        assert_eq!(rows(&shop.app).await, [1, 1]);
        assert_eq!(read(&shop.app, "/emails").await["total"], 0);
    }

    async fn sources_beyond_the_bound_are_counted_together(engine: Engine) {
        let shop = Shop::start(engine).await;
        let address = shop.address().await;
        let report = shop.report("google.com", "g1", 1, "none", &shop.sources(1_100));
        send(&mut shop.session().await, "google.com", &address, &packed(&report)).await;
        assert_eq!(rows(&shop.app).await, [1, 301]);
        let all = shop.figures("").await;
        assert_eq!((items(&all["sources"]).len(), &all["more"], &all["totals"]["messages"]), (100, &json!(201), &json!(1_100)));
        let others = &all["sources"][0];
        assert_eq!((&others["ip"], &others["messages"], &others["domains"]), (&Value::Null, &json!(800), &json!([])));
    }

    async fn reports_are_kept_for_a_while_and_through_a_reset(engine: Engine) {
        let shop = Shop::start(engine).await;
        let address = shop.address().await;
        let records = shop.record_of("192.0.2.1", 3, "none", [true, true], ("x.test", "x"));
        let first = shop.report("google.com", "g1", 1, "none", &records);
        send(&mut shop.session().await, "google.com", &address, &packed(&first)).await;
        let owner = Browser::log_in(&shop.app, OWNER.0, OWNER.1).await;
        let reset = format!("/users/@me/projects/{}/reset", shop.app.project_id());
        owner.request(&shop.app, "POST", &reset).json(&json!({})).send().await.assert_status(200);
        assert_eq!(shop.figures("").await["totals"]["messages"], 0);

        // the address that was published stays right
        assert_eq!(shop.address().await, address);
        let second = shop.report("google.com", "g2", 1, "none", &records);
        send(&mut shop.session().await, "google.com", &address, &packed(&second)).await;
        assert_eq!(shop.figures("").await["totals"]["messages"], 3);
        let day = Duration::from_secs(DAY.unsigned_abs());
        shop.app.advance(day * 80).await;
        assert_eq!(shop.figures("?days=90").await["totals"]["messages"], 3);
        shop.app.eventually("nothing is left", async || {
            shop.app.advance(day).await;
            (rows(&shop.app).await == [0, 0]).then_some(())
        }).await;
    }

    async fn a_stricter_policy_is_proposed_step_by_step(engine: Engine) {
        let shop = Shop::start(engine).await;
        let address = shop.address().await;
        let policy = async || shop.figures("").await["policy"].clone();
        let unknown = policy().await;
        assert_eq!((&unknown["published"], &unknown["proposed"]), (&Value::Null, &Value::Null), "{unknown}");
        assert!(text(&unknown["reason"]).contains("not known"), "{unknown}");
        read(&shop.app, &format!("/domains/{}/verify", shop.id)).await;
        let first = json!({"policy": "none", "record": format!("v=DMARC1; p=none; rua=mailto:{address}")});
        assert_eq!(policy().await, json!({"published": null, "proposed": first, "reason": null}));

        shop.publish(&format!("v=DMARC1; p=none; adkim=s; rua=mailto:{address}")).await;
        let reason = |published: &str, reason: &str| json!({"published": published, "proposed": null, "reason": reason});
        let fortnight = "Reports of at least 14 days are needed.";
        assert_eq!(policy().await, reason("none", fortnight));
        let mut session = shop.session().await;
        let [google, yahoo] = RECEIVERS;
        for (days_ago, domain, reporter) in [(15, google, "google.com"), (3, google, "google.com"), (2, yahoo, "Yahoo")] {
            let records = shop.record_of("192.0.2.1", 80, "none", [true, true], ("x.test", "x"));
            let report = shop.report(reporter, &days_ago.to_string(), days_ago, "none", &records);
            send(&mut session, domain, &address, &packed(&report)).await;
        }
        let record = format!("v=DMARC1; p=quarantine; adkim=s; rua=mailto:{address}");
        let next = json!({"policy": "quarantine", "record": record});
        assert_eq!(policy().await, json!({"published": "none", "proposed": next, "reason": null}));

        // the next step waits for reports of those who found the new policy
        shop.publish(&record).await;
        assert_eq!(policy().await, reason("quarantine", fortnight));
        let old = shop.report("google.com", "q", 14, "quarantine", "");
        send(&mut session, google, &address, &packed(&old)).await;
        assert_eq!(policy().await["proposed"]["policy"], "reject");
        // a source that sends rightly for the most part
        let mixed = [
            shop.record_of("192.0.2.9", 12, "quarantine", [false, false], ("x.test", "x")),
            shop.record_of("192.0.2.9", 88, "none", [true, false], ("x.test", "x")),
        ].concat();
        let mixed = shop.report("Yahoo", "m", 1, "quarantine", &mixed);
        send(&mut session, yahoo, &address, &packed(&mixed)).await;
        assert_eq!(policy().await, reason("quarantine", "12 % of the mail of source 192.0.2.9 is not aligned."));
        shop.publish("v=DMARC1; p=reject").await;
        assert_eq!(policy().await, reason("reject", "There is no stricter policy."));
    }
}

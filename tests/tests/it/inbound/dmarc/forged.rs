//! Reports that somebody invented: they take no room from others, and make no policy stricter.

use mailwright_testkit::{Engine, both_engines};
use mailwright_tests::{items, text};
use serde_json::{Value, json};

use super::{Shop, packed, rows, send};
use crate::inbound::bring_ok;

/// How many reports of a day are kept of all that prove nothing.
const SHARE: usize = 100;
/// How many mails are told of in one of them: more than are believed.
const INVENTED: u64 = 900_000_000;

both_engines! {
    async fn invented_sources_do_not_hide_those_of_others(engine: Engine) {
        let shop = Shop::start(engine).await;
        let address = shop.address().await;
        let mut session = shop.session().await;
        let forged = shop.report("google.com", "g1", 1, "none", &shop.sources(1_001));
        bring_ok(&mut session, "", &[&address], &packed(&forged)).await;
        // the envelope proves another domain than the one that the mail says it is from
        bring_ok(&mut session, "a@google.com", &[&address], &packed(&forged.replace("g1", "g2"))).await;
        let nothing = shop.figures("").await;
        assert_eq!((&nothing["totals"]["messages"], &nothing["unproven"]["messages"]), (&json!(0), &json!(2_002)));

        // the name and the id of the true one are not taken either
        let record = shop.record_of("198.51.100.7", 500, "none", [true, false], ("x.test", "x"));
        let report = shop.report("google.com", "g1", 1, "none", &record);
        send(&mut session, "google.com", &address, &packed(&report)).await;
        assert_eq!(rows(&shop.app).await, [3, 302]);
        let all = shop.figures("").await;
        let totals = json!({
            "messages": 500, "aligned": 500, "dkimAligned": 500, "spfAligned": 0, "quarantined": 0, "rejected": 0,
        });
        assert_eq!(all["totals"], totals);
        assert_eq!(all["unproven"]["messages"], 2_002);
        assert_eq!(all["sources"][0], json!({
            "ip": "198.51.100.7", "messages": 500, "aligned": 500, "dkimAligned": 500, "spfAligned": 0,
            "isOurs": false, "isProven": true, "domains": [shop.domain],
        }));
        // though they have more mails
        let others = &items(&all["sources"])[1..];
        assert!(others.len() == 99 && others.iter().all(|source| source["isProven"] == false), "{all}");
        assert_eq!(all["more"], 202);
        let reporters: Vec<_> = items(&all["reporters"]).iter().map(|r| (text(&r["name"]), &r["domain"], &r["messages"])).collect();
        assert_eq!(reporters, [
            ("google.com", &json!("google.com"), &json!(500)), ("google.com", &Value::Null, &json!(2_002)),
        ]);
    }

    async fn invented_reports_do_not_fill_the_day(engine: Engine) {
        let shop = Shop::start(engine).await;
        let address = shop.address().await;
        let records = shop.record_of("192.0.2.1", 1, "none", [false, false], ("x.test", "x"));
        for half in 0..2 {
            let mut session = shop.session().await;
            for nth in 0..=SHARE / 2 {
                let report = shop.report(&format!("r{half}.test"), &nth.to_string(), 1, "none", &records);
                bring_ok(&mut session, "", &[&address], &packed(&report)).await;
            }
        }
        assert_eq!(rows(&shop.app).await, [SHARE, 1]);
        let mut session = shop.session().await;
        for domain in ["google.com", "yahoo.com"] {
            let report = shop.report(domain, "1", 1, "none", &records);
            send(&mut session, domain, &address, &packed(&report)).await;
        }
        let all = shop.figures("").await;
        assert_eq!((&all["totals"]["messages"], &all["unproven"]["messages"]), (&json!(2), &json!(SHARE)));
        let domains: Vec<_> = items(&all["reporters"]).iter().map(|reporter| &reporter["domain"]).collect();
        assert_eq!(domains, [&json!("google.com"), &json!("yahoo.com"), &Value::Null, &Value::Null]);
    }

    async fn invented_figures_make_no_policy_stricter(engine: Engine) {
        let shop = Shop::start(engine).await;
        let address = shop.address().await;
        shop.publish(&format!("v=DMARC1; p=none; rua=mailto:{address}")).await;
        let ours = shop.selector().await;
        let own = (&*shop.domain, &*ours);
        let reason = async || shop.figures("").await["policy"].clone();
        let refused = |reason: &str| json!({"published": "none", "proposed": null, "reason": reason});
        let days = [16, 9, 2];
        let aligned = shop.record_of("192.0.2.200", INVENTED, "none", [true, true], own);
        let mut session = shop.session().await;
        for days_ago in days {
            for name in ["google.com", "Yahoo"] {
                let forged = shop.report(name, &format!("{name}{days_ago}"), days_ago, "none", &aligned);
                bring_ok(&mut session, "", &[&address], &packed(&forged)).await;
            }
        }
        assert_eq!(reason().await, refused("Reports of at least 14 days are needed."));

        // what receivers saw in truth: the service's own mail, with signatures that are broken
        let broken = shop.record_of("192.0.2.200", 300, "none", [false, false], own);
        for days_ago in days {
            for domain in ["google.com", "yahoo.com"] {
                let report = shop.report(domain, &days_ago.to_string(), days_ago, "none", &broken);
                send(&mut session, domain, &address, &packed(&report)).await;
            }
        }
        let unaligned = refused("100 % of the mail of source 192.0.2.200 is not aligned.");
        assert_eq!(reason().await, unaligned);

        // nor does one who proves to be somebody outweigh the others
        shop.dns.set_txt("invented.test", ["v=spf1 ip4:127.0.0.1 -all"]);
        for days_ago in days {
            let forged = shop.report("invented.test", &days_ago.to_string(), days_ago, "none", &aligned);
            send(&mut session, "invented.test", &address, &packed(&forged)).await;
        }
        assert_eq!(reason().await, unaligned);
        let all = shop.figures("").await;
        assert_eq!(all["totals"]["messages"], 3 * 100_000_000 + 6 * 300);
        assert_eq!(all["unproven"]["messages"], 6 * 100_000_000);
    }
}

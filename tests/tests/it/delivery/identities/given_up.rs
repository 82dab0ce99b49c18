//! Sender domains that nobody has any more, which are removed from the account that they were registered with.

use std::time::Duration;

use mailwright_testkit::{App, Engine, OWNER, Value, both_engines, json, one_engine};
use mailwright_tests::browser::Browser;
use mailwright_tests::{as_project, text};

use super::{DOMAIN, SENDING, Shop};

/// What an account says before it has as many requests about domains as it wants.
const THROTTLED: (&str, u16, &str) = ("TooManyRequestsException", 429, "Rate exceeded");

impl Shop {
    async fn remove(&self, domain: &Value) {
        let path = format!("/domains/{}", text(&domain["id"]));
        self.app.delete(&path).send().await.assert_status(200);
    }

    /// Waits until SES has none of the domains that this service registered.
    async fn until_removed(&self, domain: &str) {
        let what = format!("SES has no {domain}");
        self.app.eventually(&what, async || (!self.has(domain)).then_some(())).await;
    }

    /// Waits until it was looked who has the domains that were given up, and somebody was found.
    async fn until_kept(&self) {
        self.app
            .eventually("it was looked who has the domain", async || {
                let rows = registered(&self.app).await;
                rows.iter().all(|row| row.replace(' ', "").contains(r#""due_at":null"#)).then_some(())
            })
            .await;
    }

    fn has(&self, domain: &str) -> bool {
        self.ses.identities().iter().any(|identity| identity.name == domain)
    }

    fn removals(&self, domain: &str) -> usize {
        self.ses.asked(domain).iter().filter(|asked| *asked == "DeleteEmailIdentity").count()
    }
}

/// The domains that the service knows to be registered by itself.
async fn registered(app: &App) -> Vec<String> {
    app.rows().await["ses_identities"].clone()
}

both_engines! {
    async fn a_domain_is_removed_once_the_last_project_has_given_it_up(engine: Engine) {
        let shop = Shop::start(engine, "own_key", "rsa").await;
        let other = shop.app.bootstrap("Neighbour", "neighbour.example").await;
        let first = shop.verified(DOMAIN, "own_key").await;
        let added = as_project(&shop.app, &other, "POST", "/domains").json(&json!({"domain": DOMAIN})).send().await;
        let second = added.assert_status(201).json();
        shop.remove(&first).await;
        shop.until_kept().await;
        assert!(shop.has(DOMAIN), "the other project has it");

        let path = format!("/domains/{}", text(&second["id"]));
        as_project(&shop.app, &other, "DELETE", &path).send().await.assert_status(200);
        shop.until_removed(DOMAIN).await;
        shop.app.eventually("it is forgotten", async || registered(&shop.app).await.is_empty().then_some(())).await;
        assert_eq!(shop.removals(DOMAIN), 1);
        // from the beginning
        shop.verified(DOMAIN, "own_key").await;
    }

    async fn what_a_deleted_project_had_registered_is_removed(engine: Engine) {
        let shop = Shop::start(engine, "easy_dkim", "ed25519").await;
        shop.verified(DOMAIN, "easy_dkim").await;
        let owner = Browser::log_in(&shop.app, OWNER.0, OWNER.1).await;
        let path = format!("/users/@me/projects/{}", shop.app.project_id());
        owner.request(&shop.app, "DELETE", &path).send().await.assert_status(200);
        shop.until_removed(DOMAIN).await;
    }
}

one_engine! {
    async fn what_the_account_had_before_stays(engine: Engine) {
        let shop = Shop::start(engine, "own_key", "rsa").await;
        // by hand
        shop.ses.verify("blog.example");
        let blog = shop.add("blog.example").await;
        shop.publish(&blog);
        shop.check(&blog).await;
        shop.app.eventually("SES says that it exists", async || {
            (!shop.listed(&blog).await["identities"][0]["checkedAt"].is_null()).then_some(())
        }).await;
        shop.check(&blog).await;
        shop.until(&blog, "verified", Some("easy_dkim")).await;
        let domain = shop.verified(DOMAIN, "own_key").await;
        shop.remove(&blog).await;
        shop.remove(&domain).await;
        shop.until_removed(DOMAIN).await;
        assert!(shop.has("blog.example"));
        assert_eq!(shop.removals("blog.example"), 0);
    }

    async fn a_domain_that_was_added_again_meanwhile_stays(engine: Engine) {
        let shop = Shop::start(engine, "own_key", "rsa").await;
        let domain = shop.verified(DOMAIN, "own_key").await;
        let asked = shop.ses.asked(DOMAIN).len();
        let (error, status, said) = THROTTLED;
        shop.ses.refuse_identities(error, status, said, 1);
        shop.remove(&domain).await;
        shop.app.eventually("SES was asked", async || (shop.ses.asked(DOMAIN).len() > asked).then_some(())).await;
        shop.add(DOMAIN).await;
        shop.app.advance(Duration::from_mins(6)).await;
        shop.until_kept().await;
        assert!(shop.has(DOMAIN));
        assert_eq!(shop.removals(DOMAIN), 0);
    }

    async fn a_domain_that_is_removed_while_it_is_registered_counts_and_is_removed_there(engine: Engine) {
        let shop = Shop::start(engine, "own_key", "rsa").await;
        let domain = shop.add(DOMAIN).await;
        shop.publish(&domain);
        shop.ses.hold_identities(true);
        shop.check(&domain).await;
        shop.app.eventually("SES is asked", async || (!shop.ses.asked(DOMAIN).is_empty()).then_some(())).await;
        shop.remove(&domain).await;
        shop.ses.hold_identities(false);
        shop.app.eventually("the answer is stored", async || {
            (!registered(&shop.app).await.is_empty()).then_some(())
        }).await;
        assert_eq!(shop.ses.asked(DOMAIN), ["CreateEmailIdentity"]);
        // by the audit log it is counted how many a project has registered in a day
        let recorded = shop.recorded().await;
        assert_eq!((recorded.len(), &recorded[0]["target"]), (1, &json!(DOMAIN)));
        shop.app.advance(Duration::from_mins(2)).await;
        shop.until_removed(DOMAIN).await;
    }

    async fn a_removal_that_is_refused_is_tried_again_and_told(engine: Engine) {
        let mut shop = Shop::start(engine, "own_key", "rsa").await;
        let domain = shop.verified(DOMAIN, "own_key").await;
        let registering =
            ["ses:CreateEmailIdentity", "ses:GetEmailIdentity", "ses:PutEmailIdentityDkimSigningAttributes"];
        shop.ses.set_rights(&[&SENDING[..], &registering[..]].concat());
        shop.remove(&domain).await;
        let said = shop.app.eventually("the doctor tells it", async || {
            let said = shop.doctor().await;
            said.starts_with("WRONG").then_some(said)
        }).await;
        assert!(said.contains("refused to remove 1 domains"), "{said}");
        assert!(said.contains("ses:DeleteEmailIdentity"), "{said}");
        assert!(shop.has(DOMAIN));

        // the next process goes on
        shop.app.kill();
        shop.ses.set_rights(&["ses:*"]);
        shop.app.restart().await;
        shop.app.advance(Duration::from_mins(2)).await;
        shop.until_removed(DOMAIN).await;
        shop.app.eventually("the doctor has nothing to tell", async || {
            shop.doctor().await.starts_with("ok ").then_some(())
        }).await;
    }

    async fn no_domain_is_registered_while_too_many_are_to_be_removed(engine: Engine) {
        let shop = Shop::start(engine, "own_key", "rsa").await;
        shop.app.tamper(
            "insert into ses_identities (transport, name, signs_with, due_at, attempts, denied) \
             with recursive n (i) as (select 1 union all select i + 1 from n where i < 1000) \
             select 'default', 'gone' || i || '.example', 'mw1', 9000000000000, 1, false from n",
        ).await;
        let domain = shop.add(DOMAIN).await;
        shop.publish(&domain);
        shop.check(&domain).await;
        let waits = shop.app.eventually("it waits", async || {
            let identity = shop.listed(&domain).await["identities"][0].clone();
            identity["error"].is_string().then_some(identity)
        }).await;
        assert_eq!((&waits["status"], &waits["signedWith"]), (&json!("pending"), &json!(null)));
        assert_eq!(waits["errorKind"], "removals_wait");
        assert!(text(&waits["error"]).starts_with("The domain waits to be registered: 1000 or more domains that were removed here"), "{waits}");
        assert!(shop.ses.asked(DOMAIN).is_empty());

        shop.app.tamper("delete from ses_identities where name = 'gone7.example'").await;
        shop.check(&domain).await;
        shop.until(&domain, "pending", Some("own_key")).await;
    }
}

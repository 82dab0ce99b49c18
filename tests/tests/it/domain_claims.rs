//! Which domains cannot be added: those of providers, public suffixes, and what is near a domain of a disabled project.

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::{App, Engine, OWNER, Project, Response, both_engines, one_engine};
use mailwright_tests::browser::Browser;
use mailwright_tests::{as_project, issue, items, shown, text};
use serde_json::{Value, json};

async fn add(app: &App, domain: &str) -> Response {
    app.post("/domains").json(&json!({"domain": domain})).send().await
}

async fn add_to(app: &App, project: &Project, domain: &str) -> Value {
    let added = as_project(app, project, "POST", "/domains").json(&json!({"domain": domain})).send().await;
    added.assert_status(201).json()
}

async fn verify(app: &App, project: &Project, domain: &Value) -> Value {
    let path = format!("/domains/{}/verify", text(&domain["id"]));
    as_project(app, project, "GET", &path).send().await.assert_status(200).json()
}

/// The domain is refused, and not told why.
async fn assert_refused(app: &App, domain: &str) {
    let answer = add(app, domain).await;
    assert_eq!(answer.status, 403, "{domain}: {}", shown(&answer));
    let error = answer.assert_error(403, "FORBIDDEN");
    let told = "This domain cannot be added. If it is yours, ask the operator of this instance to allow it.";
    assert_eq!(
        (&error["message"], &error["details"]),
        (&json!(told), &json!({"reason": "domain_refused"})),
        "{domain}"
    );
}

both_engines! {
    async fn what_is_near_a_domain_of_a_disabled_project_is_refused(engine: Engine) {
        let dns = FakeDns::start().await;
        let app = App::builder(engine).smtp(9).env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string()).start().await;
        // the operator vouches for this one
        let other = app.bootstrap("Rockets", "rockets.test").await;
        let proved = add_to(&app, &other, "starship.example").await;
        let key = &items(&proved["records"])[0];
        dns.set_txt(text(&key["name"]), [text(&key["value"])]);
        assert_eq!(verify(&app, &other, &proved).await["verified"], true);
        add_to(&app, &other, "claimed.example").await;
        add(&app, "mail.rockets.test").await.assert_status(201);

        app.run(&["project", "disable", &other.id]).await;
        // the record is gone, and who proved a domain is known all the same
        dns.remove(text(&key["name"]));
        assert_eq!(verify(&app, &other, &proved).await["verified"], false);
        for domain in [
            "rockets.test",
            "news.rockets.test",
            "r0ckets.test",
            "rocket.test",
            "rokcets.test",
            "rоckets.test",
            "xn--rckets-wqf.test",
            "starship.example",
            "a.b.starship.example",
            "starsh1p.example",
        ] {
            assert_refused(&app, domain).await;
        }
        assert!(app.log().contains("a domain was refused that is near one of a disabled project"), "{}", app.log());
        // what a project only said to be its own keeps nobody out
        for domain in ["claimed.example", "rocketships.test", "rockets.example", "ship.example"] {
            let answer = add(&app, domain).await;
            assert_eq!(answer.status, 201, "{domain}: {}", shown(&answer));
        }

        app.run(&["project", "enable", &other.id]).await;
        for domain in ["news.rockets.test", "starship.example"] {
            add(&app, domain).await.assert_status(201);
        }
    }

    async fn a_reset_keeps_what_was_proved(engine: Engine) {
        let dns = FakeDns::start().await;
        let app = App::builder(engine).smtp(9).env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string()).start().await;
        let other = app.bootstrap("Rockets", "rockets.test").await;
        let proved = add_to(&app, &other, "starship.example").await;
        let key = &items(&proved["records"])[0];
        dns.set_txt(text(&key["name"]), [text(&key["value"])]);
        verify(&app, &other, &proved).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let path = format!("/users/@me/projects/{}/reset", other.id);
        owner.request(&app, "POST", &path).send().await.assert_status(200);
        app.run(&["project", "disable", &other.id]).await;
        assert_refused(&app, "starship.example").await;
    }
}

both_engines! {
    async fn what_the_operator_allows_is_not_refused(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Rockets", "rockets.test").await;
        app.run(&["project", "disable", &other.id]).await;
        assert_refused(&app, "rocket.test").await;
        assert_eq!(app.run(&["domains", "allowed"]).await, "");

        let said = app.run(&["domains", "allow", "Rocket.test"]).await;
        assert_eq!(said.trim_end(), "Projects may add rocket.test, and names below it, from now on.");
        let said = app.run(&["domains", "allow", "rocket.test"]).await;
        assert_eq!(said.trim_end(), "Projects may add rocket.test, and names below it, already.");
        // a slip of the hand opens no name that many have in common
        for (name, why) in [
            ("gmx.de", "gmx.de is nobody's own: gmx.de is a provider of mailboxes."),
            ("news.gmx.de", "news.gmx.de is nobody's own: gmx.de is a provider of mailboxes."),
            ("co.uk", "co.uk is nobody's own: everybody can register names below co.uk."),
        ] {
            let refused = app.try_run(&["domains", "allow", name]).await;
            let said = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert!(!refused.status.success() && said.contains(why) && said.contains("--even-so"), "{refused:?}");
        }
        app.run(&["domains", "allow", "gmx.de", "--even-so"]).await;
        let listed = app.run(&["domains", "allowed"]).await;
        let names: Vec<_> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(names, ["gmx.de", "rocket.test"]);
        for domain in ["rocket.test", "news.rocket.test", "gmx.de"] {
            let answer = add(&app, domain).await;
            assert_eq!(answer.status, 201, "{domain}: {}", shown(&answer));
        }
        for domain in ["rockets.test", "r0cket.test"] {
            assert_refused(&app, domain).await;
        }

        let said = app.run(&["domains", "disallow", "rocket.test"]).await;
        assert_eq!(said.trim_end(), "rocket.test is not allowed any more. Domains that were added stay.");
        assert_refused(&app, "mail.rocket.test").await;
        let again = app.try_run(&["domains", "disallow", "rocket.test"]).await;
        assert!(!again.status.success());
        assert!(String::from_utf8_lossy(&again.stderr).contains("rocket.test was not allowed"), "{again:?}");
    }
}

both_engines! {
    async fn the_operator_allows_so_many_domains_and_no_more(engine: Engine) {
        let app = App::start(engine).await;
        app.run(&["domains", "allow", "shop.example"]).await;
        app.tamper(
            "insert into allowed_domains (name, created_at) \
             with recursive n(i) as (select 1 union all select i + 1 from n where i < 9999) \
             select 'n' || i || '.example', 0 from n",
        )
        .await;
        let refused = app.try_run(&["domains", "allow", "other.example"]).await;
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains("10000 domains can be allowed"), "{refused:?}");
        let said = app.run(&["domains", "allow", "shop.example"]).await;
        assert_eq!(said.trim_end(), "Projects may add shop.example, and names below it, already.");
        let listed = app.run(&["domains", "allowed"]).await;
        assert_eq!(listed.lines().count(), 10_000);
        app.run(&["domains", "disallow", "n1.example"]).await;
        app.run(&["domains", "allow", "other.example"]).await;
    }
}

one_engine! {
    async fn domains_that_are_nobodys_own_are_refused(engine: Engine) {
        let app = App::start(engine).await;
        for (domain, code, why) in [
            ("gmail.com", "mailbox_provider", "gmail.com is a provider of mailboxes"),
            ("Outlook.com", "mailbox_provider", "outlook.com is a provider of mailboxes"),
            ("news.gmx.de", "mailbox_provider", "gmx.de is a provider of mailboxes"),
            ("mailbox.org", "mailbox_provider", "mailbox.org is a provider of mailboxes"),
            ("duck.com", "mailbox_provider", "duck.com is a provider of mailboxes"),
            ("co.uk", "public_suffix", "Everybody can register names below co.uk."),
            ("com.br", "public_suffix", "Everybody can register names below com.br."),
        ] {
            let issue = issue(&add(&app, domain).await, "domain");
            assert!(text(&issue["message"]).starts_with(why) && issue["code"] == code, "{domain}: {issue}");
        }
        add(&app, "shop.co.uk").await.assert_status(201);
        // others have names below it
        let refused = app.try_run(&["domains", "allow", "github.io"]).await;
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains("the names below github.io are those of others"), "{said}");
        app.run(&["domains", "allow", "github.io", "--even-so"]).await;
        // the operator may know better
        let made = app.bootstrap("Provider", "mail.com").await;
        assert_eq!(made.from, "hello@mail.com");
    }
}

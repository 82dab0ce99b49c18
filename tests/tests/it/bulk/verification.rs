//! Verifying many addresses: a segment, a file, an import.

use std::time::Duration;

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::{App, AppBuilder, Engine, Value, both_engines, json};
use mailwright_tests::{
    as_project, assert_keys, column, contact_by_email, create_contact, items, read, text,
};

use super::{counts, csv_part, finished, import_path, part, queued, upload, with_form};

const DAY: Duration = Duration::from_hours(24);

/// A name server that knows `shop.test`, and `nomail.test` whose domain takes no mail.
async fn name_server() -> FakeDns {
    let dns = FakeDns::start().await;
    dns.set_mx("shop.test", [(10, "mx.shop.test")]);
    dns.set_a("shop.test", ["192.0.2.1".parse().expect("an address")]);
    dns.set_mx("nomail.test", [(0, ".")]);
    dns
}

fn builder(engine: Engine, dns: &FakeDns) -> AppBuilder {
    App::builder(engine).env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string())
}

/// Asks for the verification of a file; the id of the job.
async fn verify_file(app: &App, csv: &str) -> String {
    let answer = with_form(app.post("/v1/verify/file"), &[csv_part(csv.as_bytes())]).send().await;
    let answer = answer.assert_status(202).json();
    assert_eq!(answer["success"], true);
    assert_keys(&answer["data"], &["message", "jobId"]);
    text(&answer["data"]["jobId"]).to_owned()
}

/// The result of a job, once it is done.
async fn verified(app: &App, job: &str) -> Value {
    let path = format!("/v1/verify/jobs/{job}");
    let done = app.eventually_within(Duration::from_mins(2), "the job is finished", async || {
        let status = read(app, &path).await["data"].clone();
        (status["state"] == "completed").then_some(status)
    });
    let status = done.await;
    assert_eq!((&status["id"], &status["progress"]), (&json!(job), &json!(100)));
    status["result"].clone()
}

/// What a job found out, by pages of so many.
async fn results(app: &App, job: &str, query: &str) -> Vec<Value> {
    let path = format!("/v1/verify/jobs/{job}/results?{query}");
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = read(app, &format!("{path}&cursor={cursor}")).await["data"].clone();
        assert_keys(&page, &["results", "cursor", "hasMore"]);
        all.extend_from_slice(items(&page["results"]));
        let Some(next) = page["cursor"].as_str() else { return all };
        assert_eq!(page["hasMore"], true);
        next.clone_into(&mut cursor);
    }
}

fn emails(results: &[Value]) -> Vec<String> {
    column(&json!(results), "email").into_iter().map(str::to_owned).collect()
}

both_engines! {
    async fn a_file_is_verified_row_by_row(engine: Engine) {
        let dns = name_server().await;
        let app = builder(engine, &dns).start().await;
        let csv = "name,Email\nAda,Ada@Shop.test\nBob,bob@nomail.test\nCid,no address\n,\nDan,\n\
                   Eve,eve@mailinator.com\nFay,fay@gmial.com\nGil,info@shop.test\nAda,Ada@Shop.test\n";
        let job = verify_file(&app, csv).await;
        let result = verified(&app, &job).await;
        assert_eq!(result["total"], 7);
        assert_eq!((&result["validCount"], &result["invalidCount"]), (&json!(3), &json!(4)), "{result}");
        assert_eq!((&result["typoCount"], &result["roleCount"]), (&json!(1), &json!(1)), "{result}");
        assert_eq!(result["failureCount"], 1);
        assert_eq!(result["errors"], json!([{"row": 6, "email": "", "error": "The row has no email address."}]));

        let all = results(&app, &job, "limit=2").await;
        let given = ["Ada@Shop.test", "bob@nomail.test", "no address", "eve@mailinator.com", "fay@gmial.com", "info@shop.test", "Ada@Shop.test"];
        assert_eq!(emails(&all), given);
        let one = app.post("/v1/verify").json(&json!({"email": "Ada@Shop.test"})).send().await.assert_status(200);
        assert_eq!(all[0], one.json()["data"], "a result is what one address gives");
        assert_eq!(all[4]["didYouMean"], "fay@gmail.com");
        assert!(text(&all[2]["reasons"][0]).starts_with("The address is malformed"), "{}", all[2]);
        let invalid = results(&app, &job, "valid=false&limit=3").await;
        assert_eq!(emails(&invalid), given[1..5]);
        assert_eq!(emails(&results(&app, &job, "valid=true").await).len(), 3);

        let export = app.get(&format!("/v1/verify/jobs/{job}/export")).send().await.assert_status(200);
        assert!(export.headers.get("content-type").is_some_and(|kind| kind.starts_with("text/csv")));
        let lines = export.text();
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines.len(), 8, "{lines:?}");
        assert!(lines[0].starts_with("email,valid,isDisposable,"), "{}", lines[0]);
        assert!(lines[1].starts_with("Ada@Shop.test,true,false,"), "{}", lines[1]);
        assert!(lines[5].contains(",fay@gmail.com,"), "{}", lines[5]);

        let other = app.bootstrap("Other", "other.test").await;
        for path in ["", "/results", "/export"] {
            let path = format!("/v1/verify/jobs/{job}{path}");
            as_project(&app, &other, "GET", &path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        }
        app.get("/v1/verify/jobs/x/results").send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        app.get(&format!("/v1/verify/jobs/{job}/results?cursor=x")).send().await.assert_error(400, "BAD_REQUEST");
    }

    async fn the_members_of_a_segment_are_verified(engine: Engine) {
        let dns = name_server().await;
        let app = builder(engine, &dns).start().await;
        for (email, plan) in [("ada@shop.test", "pro"), ("bob@nomail.test", "pro"), ("cid@shop.test", "free")] {
            create_contact(&app, email, true, json!({"plan": plan})).await;
        }
        let condition = json!({"logic": "AND", "groups": [{"filters": [
            {"field": "data.plan", "operator": "equals", "value": "pro"}]}]});
        let segment = app.post("/segments").json(&json!({"name": "Pro", "condition": condition})).send().await;
        let segment = segment.assert_status(201).json();
        let asked = app.post("/v1/verify/segment").json(&json!({"segmentId": segment["id"]})).send().await;
        let job = text(&asked.assert_status(202).json()["data"]["jobId"]).to_owned();
        let result = verified(&app, &job).await;
        assert_eq!((&result["total"], &result["validCount"]), (&json!(2), &json!(1)), "{result}");
        assert_eq!(emails(&results(&app, &job, "limit=1").await), ["ada@shop.test", "bob@nomail.test"]);
    }

    async fn a_killed_process_loses_no_row_and_doubles_none(engine: Engine) {
        let dns = name_server().await;
        let mut app = builder(engine, &dns).env("MAILWRIGHT_JOBS_LEASE_MS", "1000").start().await;
        let rows: Vec<String> = (0..1_200).map(|number| format!("c{number}@d{}.test", number % 70)).collect();
        dns.set_all_silent(true);
        let job = verify_file(&app, &format!("email\n{}\n", rows.join("\n"))).await;
        app.eventually("questions", async || (dns.queries_for("d0.test") > 0).then_some(())).await;
        app.kill();
        dns.set_all_silent(false);
        app.restart().await;
        assert_eq!(verified(&app, &job).await["total"], 1_200);
        assert_eq!(emails(&results(&app, &job, "limit=1000").await), rows);
    }

    async fn a_name_server_that_is_away_holds_up_nobody_else_and_refuses_nobody(engine: Engine) {
        let dns = name_server().await;
        let app = builder(engine, &dns).env("MAILWRIGHT_JOBS_AT_ONCE", "1").start().await;
        let other = app.bootstrap("Other", "other.test").await;
        let rows: Vec<String> = (0..70).map(|number| format!("c@silent{number}.test")).collect();
        dns.set_all_silent(true);
        let job = verify_file(&app, &format!("email\n{}\n", rows.join("\n"))).await;
        app.eventually("questions", async || (dns.queries_for("silent0.test") > 0).then_some(())).await;
        let import = with_form(as_project(&app, &other, "POST", "/contacts/import"), &[csv_part(b"email\nada@shop.test\n")]);
        let import = import_path(&queued(&import.send().await));
        app.eventually("the import of another project", async || {
            let status = as_project(&app, &other, "GET", &import).send().await.assert_status(200).json();
            (status["state"] == "completed").then_some(())
        })
        .await;
        let status = read(&app, &format!("/v1/verify/jobs/{job}")).await["data"].clone();
        assert_eq!(status["state"], "active", "it was finished before: {status}");
        let result = verified(&app, &job).await;
        assert_eq!((&result["total"], &result["validCount"]), (&json!(70), &json!(70)), "{result}");
        for found in results(&app, &job, "limit=100").await {
            assert!(text(&found["reasons"][0]).ends_with("is unknown."), "{found}");
        }
    }

    async fn results_are_kept_for_a_time_and_of_the_newest_jobs(engine: Engine) {
        let dns = name_server().await;
        let app = builder(engine, &dns).start().await;
        let mut jobs = Vec::new();
        for number in 0..11 {
            let job = verify_file(&app, &format!("email\nc{number}@shop.test\n")).await;
            verified(&app, &job).await;
            jobs.push(job);
        }
        app.advance(Duration::from_mins(2)).await;
        app.eventually("the oldest results are gone", async || {
            results(&app, &jobs[0], "limit=1").await.is_empty().then_some(())
        })
        .await;
        assert_eq!(results(&app, &jobs[1], "limit=1").await.len(), 1);
        app.advance(31 * DAY).await;
        app.eventually("all results are gone", async || {
            app.rows().await["verification_results"].is_empty().then_some(())
        })
        .await;
        assert_eq!(results(&app, &jobs[10], "limit=1").await, Vec::<Value>::new());
    }

    async fn an_import_leaves_out_addresses_that_cannot_receive_mail(engine: Engine) {
        let dns = name_server().await;
        let app = builder(engine, &dns).start().await;
        let csv = "email,plan\nada@shop.test,pro\nbob@nomail.test,pro\nbroken,pro\ncid@nowhere.test,pro\n";
        let verify = |value: &str| {
            let option = part("Content-Disposition: form-data; name=\"verify\"", value.as_bytes());
            with_form(app.post("/contacts/import"), &[csv_part(csv.as_bytes()), option]).send()
        };
        let job = queued(&verify("true").await);
        let result = finished(&app, &import_path(&job)).await["result"].clone();
        assert_eq!(counts(&result), [4, 1, 0, 3]);
        let errors = items(&result["errors"]);
        assert_eq!(errors.iter().map(|error| error["row"].as_i64()).collect::<Vec<_>>(), [Some(3), Some(4), Some(5)]);
        let is_told = |at: usize, why: &str| assert!(text(&errors[at]["error"]).starts_with(why), "{errors:?}");
        is_told(0, "The domain nomail.test cannot receive mail.");
        is_told(1, "This is not an email address.");
        is_told(2, "The domain nowhere.test does not exist.");
        assert!(contact_by_email(&app, "bob@nomail.test").await.is_none());
        verify("maybe").await.assert_error(400, "BAD_REQUEST");

        let plain = finished(&app, &import_path(&queued(&upload(&app, csv).await))).await["result"].clone();
        assert_eq!(counts(&plain), [4, 2, 1, 1], "without the option they are taken");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("people.csv");
        std::fs::write(&path, "email\ndan@shop.test\nfay@nomail.test\n").expect("a file");
        let file = path.to_str().expect("UTF-8");
        let done = app.try_run(&["import", "--project", app.project_id(), "--verify", file]).await;
        assert_eq!(done.status.code(), Some(2));
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(told.contains("line 3: fay@nomail.test: The domain nomail.test cannot receive mail."), "{told}");
        assert!(contact_by_email(&app, "dan@shop.test").await.is_some());
    }
}

//! The guided way of an import: a look at the file, a mapping of its columns, the list of imports, and its failures.

use mailwright_testkit::{App, Engine, Response, both_engines};
use mailwright_tests::{UNKNOWN_ID, as_project, column, contact_by_email, create_contact, items, read, text};
use serde_json::{Value, json};

use super::{counts, csv_part, finished, import_path, imported, part, queued, total, upload, with_form};

async fn preview(app: &App, csv: &str, mapping: Option<&Value>) -> Response {
    form(app, "/contacts/import/preview", csv, mapping).await
}

async fn form(app: &App, path: &str, csv: &str, mapping: Option<&Value>) -> Response {
    let mut parts = vec![csv_part(csv.as_bytes())];
    if let Some(mapping) = mapping {
        let text = mapping.as_str().map_or_else(|| mapping.to_string(), str::to_owned);
        parts.push(part("Content-Disposition: form-data; name=\"mapping\"", text.as_bytes()));
    }
    with_form(app.post(path), &parts).send().await
}

async fn seen(app: &App, csv: &str, mapping: Option<&Value>) -> Value {
    preview(app, csv, mapping).await.assert_status(200).json()
}

both_engines! {
    async fn a_look_says_what_an_import_would_make_of_a_file(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"plan": "free"})).await;
        let csv = "email,Plan,Age,Member,Born,id,Subscribed,Empty\n\
            ann@example.com,pro,41,true,1983-01-31,7,yes,\n\
            bob@example.com,free,12,false,1990-02-01,8,,\n\
            nope,pro,x,,,9,no,\n\
            \n\
            carl@example.com,pro,,,,,maybe,\n";
        let seen = seen(&app, csv, None).await;
        assert_eq!(column(&seen["columns"], "name"), ["email", "Plan", "Age", "Member", "Born", "id", "Subscribed", "Empty"]);
        let fields: Vec<_> = items(&seen["columns"]).iter().map(|column| column["field"].clone()).collect();
        assert_eq!(json!(fields), json!(["email", "plan", "age", "member", "born", null, "subscribed", "empty"]));
        let types: Vec<_> = items(&seen["columns"]).iter().map(|column| column["type"].clone()).collect();
        assert_eq!(json!(types), json!(["string", "string", "string", "boolean", "date", "number", "string", null]));
        assert_eq!(seen["columns"][1]["samples"], json!(["pro", "free"]));
        assert_eq!(seen["columns"][5]["samples"], json!(["7", "8", "9"]));
        assert_eq!(seen["problem"], Value::Null);
        let ann = json!({"row": 2, "email": "ann@example.com", "subscribed": true,
            "data": {"plan": "pro", "age": 41, "member": true, "born": "1983-01-31"}});
        assert_eq!(seen["rows"][0], ann);
        assert_eq!(seen["rows"][1]["subscribed"], Value::Null);
        assert_eq!((items(&seen["rows"]).len(), &seen["totalRows"], &seen["failureCount"]), (2, &json!(4), &json!(2)));
        assert_eq!(seen["errors"][0], json!({"row": 4, "email": "nope", "error": "This is not an email address."}));
        assert_eq!(seen["willCreateFields"], json!(["age", "born", "member"]), "plan is known, empty has no value");
        assert_eq!(total(&app).await, 1, "nothing is imported");
        assert_eq!(read(&app, "/contacts/import").await, json!({"data": []}));

        // and it becomes that
        let result = imported(&app, csv).await;
        assert_eq!(counts(&result), [4, 1, 1, 2]);
        assert_eq!(contact_by_email(&app, "ann@example.com").await.expect("ann")["data"], ann["data"]);
    }

    async fn a_column_of_addresses_is_guessed(engine: Engine) {
        let app = App::start(engine).await;
        for (csv, guessed) in [
            ("Name,E-Mail\nAnn,ann@example.com\n", 1),
            ("mail sent,Contact\nyes,ann@example.com\nno,bob@example.com\n", 1),
            ("e_mail,other\n,bob@example.com\n", 0),
        ] {
            let seen = seen(&app, csv, None).await;
            assert_eq!(seen["columns"][guessed]["field"], "email", "{seen}");
            assert_eq!(seen["problem"], Value::Null);
        }
        let without = seen(&app, "name,city\nAnn,Oslo\nBob,Rome\n", None).await;
        assert!(text(&without["problem"]).contains("no column named email"), "{without}");
        assert_eq!((&without["rows"], &without["totalRows"]), (&json!([]), &json!(2)));
        let twice = seen(&app, "email,Email\na@example.com,b@example.com\n", None).await;
        assert!(text(&twice["problem"]).contains("more than one"), "{twice}");
        for unreadable in ["", "email\n", "email\n\n \n"] {
            preview(&app, unreadable, None).await.assert_error(400, "BAD_REQUEST");
        }
        let latin = with_form(app.post("/contacts/import/preview"), &[csv_part(b"email\n\xe9@example.com\n")]);
        let refused = latin.send().await.assert_error(400, "BAD_REQUEST");
        assert!(text(&refused["message"]).contains("line 2"), "{refused}");
        with_form(app.post("/contacts/import/preview"), &[]).send().await.assert_error(400, "BAD_REQUEST");
    }

    async fn a_mapping_says_what_columns_are_for(engine: Engine) {
        let app = App::start(engine).await;
        let csv = "Contact,Opt in,First Name,Notes,city,email\n\
            Ann@Example.com,yes,Ann,secret,Oslo,ann@old.example\n\
            bob@example.com,no,Bob,,Rome,\n\
            nope,no,,,,\n";
        let mapping = json!({"contact": "email", " OPT IN ": "subscribed", "First Name": "firstName",
            "Notes": null, "email": "formerEmail"});
        let seen = seen(&app, csv, Some(&mapping)).await;
        let fields: Vec<_> = items(&seen["columns"]).iter().map(|column| column["field"].clone()).collect();
        assert_eq!(json!(fields), json!(["email", "subscribed", "firstName", null, "city", "formerEmail"]));
        let job = queued(&form(&app, "/contacts/import", csv, Some(&mapping)).await);
        let status = finished(&app, &import_path(&job)).await;
        assert_eq!(counts(&status["result"]), [3, 2, 0, 1]);
        assert_eq!(status["result"]["errors"][0]["row"], 4, "the mapping is no line of the file");
        for (row, email, subscribed) in [(0, "ann@example.com", true), (1, "bob@example.com", false)] {
            let contact = contact_by_email(&app, email).await.expect("a contact");
            assert_eq!(contact["data"], seen["rows"][row]["data"]);
            assert_eq!(contact["subscribed"], subscribed);
        }
        let ann = contact_by_email(&app, "ann@example.com").await.expect("ann");
        assert_eq!(ann["data"], json!({"firstName": "Ann", "city": "Oslo", "formerEmail": "ann@old.example"}));
        // what says nothing changes nothing
        for nothing in [json!({}), json!("")] {
            let job = queued(&form(&app, "/contacts/import", "email\nc@example.com\n", Some(&nothing)).await);
            assert_eq!(finished(&app, &import_path(&job)).await["state"], "completed");
        }
        // a file that cannot be read fails as it does without
        let job = queued(&form(&app, "/contacts/import", "", Some(&mapping)).await);
        assert_eq!(finished(&app, &import_path(&job)).await["state"], "failed");
    }

    async fn every_fault_of_a_mapping_is_named(engine: Engine) {
        let app = App::start(engine).await;
        let csv = "email,plan,mail,name\nann@example.com,pro,a,b\n";
        for (mapping, fields) in [
            (json!("{"), vec!["mapping"]),
            (json!([]), vec!["mapping"]),
            (json!({"plan": 5, "name": "  ", "mail": "id"}), vec!["mapping.mail", "mapping.name", "mapping.plan"]),
            (json!({"plan": "x".repeat(1001)}), vec!["mapping.plan"]),
            (json!({"plan": "p", "PLAN": "q"}), vec!["mapping.plan"]),
            (json!({"colour": "colour", "town": null}), vec!["mapping.colour", "mapping.town"]),
            (json!({"mail": "email"}), vec!["mapping"]),
            (json!({"email": null}), vec!["mapping"]),
            (json!({"plan": "subscribed", "name": "subscribed"}), vec!["mapping"]),
            (json!({"plan": "x".repeat(65_536)}), vec!["mapping"]),
        ] {
            for path in ["/contacts/import", "/contacts/import/preview"] {
                let refused = form(&app, path, csv, Some(&mapping)).await.assert_error(422, "VALIDATION_ERROR");
                let mut named = column(&refused["errors"], "field");
                named.sort_unstable();
                assert_eq!(named, fields, "{path}: {refused}");
            }
        }
        assert_eq!(read(&app, "/contacts/import").await, json!({"data": []}), "nothing is queued");
    }

    async fn imports_are_listed_and_their_failures_downloaded(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let first = queued(&upload(&app, "email\na@example.com\n").await);
        finished(&app, &import_path(&first)).await;
        let csv = "email,subscribed\nb@example.com,\n=1+1,\n\"no, \"\"one\"\"\",\nc@example.com,maybe\n";
        let second = queued(&upload(&app, csv).await);
        finished(&app, &import_path(&second)).await;
        let broken = queued(&upload(&app, "name\nAnn\n").await);
        finished(&app, &import_path(&broken)).await;
        let listed = read(&app, "/contacts/import").await["data"].clone();
        assert_eq!(column(&listed, "id"), [&broken[..], &second, &first]);
        assert_eq!(column(&listed, "state"), ["failed", "completed", "completed"]);
        assert!(text(&listed[0]["failedReason"]).contains("no column named email"));
        let wanted = json!({"totalRows": 4, "successCount": 1, "createdCount": 1, "updatedCount": 0, "failureCount": 3});
        assert_eq!(listed[1]["counts"], wanted);
        assert!(text(&listed[1]["finishedAt"]) >= text(&listed[1]["createdAt"]));
        assert_eq!(listed[1]["progress"], 100);
        let theirs = as_project(&app, &other, "GET", "/contacts/import").send().await.assert_status(200).json();
        assert_eq!(theirs, json!({"data": []}));

        let path = format!("{}/errors", import_path(&second));
        let file = app.get(&path).send().await.assert_status(200);
        assert!(file.headers.get("content-type").is_some_and(|kind| kind.starts_with("text/csv")));
        assert!(file.headers.get("content-disposition").is_some_and(|at| at.contains("attachment")));
        let text = file.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert_eq!(lines[0], "row,email,error");
        assert_eq!(lines[1], "3,'=1+1,This is not an email address.");
        assert_eq!(lines[2], "4,\"no, \"\"one\"\"\",This is not an email address.");
        assert!(lines[3].starts_with("5,c@example.com,"), "{text}");
        let empty = app.get(&format!("{}/errors", import_path(&first))).send().await.assert_status(200).text();
        assert_eq!(empty.trim(), "row,email,error");
        as_project(&app, &other, "GET", &path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        for unknown in [UNKNOWN_ID, "nonsense"] {
            let path = format!("{}/errors", import_path(unknown));
            app.get(&path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        }
    }
}

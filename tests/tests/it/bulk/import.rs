//! What an import makes of a file's rows.

use std::fmt::Write as _;

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{
    as_project, column, contact, contact_by_email, create_contact, items, read, subscription_events, text,
};
use serde_json::{Value, json};

use super::{counts, finished, import_path, imported, queued, refused, total, upload};

async fn data_of(app: &App, email: &str) -> Value {
    contact_by_email(app, email).await.unwrap_or_else(|| panic!("no contact {email}"))["data"].clone()
}

both_engines! {
    async fn rows_create_and_update_contacts(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let data = json!({"plan": "free", "city": "Oslo"});
        let known = create_contact(&app, "ann@example.com", false, data).await;
        let csv = "First Name,EMAIL, Plan ,score\nAnn, Ann@Example.com ,pro,7\nBob,bob@example.com,,\n";
        let result = imported(&app, csv).await;
        assert_eq!((counts(&result), &result["errors"]), ([2, 1, 1, 0], &json!([])));

        let ann = contact(&app, &known["id"]).await;
        assert_eq!(ann["data"], json!({"plan": "pro", "city": "Oslo", "first name": "Ann", "score": 7}));
        assert_eq!(ann["subscribed"], false, "without a column the state is kept");
        assert_eq!((&ann["createdAt"], &ann["id"]), (&known["createdAt"], &known["id"]));
        let bob = contact_by_email(&app, "bob@example.com").await.expect("bob");
        assert_eq!(bob["data"], json!({"first name": "Bob"}), "blank cells are ignored");
        assert_eq!(bob["subscribed"], true, "new contacts are subscribed");
        assert!(subscription_events(&app, &bob["id"]).await.is_empty());
        assert_eq!(total(&app).await, 2);

        let fields = read(&app, "/contacts/fields").await;
        let names = column(&fields["fields"], "field");
        for name in ["data.first name", "data.plan", "data.score"] {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
        let theirs = as_project(&app, &other, "GET", "/contacts").send().await.assert_status(200).json();
        assert_eq!(theirs["total"], 0);

        // the same again changes nothing
        assert_eq!(counts(&imported(&app, csv).await), [2, 0, 2, 0]);
        assert_eq!(contact(&app, &known["id"]).await, ann);
    }

    async fn the_subscription_follows_its_column(engine: Engine) {
        let app = App::start(engine).await;
        let mut csv = String::from("email,Subscribed\n");
        let rows = [
            ("true", false, true), ("TRUE", false, true), ("1", false, true), ("yes", false, true),
            ("Yes", true, true), ("false", true, false), ("no", true, false), ("0", true, false),
            ("Y", false, true), ("", true, true), ("", false, false), ("  ", false, false),
            ("false", false, false),
        ];
        let mut known = Vec::new();
        for (position, (cell, before, _)) in rows.iter().enumerate() {
            let email = format!("known{position}@example.com");
            known.push(create_contact(&app, &email, *before, json!({})).await);
            writeln!(csv, "{email},{cell}").expect("a string");
            writeln!(csv, "new{position}@example.com,{cell}").expect("a string");
        }
        assert_eq!(counts(&imported(&app, &csv).await), [26, 13, 13, 0]);
        for (position, (cell, before, after)) in rows.into_iter().enumerate() {
            let now = contact(&app, &known[position]["id"]).await;
            assert_eq!(now["subscribed"], after, "{cell:?} on {before}");
            let events = subscription_events(&app, &now["id"]).await;
            let flip = if after { "contact.subscribed" } else { "contact.unsubscribed" };
            assert_eq!(events, if before == after { vec![] } else { vec![flip] }, "{cell:?} on {before}");
            let new = contact_by_email(&app, &format!("new{position}@example.com")).await.expect("a contact");
            let expected = cell.trim().is_empty() || after;
            assert_eq!(new["subscribed"], expected, "{cell:?} on a new contact");
            assert!(subscription_events(&app, &new["id"]).await.is_empty(), "creation is no flip");
        }
        assert_eq!(read(&app, "/contacts?subscribed=true&limit=1").await["total"], 16);
    }

    async fn what_the_subscription_is_must_be_said_clearly(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({})).await;
        let csv = "email,subscribed,plan\nann@example.com,maybe,pro\nbob@example.com,on,x\ncarl@example.com,Unsubscribed,x\n";
        let result = imported(&app, csv).await;
        assert_eq!(counts(&result), [3, 2, 0, 1]);
        let error = &result["errors"][0];
        assert_eq!((&error["row"], &error["email"]), (&json!(2), &json!("ann@example.com")));
        for word in ["true", "yes", "on", "unsubscribed"] {
            assert!(text(&error["error"]).contains(word), "{error}");
        }
        let ann = contact_by_email(&app, "ann@example.com").await.expect("ann");
        assert_eq!((&ann["subscribed"], &ann["data"]), (&json!(true), &json!({})), "left as it was");
        let subscribed = async |email: &str| contact_by_email(&app, email).await.expect("a contact")["subscribed"].clone();
        assert_eq!(subscribed("bob@example.com").await, true);
        assert_eq!(subscribed("carl@example.com").await, false);
    }

    async fn a_stray_quotation_mark_costs_its_own_row(engine: Engine) {
        let app = App::start(engine).await;
        let mut csv = String::from("email,name\nann@example.com,\"oops\nbob@example.com,Bob\n\"carl@example.com\",\"Carl, jr\"\n");
        for number in 0..700 {
            writeln!(csv, "c{number}@example.com,x").expect("a string");
        }
        csv.push_str("dora@example.com,\"two\nlines\"\neve@example.com,\"oops\nfay@example.com,Fay");
        let result = imported(&app, &csv).await;
        assert_eq!(counts(&result), [706, 704, 0, 2]);
        let errors = items(&result["errors"]);
        let lines: Vec<_> = errors.iter().map(|error| error["row"].as_u64().expect("a number")).collect();
        assert_eq!(lines, [2, 707]);
        for (error, line) in errors.iter().zip(lines) {
            assert!(text(&error["error"]).contains(&format!("on line {line} is not closed")), "{error}");
        }
        assert_eq!(data_of(&app, "bob@example.com").await, json!({"name": "Bob"}));
        assert_eq!(data_of(&app, "carl@example.com").await, json!({"name": "Carl, jr"}));
        assert_eq!(data_of(&app, "dora@example.com").await, json!({"name": "two\nlines"}));
        assert_eq!(data_of(&app, "fay@example.com").await, json!({"name": "Fay"}));
        assert!(contact_by_email(&app, "ann@example.com").await.is_none());
    }

    async fn rows_that_do_not_fit_fail_with_their_line(engine: Engine) {
        let app = App::start(engine).await;
        // 990 fields of the 1,000 that a project has, and a contact that is nearly full
        for from in [0, 495] {
            let data: serde_json::Map<_, _> = (from..from + 495).map(|number| (format!("f{number}"), json!(1))).collect();
            create_contact(&app, &format!("c{from}@example.com"), true, Value::Object(data)).await;
        }
        create_contact(&app, "full@example.com", true, json!({"f0": "x".repeat(250 * 1024)})).await;
        let names: Vec<_> = (0..20).map(|number| format!("new{number}")).collect();
        let mut csv = format!("email,f1,{}\n", names.join(","));
        writeln!(csv, "some@example.com,1,{}", ["y"; 8].join(",")).expect("a string");
        writeln!(csv, "many@example.com,1,{}", ["y"; 20].join(",")).expect("a string");
        writeln!(csv, "full@example.com,{}", "x".repeat(10_000)).expect("a string");
        csv.push_str("known@example.com,1\n");
        let result = imported(&app, &csv).await;
        assert_eq!(counts(&result), [4, 2, 0, 2]);
        let errors = items(&result["errors"]);
        let found: Vec<_> = errors.iter().map(|e| (e["row"].as_u64().expect("a number"), text(&e["email"]))).collect();
        assert_eq!(found, [(3, "many@example.com"), (4, "full@example.com")]);
        assert!(text(&errors[0]["error"]).contains("1000 custom fields"), "{}", errors[0]);
        assert!(text(&errors[1]["error"]).contains("256 KB"), "{}", errors[1]);
    }

    async fn the_last_row_of_an_address_wins(engine: Engine) {
        let app = App::start(engine).await;
        let csv = "email,subscribed,plan,city\n\
            ann@example.com,true,free,Oslo\nbob@example.com,,x,\nANN@example.com,false,pro,\n ann@example.com,,max,\n";
        assert_eq!(counts(&imported(&app, csv).await), [4, 2, 2, 0]);
        let ann = contact_by_email(&app, "ann@example.com").await.expect("ann");
        assert_eq!(ann["data"], json!({"plan": "max", "city": "Oslo"}));
        assert_eq!(ann["subscribed"], false);
        assert_eq!(subscription_events(&app, &ann["id"]).await, ["contact.unsubscribed"]);

        // also over chunks: the first and the last of many rows are about the same contact
        let mut csv = String::from("email,plan\nann@example.com,first\n");
        for number in 0..1500 {
            writeln!(csv, "c{number}@example.com,x").expect("a string");
        }
        csv.push_str("ann@example.com,last\n");
        assert_eq!(counts(&imported(&app, &csv).await), [1502, 1500, 2, 0]);
        assert_eq!(data_of(&app, "ann@example.com").await["plan"], "last");
        assert_eq!(total(&app).await, 1502);
    }

    async fn rows_that_fail_are_listed(engine: Engine) {
        let app = App::start(engine).await;
        let csv = "name,email\nAnn,ann@example.com\nBob,\n\nCarl,not an address\n\"D\nD\",d@example.com\nEve,eve@\nFay,fay@example.com\n";
        let result = imported(&app, csv).await;
        assert_eq!(counts(&result), [6, 3, 0, 3]);
        let errors = items(&result["errors"]);
        let found: Vec<_> = errors.iter().map(|e| (e["row"].as_u64().expect("a number"), text(&e["email"]))).collect();
        assert_eq!(found, [(3, ""), (5, "not an address"), (8, "eve@")]);
        for error in errors {
            mailwright_tests::assert_only_keys(error, &["row", "email", "error"]);
            assert!(!text(&error["error"]).is_empty());
        }
    }

    async fn the_list_of_failures_is_bounded_and_their_number_exact(engine: Engine) {
        let app = App::start(engine).await;
        let mut csv = String::from("email\n");
        for number in 0..2600 {
            writeln!(csv, "{}", if number % 2 == 0 { format!("bad{number}") } else { format!("c{number}@example.com") })
                .expect("a string");
        }
        let result = imported(&app, &csv).await;
        assert_eq!(counts(&result), [2600, 1300, 0, 1300]);
        let errors = items(&result["errors"]);
        assert_eq!(errors.len(), 1000);
        for (position, error) in errors.iter().enumerate() {
            assert_eq!((&error["row"], &error["email"]), (&json!(2 + 2 * position), &json!(format!("bad{}", 2 * position))));
        }
    }

    async fn cells_get_the_type_they_look_like(engine: Engine) {
        let app = App::start(engine).await;
        let cells = [
            ("42", json!(42)), ("-7", json!(-7)), ("3.25", json!(3.25)), ("0", json!(0)), ("true", json!(true)),
            ("FALSE", json!(false)), ("007", json!("007")), ("+1", json!("+1")), ("1e5", json!("1e5")),
            ("1.50", json!("1.50")), ("12345678901234567890", json!("12345678901234567890")),
            ("+4712345678", json!("+4712345678")), ("yes", json!("yes")), ("null", json!("null")),
            ("2026-01-31", json!("2026-01-31")), ("{\"\"a\"\":1}", json!("{\"a\":1}")), (" padded ", json!("padded")),
            ("NaN", json!("NaN")), ("01/31/2026", json!("01/31/2026")),
        ];
        let names: Vec<String> = (0..cells.len()).map(|n| format!("k{n}")).collect();
        let row: Vec<String> = cells.iter().map(|(cell, _)| format!("\"{cell}\"")).collect();
        imported(&app, format!("email,{},locale\na@example.com,{},1\n", names.join(","), row.join(","))).await;
        let data = data_of(&app, "a@example.com").await;
        for (name, (cell, expected)) in names.iter().zip(cells) {
            assert_eq!(data[name], expected, "{cell}");
        }
        assert_eq!(data["locale"], "1", "the locale is text");
        let fields = read(&app, "/contacts/fields").await;
        let kind = |name: &str| {
            let found = items(&fields["fields"]).iter().find(|field| field["field"] == format!("data.{name}"));
            found.unwrap_or_else(|| panic!("no field {name}"))["type"].clone()
        };
        assert_eq!((kind("k0"), kind("k4"), kind("k6"), kind("k14")), (json!("number"), json!("boolean"), json!("string"), json!("date")));
    }

    async fn reserved_and_nameless_columns_are_ignored(engine: Engine) {
        let app = App::start(engine).await;
        let csv = "id,email,,unsubscribeUrl,SVC_ID,plan\nx,a@example.com,y,z,w,pro\n";
        assert_eq!(counts(&imported(&app, csv).await), [1, 1, 0, 0]);
        assert_eq!(data_of(&app, "a@example.com").await, json!({"plan": "pro"}));
    }

    async fn a_file_that_is_no_list_of_contacts_changes_nothing(engine: Engine) {
        let app = App::start(engine).await;
        for (csv, word) in [
            ("", "rows"),
            ("\n\n", "rows"),
            ("email,name\n", "rows"),
            ("email,name\n\n , \n", "rows"),
            ("name,mail\nAnn,ann@example.com\n", "email"),
            ("ann@example.com,Ann\nbob@example.com,Bob\n", "email"),
            ("email,Email\na@example.com,b@example.com\n", "email"),
        ] {
            let reason = refused(&app, csv).await;
            assert!(reason.to_lowercase().contains(word), "{csv:?}: {reason}");
        }
        assert_eq!(total(&app).await, 0);
    }

    async fn imports_of_a_project_run_in_their_order(engine: Engine) {
        let app = App::start(engine).await;
        let file = |plan: &str| {
            let rows = (0..700).map(|number| format!("c{number}@example.com,{plan}\n"));
            format!("email,plan\n{}", rows.collect::<String>())
        };
        let mut jobs = Vec::new();
        for plan in ["first", "second", "third"] {
            jobs.push(queued(&upload(&app, file(plan)).await));
            app.advance(std::time::Duration::from_millis(5)).await;
        }
        for job in &jobs {
            assert_eq!(finished(&app, &import_path(job)).await["state"], "completed");
        }
        for number in [0, 350, 699] {
            assert_eq!(data_of(&app, &format!("c{number}@example.com")).await, json!({"plan": "third"}));
        }
    }
}

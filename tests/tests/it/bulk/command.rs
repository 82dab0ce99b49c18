//! `mailwright import` and `mailwright export`.

use std::fmt::Write as _;

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{contact_by_email, create_contact, read, subscription_events};
use serde_json::{Value, json};

use super::{imported, numbered, total};

/// Writes a file into a folder of the test's own.
fn file(folder: &tempfile::TempDir, name: &str, content: &[u8]) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

both_engines! {
    async fn a_file_is_imported_beside_the_running_service(engine: Engine) {
        let app = App::start(engine).await;
        let folder = tempfile::tempdir().expect("a folder");
        let known = create_contact(&app, "c5@example.com", true, json!({})).await;
        let mut csv = String::from("\u{feff}Email,n,Subscribed\r\n");
        for number in 0..3000 {
            let subscribed = if number == 5 { "no" } else { "" };
            write!(csv, "c{number}@example.com,{number},{subscribed}\r\n").expect("a string");
        }
        let path = file(&folder, "people.csv", csv.as_bytes());
        let said = app.run(&["import", "--project", "Acme", "--subscribed", "false", &path]).await;
        assert!(said.contains("3000 rows") && said.contains("2999 contacts created"), "{said}");
        assert_eq!(total(&app).await, 3000);
        let new = contact_by_email(&app, "c2999@example.com").await.expect("a contact");
        assert_eq!((&new["subscribed"], &new["data"]), (&json!(false), &json!({"n": 2999})));
        assert_eq!(subscription_events(&app, &known["id"]).await, ["contact.unsubscribed"]);

        // again, and by the project's id: nothing is doubled
        let said = app.run(&["import", "--project", app.project_id(), &path]).await;
        assert!(said.contains("0 contacts created"), "{said}");
        assert_eq!(total(&app).await, 3000);
        assert_eq!(subscription_events(&app, &known["id"]).await, ["contact.unsubscribed"]);
        assert_eq!(read(&app, "/contacts?subscribed=true&limit=1").await["total"], 0);
    }

    async fn an_export_holds_every_contact(engine: Engine) {
        let app = App::start(engine).await;
        let folder = tempfile::tempdir().expect("a folder");
        create_contact(&app, "=cmd@example.com".trim_start_matches('='), true, json!({"plan": "=1+1", "n": 1.5, "tags": ["a", "b"]})).await;
        create_contact(&app, "b@example.com", false, json!({"Name": "O\"Neil, Ann\nB", "vip": true})).await;
        imported(&app, numbered(2500)).await;

        let csv = app.run(&["export", "--project", "Acme"]).await;
        let mut lines = csv.split("\r\n");
        assert_eq!(lines.next(), Some("email,subscribed,createdAt,updatedAt,Name,n,number,plan,tags,vip"));
        let first = lines.next().expect("a row");
        assert!(first.starts_with("cmd@example.com,true,20"), "{first}");
        assert!(first.ends_with(",,1.5,,=1+1,\"[\"\"a\"\",\"\"b\"\"]\","), "{first}");
        let second = lines.next().expect("a row");
        assert!(second.contains(",\"O\"\"Neil, Ann\nB\",,,,,true"), "{second}");
        assert_eq!(lines.filter(|line| !line.is_empty()).count(), 2500);

        let harmless = app.run(&["export", "--project", "Acme", "--escape-formulas"]).await;
        let first = harmless.split("\r\n").nth(1).expect("a row");
        assert!(first.ends_with(",,1.5,,'=1+1,\"[\"\"a\"\",\"\"b\"\"]\","), "{first}");

        let path = folder.path().join("out.ndjson");
        let target = path.to_str().expect("UTF-8");
        app.run(&["export", "--project", "Acme", "--format", "ndjson", "--output", target]).await;
        let written = std::fs::read_to_string(&path).expect("the export");
        let contacts: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(contacts.len(), 2502);
        for (exported, email) in [(&contacts[0], "cmd@example.com"), (&contacts[1], "b@example.com")] {
            assert_eq!(Some(exported.clone()), contact_by_email(&app, email).await);
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1, "no draft is left");

        // an export can be imported into another project
        app.bootstrap("Copy", "copy.example").await;
        let path = file(&folder, "all.csv", csv.as_bytes());
        let said = app.run(&["import", "--project", "Copy", &path]).await;
        assert!(said.contains("2502 contacts created"), "{said}");
        let copy = app.run(&["export", "--project", "Copy", "--format", "ndjson"]).await;
        let copied: Value = copy.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
            .find(|contact| contact["email"] == "b@example.com").expect("the contact");
        assert_eq!((&copied["subscribed"], &copied["data"]["name"]), (&json!(false), &json!("O\"Neil, Ann\nB")));
    }

    async fn what_cannot_be_imported_is_said(engine: Engine) {
        let app = App::start(engine).await;
        let folder = tempfile::tempdir().expect("a folder");
        let fine = file(&folder, "fine.csv", b"email\na@example.com\n");
        for (path, project, code, words) in [
            (file(&folder, "some.csv", b"email\nok@example.com\n\nnope\n"), "Acme", 2, ["line 4", "nope"]),
            (file(&folder, "none.csv", b"name\nAnn\n"), "Acme", 1, ["column", "email"]),
            (file(&folder, "german.csv", b"Vorname;E-Mail\nAnn;a@example.com\n"), "Acme", 1, ["\"Vorname;E-Mail\"", "semicolons"]),
            (file(&folder, "tabs.csv", b"name\temail\nAnn\ta@example.com\n"), "Acme", 1, ["tabs", "with commas"]),
            (file(&folder, "other.csv", b"Name,E-Mail\nAnn,a@example.com\n"), "Acme", 1, ["Rename \"E-Mail\"", "Nothing was imported"]),
            (file(&folder, "empty.csv", b""), "Acme", 1, ["The file has", "no rows"]),
            (file(&folder, "header.csv", b"email,name\n"), "Acme", 1, ["The file has", "no rows"]),
            (file(&folder, "latin.csv", b"email,n\na@example.com,J\xf6\n"), "Acme", 1, ["UTF-8", "line 2"]),
            (folder.path().join("absent.csv").to_str().expect("UTF-8").to_owned(), "Acme", 1, ["absent.csv", "open"]),
            (fine, "Nobody", 1, ["Nobody", "not found"]),
        ] {
            let output = app.try_run(&["import", "--project", project, &path]).await;
            let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert_eq!(output.status.code(), Some(code), "{path}: {said}");
            for word in words {
                assert!(said.contains(word), "{path}: no {word:?} in {said}");
            }
            assert!(!said.contains("again from the start"), "{said}");
            assert!(!said.contains(" 1 rows"), "{said}");
        }
        assert_eq!(total(&app).await, 1);
        let output = app.try_run(&["export", "--project", "Nobody"]).await;
        assert!(!output.status.success() && output.stdout.is_empty());
    }
}

//! Import and export by CSV.

use std::time::Duration;

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{read, required_header, text};

use super::by_hand;

async fn import(app: &App, csv: &str) -> Value {
    let form = format!(
        "--part\r\nContent-Disposition: form-data; name=\"file\"; filename=\"s.csv\"\r\nContent-Type: text/csv\r\n\r\n\
         {csv}\r\n--part--\r\n"
    );
    let request = app.post("/suppressions/addresses/import").body(form, "multipart/form-data; boundary=part");
    let queued = request.send().await.assert_status(202).json();
    let path = format!("/suppressions/addresses/import/{}", text(&queued["jobId"]));
    app.eventually_within(Duration::from_mins(1), "the import is over", async || {
        let status = read(app, &path).await;
        (status["state"] == "completed" || status["state"] == "failed").then_some(status)
    })
    .await
}

async fn export(app: &App) -> String {
    let response = app.get("/suppressions/addresses/export").send().await.assert_status(200);
    assert_eq!(required_header(&response, "content-type"), "text/csv; charset=utf-8");
    response.text()
}

both_engines! {
    async fn a_file_of_addresses_is_imported(engine: Engine) {
        let app = App::start(engine).await;
        by_hand(&app, "kept@example.com").await;
        let done = import(
            &app,
            "Email,Reason,expiresAt,note\nada@example.com,hard-bounce,,x\nbob@example.com,,2035-01-31,\n\
             nope,manual,,\ncarl@example.com,because,,\nkept@example.com,complaint,,\nADA@example.com,SpamComplaint,,\n\n",
        )
        .await;
        let result = &done["result"];
        assert_eq!((&result["totalRows"], &result["addedCount"]), (&json!(6), &json!(2)), "{done}");
        assert_eq!((&result["unchangedCount"], &result["failureCount"]), (&json!(2), &json!(2)), "{done}");
        assert_eq!((&result["errors"][0]["row"], &result["errors"][1]["row"]), (&json!(4), &json!(5)), "{done}");
        let lines: Vec<String> = export(&app).await.lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "email,reason,createdAt,expiresAt,emailId");
        let beginnings: Vec<_> = lines[1..].iter().map(|line| line.split(',').take(2).collect::<Vec<_>>()).collect();
        // of several rows with one address the last counts
        assert_eq!(beginnings, [["ada@example.com", "complaint"], ["bob@example.com", "import"], ["kept@example.com", "manual"]]);
        assert!(lines[2].contains(",2035-01-31T00:00:00.000Z,"), "{}", lines[2]);
        for (bad, word) in [("name\nada\n", "column named email"), ("email\n", "no rows")] {
            let failed = import(&app, bad).await;
            assert_eq!(failed["state"], "failed");
            assert!(text(&failed["failedReason"]).contains(word), "{failed}");
        }
        let none = app.post("/suppressions/addresses/import").body("x", "text/plain").send().await;
        none.assert_error(400, "BAD_REQUEST");
        // an import of something else is not shown here
        app.get("/contacts/import/01a20000-0000-7000-8000-000000000001").send().await.assert_status(404);
    }

    async fn a_long_list_is_exported_whole_and_can_be_imported_elsewhere(engine: Engine) {
        let app = App::start(engine).await;
        let rows: Vec<String> = (0..2_500).map(|number| format!("a{number:04}@example.com,complaint")).collect();
        let done = import(&app, &format!("email,reason\n{}\n", rows.join("\n"))).await;
        assert_eq!(done["result"]["addedCount"], 2_500, "{done}");
        let file = export(&app).await;
        assert_eq!(file.lines().count(), 2_501);
        assert!(file.lines().last().is_some_and(|line| line.starts_with("a2499@example.com,complaint,")), "{file}");
        let again = import(&app, &file).await;
        assert_eq!((&again["result"]["totalRows"], &again["result"]["failureCount"]), (&json!(2_500), &json!(0)));
        assert_eq!(read(&app, "/suppressions/addresses").await["total"], 2_500);
    }
}

//! `mailwright usage`: what projects had in a month, whether anything is billed or not.

use std::time::Duration;

use mailwright_testkit::{App, Engine, both_engines};
use serde_json::json;

use super::{send_from, send_to_many};

both_engines! {
    async fn the_report_has_each_project_and_category(engine: Engine) {
        let app = App::start(engine).await;
        send_to_many(&app, "a", 4).await.assert_status(200);
        let file = json!([{"filename": "a.txt", "content": "SGk=", "contentType": "text/plain"}]);
        let body = json!({
            "to": "bob@example.com", "subject": "s", "body": "b", "from": app.from(), "attachments": file,
        });
        app.send(body).await.assert_status(200);
        let other = app.bootstrap("=Neighbour, Ltd.", "neighbour.test").await;
        send_from(&app, &other, &["a@example.com"]).await.assert_status(200);
        let printed = app.run(&["usage", "--csv"]).await;
        let lines: Vec<&str> = printed.lines().collect();
        assert_eq!(lines[0], "month,project,name,category,mails,units");
        assert_eq!(lines.len(), 3, "{printed}");
        let month = &lines[1][..7];
        assert_eq!(lines[1], format!("{month},{},Acme,transactional,5,6", app.project_id()));
        assert_eq!(lines[2], format!("{month},{},\"'=Neighbour, Ltd.\",transactional,1,1", other.id));
        assert_eq!(app.run(&["usage", "--csv", "--month", month]).await, printed);
        let plain = app.run(&["usage"]).await;
        assert!(plain.lines().count() == 2 && plain.contains("5 mails") && plain.contains("6 units"), "{plain}");
        assert_eq!(app.run(&["usage", "--month", "2001-02"]).await.trim(), "");
        let wrong = app.try_run(&["usage", "--month", "2001-13"]).await;
        assert!(!wrong.status.success());
        // past months stay, folded by the maintenance
        app.advance(Duration::from_hours(31 * 24)).await;
        app.advance(Duration::from_mins(2)).await;
        send_to_many(&app, "b", 1).await.assert_status(200);
        assert_eq!(app.run(&["usage", "--csv", "--month", month]).await, printed);
        let later = jiff::Timestamp::from_millisecond(app.now()).expect("a time").strftime("%Y-%m").to_string();
        let next = app.run(&["usage", "--csv", "--month", &later]).await;
        assert!(next.lines().count() == 2 && next.contains("transactional,1,1"), "{next}");
    }
}

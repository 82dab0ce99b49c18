//! The commands that `docs/workflows.md` shows, one after the other.

use std::fs;
use std::path::Path;

use mailwright_testkit::receiver::Receiver;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::text;
use serde_json::{Value, json};
use tokio::process::Command;

/// The commands of the page, as one script. The demo of `make run` may send as another domain than projects of tests.
fn script(app: &App) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/workflows.md");
    let page = fs::read_to_string(path).expect("the page");
    let blocks: Vec<&str> =
        page.split("```bash\n").skip(1).map(|rest| rest.split("```").next().expect("an end")).collect();
    assert_eq!(blocks.len(), 7, "the page shows more commands, or fewer");
    format!("set -e\n{}", blocks.concat()).replace("hello@example.com", &app.from())
}

both_engines! {
    async fn the_example_of_the_documentation_runs_to_its_end(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_ALLOW_PRIVATE_NETWORKS", "true").start().await;
        let receiver = Receiver::obliging().await;
        let mut command = Command::new("timeout");
        command.args(["60", "bash", "-c", &script(&app)]).kill_on_drop(true);
        command.env("BASE", app.base_url()).env("KEY", app.secret_key()).env("HOOK", receiver.url("/"));
        let output = command.output().await.expect("bash is there");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(!said.contains(r#""error":{"#), "{said}");

        let bodies: Vec<Value> = receiver
            .calls()
            .iter()
            .map(|call| serde_json::from_str(&call.body).expect("JSON"))
            .collect();
        assert_eq!(bodies, [json!({"email": "ada@example.org", "from": "ad-7", "plan": "pro"})]);
        let flows = app.get("/workflows").send().await.assert_status(200).json();
        let path = format!("/workflows/{}/executions", text(&flows["data"][0]["id"]));
        let executions = app.get(&path).send().await.assert_status(200).json();
        let ended = &executions["data"][0];
        assert_eq!((&executions["total"], &ended["status"], &ended["exitReason"]), (
            &json!(1),
            &json!("EXITED"),
            &json!("welcomed")
        ));
        let last = said.lines().last().expect("the steps");
        assert_eq!(last, "End COMPLETED {'exited': True, 'reason': 'welcomed'}");
    }
}

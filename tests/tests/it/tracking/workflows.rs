//! Workflows that a click begins, and conditions on clicks: they see people.

use futures_util::future::join_all;
use mailwright_testkit::{Engine, both_engines, json};
use mailwright_tests::create_contact;
use mailwright_tests::workflow::{Flow, output};

use super::{PERSON, PROGRAM, Visitor, builder, column, judged, later, sent, target, visit};

both_engines! {
    async fn a_click_of_a_person_begins_a_workflow_and_a_burst_of_a_scanner_does_not(engine: Engine) {
        let app = builder(engine).start().await;
        let (clicked, opened) = (Flow::new(&app, "email.click").await, Flow::new(&app, "email.open").await);
        for flow in [&clicked, &opened] {
            flow.then("EXIT", json!({})).await;
            flow.enable().await;
        }
        let scanned = sent(&app, &json!({"to": "scanned@example.com"})).await;
        let read = sent(&app, &json!({"to": "read@example.com"})).await;
        later(&app).await;
        let paths = [scanned.links(), vec![scanned.picture()]].concat();
        let scanner = Visitor { agent: PERSON.agent, address: "192.0.2.50" };
        join_all(paths.iter().map(|path| visit(&app, path, scanner))).await;
        let hits = judged(&app, &scanned, 4).await;
        assert!(column(&hits, "class").iter().all(|class| *class == "scanner"), "{hits:?}");
        visit(&app, &scanned.links()[0], PROGRAM).await;
        judged(&app, &scanned, 5).await;

        visit(&app, &read.picture(), PERSON).await;
        target(&app, &read.links()[0], PERSON).await;
        let hits = judged(&app, &read, 2).await;
        assert_eq!(column(&hits, "class"), ["human", "human"], "{hits:?}");
        for flow in [&clicked, &opened] {
            let execution = flow.only("EXITED").await;
            assert_eq!(execution["contactId"], read.contact, "{execution}");
            assert_eq!(execution["context"]["emailId"], read.id.as_str(), "{execution}");
        }
        let execution = clicked.only("EXITED").await;
        assert_eq!(execution["context"]["link"], "https://shop.test/one", "{execution}");
        assert_eq!(execution["context"]["isFirstClick"], true, "{execution}");
    }

    async fn a_workflow_goes_on_when_a_person_opens_its_mail(engine: Engine) {
        let app = builder(engine).start().await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let flow = Flow::new(&app, "signup").await;
        flow.then("WAIT_FOR_EVENT", json!({"eventName": "email.open"})).await;
        flow.then("EXIT", json!({})).await;
        flow.enable().await;
        let mail = sent(&app, &json!({})).await;
        later(&app).await;
        let id = flow.start(&ann["id"], json!({})).await;
        flow.once(&id, "WAITING").await;
        visit(&app, &mail.picture(), Visitor { agent: "Mozilla/5.0", address: "17.58.4.2" }).await;
        judged(&app, &mail, 1).await;
        assert_eq!(flow.execution(&id).await["status"], "WAITING", "Apple fetched it");
        visit(&app, &mail.picture(), PERSON).await;
        judged(&app, &mail, 2).await;
        let execution = flow.once(&id, "EXITED").await;
        assert_eq!(output(&execution, "WAIT_FOR_EVENT")["eventName"], "email.open", "{execution}");
    }
}

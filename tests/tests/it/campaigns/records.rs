//! Creating, reading, changing, listing, copying and deleting campaigns.

use super::{act, body, contacts, draft, get, path, post, send, settled};
use mailwright_testkit::{App, Engine, Value, both_engines, json, one_engine};
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_keys, assert_only_keys, assert_timestamp, assert_uuid, column, issue,
    issues, items, read, shown, text, with, without,
};

const COUNTERS: [&str; 6] =
    ["totalRecipients", "sentCount", "deliveredCount", "openedCount", "clickedCount", "bouncedCount"];

/// The names on one page of the list.
async fn names(app: &App, query: &str) -> Vec<String> {
    let page = read(app, &format!("/campaigns?{query}")).await;
    column(&page["data"], "name").into_iter().map(str::to_owned).collect()
}

fn condition(field: &str, operator: &str, value: &Value) -> Value {
    json!({"logic": "AND", "groups": [{"filters": [{"field": field, "operator": operator, "value": value}]}]})
}

both_engines! {
    async fn a_campaign_is_created_as_a_draft_with_defaults(engine: Engine) {
        let app = App::start(engine).await;
        let answer = post(&app, &body(&app)).await.assert_status(201).json();
        assert_only_keys(&answer, &["success", "data"]);
        let plain = &answer["data"];
        assert_keys(
            plain,
            &["id", "name", "description", "subject", "body", "from", "fromName", "replyTo", "type", "status",
              "audienceType", "segmentId", "audienceCondition", "scheduledFor", "projectId", "sentAt", "createdAt",
              "updatedAt"],
        );
        assert_uuid(&plain["id"]);
        assert_timestamp(&plain["createdAt"]);
        assert_timestamp(&plain["updatedAt"]);
        assert_eq!((&plain["status"], &plain["type"]), (&json!("DRAFT"), &json!("MARKETING")));
        assert_eq!(plain["projectId"], app.project_id());
        for unset in ["description", "fromName", "replyTo", "segmentId", "audienceCondition", "scheduledFor", "sentAt"] {
            assert_eq!(plain[unset], Value::Null, "{unset}");
        }
        for counter in COUNTERS {
            assert_eq!(plain[counter], 0, "{counter}");
        }
        let full = with(
            body(&app),
            &json!({
                "description": "Note", "fromName": "Team", "replyTo": "r@example.com", "type": "HEADLESS",
                "audienceType": "FILTERED", "audienceCondition": condition("data.plan", "equals", &json!("pro")),
            }),
        );
        let created = draft(&app, &full).await;
        for (key, value) in full.as_object().expect("an object") {
            assert_eq!(created[key], *value, "{key}");
        }
        // GET answers the campaign itself, without the wrapper
        assert_eq!(get(&app, &created).await, created);
    }

    async fn an_unknown_segment_is_not_found(engine: Engine) {
        let app = App::start(engine).await;
        let change = json!({"audienceType": "SEGMENT", "segmentId": UNKNOWN_ID});
        post(&app, &with(body(&app), &change)).await.assert_error(404, "RESOURCE_NOT_FOUND");
        let tree = json!({"logic": "AND", "groups": [
            {"filters": [{"field": format!("segment.{UNKNOWN_ID}"), "operator": "memberOfSegment"}]},
        ]});
        let change = json!({"audienceType": "FILTERED", "audienceCondition": tree});
        let response = post(&app, &with(body(&app), &change)).await;
        assert!(issues(&response)[0].0.starts_with("audienceCondition"), "{}", shown(&response));
    }

    async fn the_sender_must_be_of_a_verified_domain(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let campaign = draft(&app, &json!({})).await;
        for from in ["hello@unregistered.example", &format!("hello@sub.{}", app.domain()), &other.from] {
            let change = json!({"from": from});
            post(&app, &with(body(&app), &change)).await.assert_error(403, "INTERNAL_SERVER_ERROR");
            let put = app.put(&path(&campaign, "")).json(&change).send().await;
            put.assert_error(403, "INTERNAL_SERVER_ERROR");
        }
        assert_eq!(get(&app, &campaign).await, campaign);
    }

    async fn a_domain_that_a_campaign_needs_cannot_be_removed(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 1).await;
        let campaign = draft(&app, &json!({})).await;
        let domains = read(&app, &format!("/domains/project/{}", app.project_id())).await;
        let domain = items(&domains).first().cloned().unwrap_or_else(|| domains["data"][0].clone());
        let domain = format!("/domains/{}", text(&domain["id"]));
        app.delete(&domain).send().await.assert_error(409, "CONFLICT");
        send(&app, &campaign).await;
        settled(&app, &campaign).await;
        let gone = app.delete(&domain).send().await;
        assert!(gone.status < 300, "a campaign that was sent needs it no more: {}", shown(&gone));
    }

    async fn only_the_own_project_sees_a_campaign(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let campaign = draft(&app, &json!({})).await;
        for (method, rest) in [
            ("GET", ""), ("PUT", ""), ("DELETE", ""), ("POST", "/duplicate"), ("POST", "/send"), ("POST", "/cancel"),
            ("POST", "/pause"), ("POST", "/resume"), ("POST", "/retry"), ("GET", "/stats"), ("GET", "/audience"),
            ("GET", "/ledger"),
        ] {
            let request = as_project(&app, &other, method, &path(&campaign, rest)).json(&json!({}));
            request.send().await.assert_error(404, "CAMPAIGN_NOT_FOUND");
            let unknown = app.request(method, &format!("/campaigns/{UNKNOWN_ID}{rest}")).bearer(app.secret_key());
            unknown.json(&json!({})).send().await.assert_error(404, "CAMPAIGN_NOT_FOUND");
            let nonsense = app.request(method, &format!("/campaigns/nonsense{rest}")).bearer(app.secret_key());
            assert_eq!(issue(&nonsense.json(&json!({})).send().await, "id")["code"], "invalid_string");
        }
        let test = as_project(&app, &other, "POST", &path(&campaign, "/test"));
        test.json(&json!({"email": "a@example.com"})).send().await.assert_error(404, "CAMPAIGN_NOT_FOUND");
        let page = as_project(&app, &other, "GET", "/campaigns").send().await.assert_status(200).json();
        assert_eq!(page["total"], 0);
        let public = app.request("GET", "/campaigns").bearer(app.public_key()).send().await;
        public.assert_error(401, "INVALID_API_KEY");
    }

    async fn a_change_touches_what_it_names(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 2).await;
        let campaign = draft(&app, &json!({"fromName": "Team", "replyTo": "r@example.com", "description": "x"})).await;
        assert_eq!(campaign["totalRecipients"], 2, "counted at once");
        let change = json!({"name": "Renamed", "subject": "New", "type": "HEADLESS"});
        let changed = app.put(&path(&campaign, "")).json(&change).send().await.assert_status(200).json();
        let saved = json!({"updatedAt": changed["updatedAt"], "savedAt": changed["updatedAt"], "version": 2});
        let expected = with(with(campaign.clone(), &change), &saved);
        assert_eq!(changed, expected);
        let clear = json!({"fromName": null, "replyTo": null, "description": null});
        let cleared = app.put(&path(&campaign, "")).json(&clear).send().await.assert_status(200).json();
        for key in ["fromName", "replyTo", "description"] {
            assert_eq!(cleared[key], Value::Null, "{key}");
        }
        // another audience is counted anew
        let audience = json!({
            "audienceType": "FILTERED", "audienceCondition": condition("data.number", "equals", &json!(1)),
        });
        let narrowed = app.put(&path(&campaign, "")).json(&audience).send().await.assert_status(200).json();
        assert_eq!((&narrowed["totalRecipients"], &narrowed["audienceType"]), (&json!(1), &json!("FILTERED")));
        let everybody = app.put(&path(&campaign, "")).json(&json!({"audienceType": "ALL"})).send().await;
        let everybody = everybody.assert_status(200).json();
        assert_eq!((&everybody["totalRecipients"], &everybody["audienceCondition"]), (&json!(2), &Value::Null));
        assert_eq!(get(&app, &campaign).await, everybody);

        let missing = app.put(&path(&campaign, "")).json(&json!({"audienceType": "SEGMENT"})).send().await;
        assert_eq!(issue(&missing, "segmentId")["code"], "required");
        send(&app, &campaign).await;
        settled(&app, &campaign).await;
        app.put(&path(&campaign, "")).json(&change).send().await.assert_error(400, "BAD_REQUEST");
    }

    async fn the_list_pages_searches_and_sorts(engine: Engine) {
        let app = App::start(engine).await;
        for (name, subject) in [("Beta", "Spring 100%"), ("alpha", "Summer"), ("Gamma", "Winter sale")] {
            draft(&app, &json!({"name": name, "subject": subject})).await;
        }
        let page = read(&app, "/campaigns").await;
        assert_only_keys(&page, &["data", "page", "pageSize", "total", "totalPages"]);
        assert_eq!((&page["page"], &page["pageSize"]), (&json!(1), &json!(20)));
        assert_eq!((&page["total"], &page["totalPages"]), (&json!(3), &json!(1)));
        assert_eq!(column(&page["data"], "name"), ["Gamma", "alpha", "Beta"], "newest first");

        assert_eq!(names(&app, "pageSize=2&page=2").await, ["Beta"]);
        assert_eq!(read(&app, "/campaigns?pageSize=2").await["totalPages"], 2);
        assert_eq!(names(&app, "dir=asc").await, ["Beta", "alpha", "Gamma"]);
        assert_eq!(names(&app, "sort=name&dir=asc").await, ["Beta", "Gamma", "alpha"]);
        assert_eq!(names(&app, "sort=nonsense&dir=nonsense").await, ["Gamma", "alpha", "Beta"]);
        for strange in ["page=0", "page=-3", "pageSize=nonsense", "page=x"] {
            assert_eq!(names(&app, strange).await.len(), 3, "{strange}");
        }
        assert_eq!(names(&app, "search=WINTER").await, ["Gamma"]);
        assert_eq!(names(&app, "search=ALP").await, ["alpha"]);
        assert_eq!(names(&app, "search=%25").await, ["Beta"], "taken literally");
        assert_eq!(names(&app, "search=hello%40acme").await.len(), 3, "the sender's address");
        assert_eq!(names(&app, "status=DRAFT").await.len(), 3);
        assert_eq!(names(&app, "status=SENT").await.len(), 0);
        for wrong in ["nonsense", "draft", "DRAFT,SENT"] {
            let answer = app.get(&format!("/campaigns?status={wrong}")).send().await;
            answer.assert_error(400, "BAD_REQUEST");
        }
    }

    async fn a_copy_is_a_draft_of_its_own(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 2).await;
        let campaign = draft(&app, &json!({"fromName": "Team", "type": "HEADLESS"})).await;
        send(&app, &campaign).await;
        settled(&app, &campaign).await;
        contacts(&app, "b", 1).await;
        let copy = act(&app, &campaign, "/duplicate").await.assert_status(201).json();
        assert_ne!(copy["id"], campaign["id"]);
        assert_eq!(copy["name"], "News (Copy)");
        assert_eq!((&copy["status"], &copy["sentAt"]), (&json!("DRAFT"), &Value::Null));
        for same in ["subject", "body", "from", "fromName", "type", "audienceType"] {
            assert_eq!(copy[same], campaign[same], "{same}");
        }
        assert_eq!((&copy["sentCount"], &copy["totalRecipients"]), (&json!(0), &json!(3)), "counted anew");
    }

    async fn what_is_over_can_be_deleted_and_its_mails_stay(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 1).await;
        let drafted = draft(&app, &json!({})).await;
        app.delete(&path(&drafted, "")).send().await.assert_status(204);
        app.get(&path(&drafted, "")).send().await.assert_error(404, "CAMPAIGN_NOT_FOUND");
        app.delete(&path(&drafted, "")).send().await.assert_error(404, "CAMPAIGN_NOT_FOUND");

        let sent = draft(&app, &json!({})).await;
        send(&app, &sent).await;
        settled(&app, &sent).await;
        app.delete(&path(&sent, "")).send().await.assert_status(204);
        let emails = app.list_all("/emails").await;
        assert_eq!(emails.len(), 1);
        assert_eq!(emails[0]["campaignId"], sent["id"]);
    }
}

one_engine! {
    async fn what_is_wrong_is_named_field_by_field(engine: Engine) {
        let app = App::start(engine).await;
        for key in ["name", "subject", "body", "from", "audienceType"] {
            let response = post(&app, &without(body(&app), key)).await;
            assert_eq!(issues(&response), [(key.to_owned(), "invalid_type".to_owned())], "{}", shown(&response));
        }
        for (change, field, code) in [
            (json!({"name": ""}), "name", "too_small"),
            (json!({"subject": "a\nb"}), "subject", "invalid_string"),
            (json!({"subject": "x".repeat(999)}), "subject", "too_big"),
            (json!({"from": "nope"}), "from", "invalid_string"),
            (json!({"replyTo": "nope"}), "replyTo", "invalid_string"),
            (json!({"fromName": "x".repeat(101)}), "fromName", "too_big"),
            (json!({"type": "PROMOTIONAL"}), "type", "invalid_enum_value"),
            (json!({"audienceType": "SOME"}), "audienceType", "invalid_enum_value"),
            (json!({"audienceType": "SEGMENT"}), "segmentId", "required"),
            (json!({"audienceType": "SEGMENT", "segmentId": "x"}), "segmentId", "invalid_string"),
            (json!({"audienceType": "FILTERED"}), "audienceCondition", "required"),
        ] {
            let response = post(&app, &with(body(&app), &change)).await;
            assert_eq!(issue(&response, field)["code"], code, "{change}: {}", shown(&response));
        }
        let several = json!({"name": 5, "from": "nope", "audienceType": "ALL"});
        let fields: Vec<String> = issues(&post(&app, &several).await).into_iter().map(|(field, _)| field).collect();
        for field in ["name", "from", "subject", "body"] {
            assert!(fields.iter().any(|f| f == field), "{field} in {fields:?}");
        }
        assert_eq!(read(&app, "/campaigns").await["total"], 0);
    }

    async fn a_filter_is_refused_with_the_place_of_every_fault(engine: Engine) {
        let app = App::start(engine).await;
        let tree = json!({"logic": "AND", "groups": [
            {"filters": [{"field": "email", "operator": "sounds_like", "value": "x"}]},
            {"filters": [{"field": "data.age", "operator": "within", "value": 5}]},
        ]});
        let filtered = json!({"audienceType": "FILTERED", "audienceCondition": tree});
        let response = post(&app, &with(body(&app), &filtered)).await;
        let fields: Vec<String> = issues(&response).into_iter().map(|(field, _)| field).collect();
        for place in ["audienceCondition.groups.0.filters.0", "audienceCondition.groups.1.filters.0"] {
            assert!(fields.iter().any(|field| field.starts_with(place)), "{place} in {fields:?}");
        }
        for wrong in [json!({}), json!({"logic": "AND", "groups": []}), json!("x")] {
            let filtered = json!({"audienceType": "FILTERED", "audienceCondition": wrong});
            let response = post(&app, &with(body(&app), &filtered)).await;
            assert!(issues(&response).iter().all(|(field, _)| field.starts_with("audienceCondition")), "{wrong}");
        }
    }

    async fn an_error_in_the_templates_language_is_a_400_with_its_place(engine: Engine) {
        let app = App::start(engine).await;
        let campaign = draft(&app, &json!({})).await;
        let wrong = json!({"body": "<p>\n{% if name %}Hi"});
        for response in [
            post(&app, &with(body(&app), &wrong)).await,
            app.put(&path(&campaign, "")).json(&wrong).send().await,
        ] {
            let error = response.assert_error(400, "VALIDATION_ERROR");
            let issue = &items(&error["errors"])[0];
            assert_eq!(issue["field"], "body", "{error}");
            let message = text(&issue["message"]);
            assert!(message.contains("line ") && message.contains("column "), "{message}");
        }
    }
}

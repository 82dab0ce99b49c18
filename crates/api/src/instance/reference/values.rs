//! Example values of the schemas, which the examples of the page are made from.
//!
//! They are not part of the served document: the requests that its tests generate would be made from them.

use serde_json::{Value, json};

/// Puts the examples into a document.
pub(super) fn add(document: &mut Value) {
    for (name, example) in examples() {
        let schema = &mut document["components"]["schemas"][name];
        if schema.is_object() {
            schema["examples"] = json!([example]);
        }
    }
}

/// An example of each of these schemas: what small types hold, and what a request mostly says.
fn examples() -> Vec<(&'static str, Value)> {
    let mut examples = texts();
    examples.extend(of_mail());
    examples.extend(of_audience());
    examples.extend(of_workflows());
    examples.extend(of_people());
    examples
}

/// Types that are a text.
fn texts() -> Vec<(&'static str, Value)> {
    [
        ("AddressPattern", "+test"),
        ("Base64Text", "SGVsbG8sIEFkYSE="),
        ("Code", "123456"),
        ("ContentId", "logo"),
        ("DateText", "2030-01-31T10:20:30Z"),
        ("Description", "For everybody who signed up this year"),
        ("DisplayName", "Ada Lovelace"),
        ("DomainText", "news.example.com"),
        ("DraftHtml", "<h1>Hello {{name ?? \"there\"}}</h1>"),
        ("DraftSubject", "Hello {{name ?? \"there\"}}"),
        ("Email", "ada@example.org"),
        ("EventName", "order_placed"),
        ("FileName", "invoice.txt"),
        ("HeaderValue", "order-1042"),
        ("Html", "<h1>Hello {{name ?? \"there\"}}</h1>"),
        ("Language", "en"),
        ("LinkToken", "6f1d3c5b7a9e0f2d4c6b8a1e3f5d7c9b0a2e4f6d8c1b3a5e7f9d0c2b4a6e8f10"),
        ("MailHtml", "<h1>Hello {{name}}</h1>"),
        ("MailText", "Hello {{name}}"),
        ("MailboxText", "help@example.com"),
        ("MediaType", "text/plain"),
        (
            "Mjml",
            "<mjml><mj-body><mj-section><mj-column><mj-text>Hello {{name ?? \"there\"}}</mj-text></mj-column>\
             </mj-section></mj-body></mjml>",
        ),
        ("Name", "Welcome"),
        ("NewPassword", "correct horse battery"),
        ("Password", "correct horse battery"),
        ("PlainName", "Rockets"),
        ("SenderName", "Example Shop"),
        ("ShortText", "ada@example.org"),
        ("Subject", "Hello {{name ?? \"there\"}}"),
    ]
    .map(|(name, text)| (name, json!(text)))
    .into()
}

/// Requests that are about mail.
fn of_mail() -> Vec<(&'static str, Value)> {
    vec![
        (
            "SendRequest",
            json!({
                "to": "ada@example.org",
                "from": { "name": "Example Shop", "email": "hello@example.com" },
                "subject": "Your order {{order}}",
                "body": "<h1>Thank you, {{name}}</h1><p>Your order {{order}} is on its way.</p>",
                "data": { "name": "Ada", "order": { "value": "1042", "persistent": false } },
            }),
        ),
        (
            "CreateTemplateRequest",
            json!({
                "name": "Welcome",
                "subject": "Hello {{name ?? \"there\"}}",
                "body": "<h1>Hello {{name ?? \"there\"}}</h1>",
                "from": "hello@example.com",
                "type": "TRANSACTIONAL",
            }),
        ),
        (
            "PreviewRequest",
            json!({
                "subject": "Hello {{name}}",
                "body": "<h1>Hello {{name}}</h1>",
                "data": { "name": "Ada" },
                "format": "json",
            }),
        ),
        (
            "PreviewForm",
            json!({ "body": "<h1>Hello {{name}}</h1>", "data": "{\"name\": \"Ada\"}", "format": "text" }),
        ),
        (
            "CheckTemplateRequest",
            json!({ "subject": "Hello {{name}}", "body": "<h1>Hello {{nmae}}</h1>", "type": "HEADLESS" }),
        ),
        ("TestTemplateRequest", json!({ "email": "ada@example.org" })),
        ("EditorDocument", json!({ "blocks": [{ "type": "text", "text": "Hello" }] })),
        ("UpdateTemplateRequest", json!({ "subject": "Good to see you, {{name ?? \"friend\"}}" })),
        (
            "CreateCampaignRequest",
            json!({
                "name": "March news",
                "subject": "What is new in March",
                "body": "<h1>What's new</h1><p>Hello {{name ?? \"there\"}}.</p>",
                "from": "news@example.com",
                "audienceType": "ALL",
            }),
        ),
        ("UpdateCampaignRequest", json!({ "subject": "What is new in April" })),
        ("SendCampaignRequest", json!({ "scheduledFor": "2030-03-01T09:00:00Z" })),
        ("RetryCampaignRequest", json!({ "state": "FAILED" })),
        ("DecideHeldRequest", json!({ "decision": "release" })),
        ("AddDomainRequest", json!({ "domain": "news.example.com" })),
    ]
}

/// Requests that are about contacts, segments, topics and events.
fn of_audience() -> Vec<(&'static str, Value)> {
    let topic = "01a20000-0000-7000-8000-000000000003";
    let condition = json!({
        "logic": "AND",
        "groups": [{ "filters": [{ "field": "data.plan", "operator": "equals", "value": "pro" }] }],
    });
    vec![
        ("VerifyAddressRequest", json!({ "email": "ada@gmial.com" })),
        ("VerifySegmentRequest", json!({ "segmentId": "01890000-0000-7000-8000-000000000011" })),
        ("VerifyAddressesRequest", json!({ "emails": ["ada@example.org", "info@example.com"] })),
        (
            "TrackRequest",
            json!({ "email": "ada@example.org", "event": "order_placed", "data": { "plan": "pro" } }),
        ),
        (
            "InternalTrack",
            json!({ "email": "ada@example.org", "event": "order_placed", "data": { "plan": "pro" } }),
        ),
        (
            "UpsertRequest",
            json!({ "email": "ada@example.org", "subscribed": true, "data": { "name": "Ada", "plan": "pro" } }),
        ),
        ("UpdateContactRequest", json!({ "subscribed": false, "data": { "plan": null } })),
        ("DataObject", json!({ "name": "Ada", "plan": "pro" })),
        (
            "CheckEmailRequest",
            json!({
                "from": "hello@example.com", "subject": "Your order is on its way",
                "body": "<p>Hello {{name}}, your parcel leaves tomorrow.</p>", "data": { "name": "Ada" },
            }),
        ),
        (
            "InterveneRequest",
            json!({ "kind": "PAUSE", "domain": "example.org", "reason": "They asked us to wait until Monday." }),
        ),
        ("OneClick", json!({ "List-Unsubscribe": "One-Click" })),
        ("TopicsForm", json!({ "shown": [topic], "topic": [topic] })),
        ("CreateTopicRequest", json!({ "name": "Product news", "description": "What is new, once a month" })),
        ("UpdateTopicRequest", json!({ "doubleOptIn": true })),
        ("SetContactTopicsRequest", json!({ "topics": [{ "id": topic, "subscribed": true }] })),
        ("FilterTree", condition.clone()),
        ("CreateSegmentRequest", json!({ "name": "Customers on Pro", "condition": condition })),
        ("PreviewSegmentRequest", json!({ "condition": condition, "sample": 5 })),
        (
            "SearchContactsRequest",
            json!({ "condition": condition, "subscribed": true, "sort": "email", "dir": "asc" }),
        ),
        ("UpdateSegmentRequest", json!({ "name": "Customers on Pro", "trackMembership": true })),
        ("AddMembersRequest", json!({ "emails": ["ada@example.org"], "createMissing": true })),
        (
            "CreateSuppressionRuleRequest",
            json!({ "name": "Test recipients", "kind": "SUFFIX", "pattern": "+test" }),
        ),
        ("UpdateSuppressionRuleRequest", json!({ "enabled": false })),
        ("PreviewSuppressionRequest", json!({ "address": "ada+test@example.org" })),
        ("SuppressAddressRequest", json!({ "email": "ada@example.org", "reason": "manual" })),
        (
            "SuppressAddressesRequest",
            json!({ "emails": ["ada@example.org", "grace@example.org"], "reason": "complaint" }),
        ),
    ]
}

/// Requests that are about workflows.
fn of_workflows() -> Vec<(&'static str, Value)> {
    let id = "01a20000-0000-7000-8000-000000000001";
    let other = "01a20000-0000-7000-8000-000000000002";
    vec![
        ("CreateWorkflowRequest", json!({ "name": "Welcome", "eventName": "signed_up" })),
        ("UpdateWorkflowRequest", json!({ "enabled": true })),
        ("BulkUpdateWorkflowsRequest", json!({ "ids": [id], "delete": true })),
        (
            "AddStepRequest",
            json!({
                "type": "DELAY",
                "name": "A day later",
                "position": { "x": 100, "y": 200 },
                "config": { "amount": 1, "unit": "days" },
            }),
        ),
        ("UpdateStepRequest", json!({ "config": { "amount": 2, "unit": "days" } })),
        (
            "InsertStepRequest",
            json!({ "type": "DELAY", "name": "An hour later", "config": { "amount": 1, "unit": "hours" } }),
        ),
        ("AddTransitionRequest", json!({ "fromStepId": id, "toStepId": other, "branch": "yes" })),
        ("MigrateWorkflowRequest", json!({ "dryRun": true })),
        ("StartExecutionRequest", json!({ "contactId": id, "context": { "source": "fair" } })),
        ("EnrolSegmentRequest", json!({ "segmentId": id })),
        ("RetentionChange", json!({ "events": 365, "bodies": 7 })),
        ("MarketingCapChange", json!({ "emails": 3, "hours": 168 })),
    ]
}

/// Requests that are about accounts and projects.
fn of_people() -> Vec<(&'static str, Value)> {
    vec![
        ("ProofRequest", json!({ "password": "correct horse battery" })),
        ("EraseRequest", json!({ "keepOut": true, "password": "correct horse battery" })),
        (
            "EraseAddressRequest",
            json!({ "email": "ada@example.org", "keepOut": true, "password": "correct horse battery" }),
        ),
        ("ErasureCheckRequest", json!({ "email": "ada@example.org" })),
        (
            "VerifyRequest",
            json!({
                "token": "6f1d3c5b7a9e0f2d4c6b8a1e3f5d7c9b0a2e4f6d8c1b3a5e7f9d0c2b4a6e8f10",
                "password": "correct horse battery",
            }),
        ),
        (
            "PasswordChange",
            json!({ "currentPassword": "correct horse battery", "newPassword": "another horse battery" }),
        ),
        ("UserChange", json!({ "name": "Ada" })),
        (
            "BillingLimitsChange",
            json!({ "workflows": 5000, "campaigns": 50_000, "transactional": null, "inbound": null }),
        ),
        ("ProjectChange", json!({ "name": "Rockets", "language": "en" })),
        ("NewKey", json!({ "name": "Web shop", "scopes": ["read", "send"] })),
        ("InviteRequest", json!({ "email": "grace@example.org", "role": "MEMBER" })),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An example of a schema that got another name would be left out without a word.
    #[test]
    fn every_example_is_of_a_schema() {
        let (document, _) = crate::document_and_order("http://127.0.0.1:8080");
        for (name, _) in examples() {
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
    }
}

//! Which names the texts of answers can be.

use mailwright_core::domain::{DifferenceKind, IdentityStatus, IdentityTrouble};
use serde_json::{Value, json};

use crate::error::CODES;

/// Names, or null.
fn or_null(names: &[&str]) -> Value {
    names.iter().map(|name| json!(name)).chain([Value::Null]).collect()
}

/// Texts of answers that are one of some names, merged as in `conditions`.
pub(super) fn of_answers() -> Vec<(&'static str, Value)> {
    let one_of = |names: Value| json!({ "enum": names });
    let level = || one_of(json!(["healthy", "warning", "critical"]));
    let job = |mut result: Value| {
        // null until there is one
        result["type"] = json!(["object", "null"]);
        json!({ "properties": {
            "state": one_of(json!(["waiting", "active", "delayed", "completed", "failed"])),
            "progress": { "minimum": 0, "maximum": 100 },
            "result": result,
        } })
    };
    let truth = || json!({ "properties": { "success": { "const": true } } });
    vec![
        ("ErrorEnvelope", json!({ "properties": { "success": { "const": false } } })),
        ("ErrorBody", json!({ "properties": { "code": one_of(json!(CODES)) } })),
        ("Done", truth()),
        ("Revoked", truth()),
        ("Removed", truth()),
        ("SentTest", truth()),
        ("Health", json!({ "properties": { "status": { "const": "ok" } } })),
        ("KeyView", json!({ "properties": { "kind": one_of(json!(["secret", "public"])) } })),
        ("UserView", json!({ "properties": { "type": one_of(json!(["PASSWORD", "EXTERNAL"])) } })),
        (
            "ProjectView",
            json!({ "properties": { "tracking": one_of(json!(["ENABLED", "DISABLED", "MARKETING_ONLY"])) } }),
        ),
        (
            "ActorView",
            json!({ "properties": { "type": one_of(json!(["user", "key", "operator", "service"])) } }),
        ),
        (
            "FieldView",
            json!({ "properties": {
            "type": one_of(json!(["string", "number", "boolean", "date"])),
            "coverage": { "minimum": 0, "maximum": 1 },
        } }),
        ),
        ("DomainView", json!({ "properties": { "status": one_of(json!(["verified", "pending"])) } })),
        (
            "RecordView",
            json!({ "properties": {
            "type": one_of(json!(["TXT", "CNAME", "MX"])),
            "purpose": one_of(json!([
                "dkim", "spf", "dmarc", "return_path", "tracking", "inbound", "mta_sts", "mta_sts_host", "tls_reports",
                "bimi", "ses_dkim",
            ])),
            "status": one_of(json!(["found", "missing", "mismatch", "unavailable", "unchecked"])),
            "differenceKind": one_of(or_null(&DifferenceKind::ALL.map(DifferenceKind::as_str))),
        } }),
        ),
        (
            "DomainIdentityView",
            json!({ "properties": {
            "status": one_of(json!(IdentityStatus::ALL.map(IdentityStatus::as_str))),
            "errorKind": one_of(or_null(&IdentityTrouble::ALL.map(IdentityTrouble::as_str))),
            "signedWith": one_of(json!(["own_key", "easy_dkim", null])),
        } }),
        ),
        (
            "AttemptView",
            json!({ "properties": {
            "outcome": one_of(json!(["sent", "deferred", "bounced", "failed", "in_doubt"])),
        } }),
        ),
        (
            "JobView_BulkResult",
            job(json!({
                "properties": { "operation": one_of(json!(["subscribe", "unsubscribe", "delete"])) },
            })),
        ),
        ("JobView_ImportResult", job(json!({}))),
        (
            "LevelsView",
            json!({ "properties": {
            "bounce7Day": level(), "bounceAllTime": level(), "complaint7Day": level(), "complaintAllTime": level(),
        } }),
        ),
    ]
}

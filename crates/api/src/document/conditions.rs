//! Conditions that the types of fields do not express: which fields need each other, how many items there are, and
//! which names a text can be.

use mailwright_core::custom_data::{self, MAX_KEY};
use mailwright_core::event::MAX_EVENT_NAME;
use mailwright_core::filter::{self, Activity, MAX_CONDITIONS, MAX_TEXT};
use mailwright_core::header::MAX_NAME;
use serde_json::{Value, json};

use super::answers::of_answers;
use crate::audience::contact;
use crate::audience::segment::members;
use crate::fields::{ADDRESS, MAILBOX};
use crate::project;
use crate::sending::{held, send};

/// Any text that can be stored.
const STORABLE: &str = r"^[^\u0000]*$";
/// An id as it is written.
const ID: &str = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";
/// How far from 1970 a time can lie, in milliseconds.
const FARTHEST: i64 = 8_640_000_000_000_000;

/// Additions to the schema of a name, merged as RFC 7396 (JSON Merge Patch) has it: null removes a member.
pub(super) fn conditions() -> Vec<(&'static str, Value)> {
    let mut all = of_requests();
    all.extend(of_waiting_mail());
    all.extend(of_filters());
    all.extend(of_answers());
    all
}

fn has(field: &str, kind: &str) -> Value {
    json!({ "required": [field], "properties": { field: { "type": kind } } })
}

/// Requests about a mail that is not sent yet.
fn of_waiting_mail() -> Vec<(&'static str, Value)> {
    vec![
        ("CheckEmailRequest", one_mail()),
        // a domain or a site, not both
        (
            "InterveneRequest",
            json!({ "anyOf": [
                { "properties": { "domain": { "type": "null" } } },
                { "properties": { "site": { "type": "null" } } },
            ] }),
        ),
    ]
}

/// A mail as it is sent, a template, or a campaign.
fn one_mail() -> Value {
    const MAIL: [&str; 12] = [
        "subject",
        "body",
        "text",
        "template",
        "from",
        "fromName",
        "name",
        "headers",
        "reply",
        "attachments",
        "tracking",
        "type",
    ];
    let none = |fields: &[&str]| {
        let none = fields.iter().map(|field| ((*field).to_owned(), json!({ "type": "null" })));
        json!({ "properties": none.collect::<serde_json::Map<_, _>>() })
    };
    let saved = |is: &str, other: &str| {
        let others: Vec<_> = MAIL.into_iter().chain([other]).collect();
        json!({ "allOf": [has(is, "string"), none(&others)] })
    };
    let mail = none(&["templateId", "campaignId"]);
    json!({
        "properties": { "headers": { "propertyNames": { "pattern": "^[!-9;-~]+$", "maxLength": MAX_NAME } } },
        "anyOf": [
            saved("templateId", "campaignId"),
            saved("campaignId", "templateId"),
            { "allOf": [mail, has("template", "string")] },
            { "allOf": [
                mail, has("subject", "string"), has("body", "string"),
                { "required": ["from"], "properties": { "from": { "type": ["string", "object"] } } },
            ] },
        ],
    })
}

fn of_requests() -> Vec<(&'static str, Value)> {
    let addresses = |most: usize| json!({ "properties": { "emails": { "minItems": 1, "maxItems": most } } });
    vec![
        (
            "SendRequest",
            json!({
                "properties": { "headers": { "propertyNames": { "pattern": "^[!-9;-~]+$", "maxLength": MAX_NAME } } },
                "anyOf": [has("template", "string"), { "allOf": [
                    has("subject", "string"), has("body", "string"),
                    { "required": ["from"], "properties": { "from": { "type": ["string", "object"] } } },
                ] }],
            }),
        ),
        (
            "Attachment",
            json!({ "anyOf": [
            { "properties": { "disposition": { "enum": ["attachment", null] } } }, has("contentId", "string"),
        ] }),
        ),
        ("CreateTemplateRequest", json!({ "anyOf": content() })),
        ("CreateCampaignRequest", new_campaign()),
        ("UpdateCampaignRequest", judged("audienceType", "FILTERED", "audienceCondition")),
        (
            "To",
            json!({ "oneOf": [
            refer("Email"),
            refer("NamedAddress"),
            { "type": "array", "items": refer("OneRecipient"), "maxItems": send::MAX_RECIPIENTS },
        ] }),
        ),
        (
            "CreateSegmentRequest",
            json!({
                "properties": { "condition": {
                    "oneOf": null, "description": "Required for a dynamic segment, ignored for a static one.",
                } },
                "anyOf": [
                    is("type", "STATIC"),
                    {
                        "required": ["condition"],
                        "properties": { "type": { "enum": ["DYNAMIC", null] }, "condition": refer("FilterTree") },
                    },
                ],
            }),
        ),
        (
            "InternalTrack",
            json!({ "allOf": [
                { "anyOf": [has("email", "string"), has("contactId", "string")] },
                { "anyOf": [
                    { "required": ["event"], "properties": { "event": { "type": "string", "not": reserved() } } },
                    { "required": ["name"], "properties": {
                        "event": { "type": "null" }, "name": { "type": "string", "not": reserved() },
                    } },
                ] },
            ] }),
        ),
        ("TrackRequest", json!({ "properties": { "event": { "not": reserved() } } })),
        (
            "DecideHeldRequest",
            json!({
                "properties": { "ids": { "minItems": 1, "maxItems": held::MAX_IDS } },
                "not": { "allOf": [has("campaignId", "string"), has("ids", "array")] },
            }),
        ),
        ("LookupRequest", addresses(contact::MAX_LOOKUP)),
        ("AddMembersRequest", addresses(members::MAX_EMAILS)),
        ("RemoveRequest", addresses(members::MAX_EMAILS)),
        (
            "UpdateSegmentRequest",
            json!({ "properties": { "condition": { "oneOf": [refer("FilterTree")] } } }),
        ),
        (
            "ProjectChange",
            json!({ "properties": { "sendingPerSecond": { "minimum": 1, "maximum": project::MOST_PER_SECOND } } }),
        ),
        (
            "DataObject",
            json!({
                "maxProperties": custom_data::MAX_KEYS,
                "propertyNames": { "minLength": 1, "maxLength": MAX_KEY, "pattern": STORABLE },
            }),
        ),
        // padded or not, and without bits that are in no byte
        (
            "Base64Text",
            json!({
                "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw](=?=?)|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=?)?$",
            }),
        ),
        (
            "DomainText",
            json!({ "pattern": r"^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}\.?$" }),
        ),
        (
            "MailboxText",
            json!({
                "anyOf": [{ "pattern": ADDRESS, "maxLength": 254 }, { "pattern": MAILBOX }],
            }),
        ),
    ]
}

fn is(field: &str, value: &str) -> Value {
    json!({ "required": [field], "properties": { field: { "const": value } } })
}

/// Names of the service's own events, as `core::event::is_reserved` knows them.
fn reserved() -> Value {
    json!({ "pattern": r"^(email\.[\s\S]*|contact\.(un)?subscribed|segment\.([\s\S]*\.)?(entry|exit))$" })
}

/// The fields that the audience type of a new campaign requires. A campaign that is changed may have them already.
fn new_campaign() -> Value {
    let mut campaign = judged("audienceType", "FILTERED", "audienceCondition");
    campaign["anyOf"] = content();
    campaign["allOf"] = json!([{ "if": is("audienceType", "SEGMENT"), "then": has("segmentId", "string") }]);
    campaign
}

/// What something new says: HTML, or MJML that it is made from.
fn content() -> Value {
    json!([has("body", "string"), has("mjml", "string")])
}

fn refer(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// A filter tree that is looked at where another field has this value, and needed there.
fn judged(field: &str, value: &str, tree: &str) -> Value {
    json!({
        "properties": { tree: { "oneOf": null, "description": "A filter tree. Required for an audience of \
            type `FILTERED`, ignored for others." } },
        "if": is(field, value),
        "then": { "required": [tree], "properties": { tree: refer("FilterTree") } },
    })
}

/// Filters: which operators a field takes, and what they need.
fn of_filters() -> Vec<(&'static str, Value)> {
    vec![
        ("FilterTree", json!({ "properties": { "groups": { "minItems": 1 } } })),
        (
            "FilterGroup",
            json!({
                "properties": { "filters": { "maxItems": MAX_CONDITIONS } },
                "anyOf": [{ "properties": { "filters": { "minItems": 1 } } }, has("conditions", "object")],
            }),
        ),
        (
            "Filter",
            json!({
                "properties": {
                    "operator": { "enum": filter::operator_names().collect::<Vec<_>>() },
                    // they are looked at where an operator needs them
                    "value": { "type": null },
                    "unit": { "type": null },
                },
                "anyOf": filters(),
            }),
        ),
    ]
}

fn filters() -> Vec<Value> {
    let named = |names: &[&str]| json!({ "enum": names });
    let formed = |pattern: String, most: usize| json!({ "pattern": pattern, "maxLength": most });
    let data = || formed(r"^data\.[^.\u0000]*(\.[^.\u0000]*){0,31}$".into(), "data.".len() + MAX_KEY);
    let text = || json!({ "type": "string", "maxLength": MAX_TEXT, "pattern": STORABLE });
    let ordered = || json!({ "anyOf": [{ "type": "number" }, text()] });
    let instant = json!({ "anyOf": [
        { "type": "number", "minimum": -FARTHEST, "maximum": FARTHEST },
        { "type": "string", "format": "date-time" },
        { "type": "string", "format": "date" },
    ] });
    let equal = ["equals", "notEquals"];
    let within = ["contains", "notContains"];
    let compared = ["greaterThan", "lessThan", "greaterThanOrEqual", "lessThanOrEqual"];
    let aged = ["within", "olderThan"];
    let times = || named(&["createdAt", "updatedAt"]);
    let activities: Vec<String> = Activity::ALL.iter().map(|a| format!("email.{}", a.as_str())).collect();
    let any_event = json!({
        "minLength": 1, "maxLength": MAX_EVENT_NAME, "pattern": STORABLE,
        "not": { "pattern": format!(r"^(email|subscribed|createdAt|updatedAt|data\.[\s\S]*|event\.|segment\.{ID})$") },
    });
    let events = || json!({ "anyOf": [any_event, { "enum": activities }] });
    let happened = ["triggered", "notTriggered"];
    let recently = ["triggeredWithin", "triggeredOlderThan", "notTriggeredWithin"];
    let segment = formed(format!(r"^segment\.{ID}$"), 44);
    let anything = json!({ "type": ["boolean", "number", "string", "array", "object"] });
    let single = json!({ "anyOf": [{ "type": ["boolean", "number"] }, text()] });
    vec![
        with_value(named(&["email"]), &[equal, within].concat(), text()),
        with_value(named(&["subscribed"]), &equal, anything),
        with_value(times(), &[&equal[..], &compared].concat(), instant),
        with_length(times(), &aged),
        with_value(data(), &equal, single),
        with_value(data(), &within, text()),
        with_value(data(), &compared, ordered()),
        with_length(data(), &aged),
        with(data(), &["exists", "notExists"]),
        with(events(), &happened),
        with_length(events(), &recently),
        with(segment, &["memberOfSegment", "notMemberOfSegment"]),
    ]
}

/// A field with operators that need nothing more.
fn with(field: Value, operators: &[&str]) -> Value {
    json!({ "properties": { "field": field, "operator": { "enum": operators } } })
}

/// The same with operators that need a value.
fn with_value(field: Value, operators: &[&str], value: Value) -> Value {
    let mut filter = with(field, operators);
    filter["required"] = json!(["value"]);
    filter["properties"]["value"] = value;
    filter
}

/// The same with operators that need a length of time.
fn with_length(field: Value, operators: &[&str]) -> Value {
    let mut filter = with_value(field, operators, json!({ "type": "number", "minimum": 0 }));
    filter["required"] = json!(["value", "unit"]);
    filter["properties"]["unit"] = json!({ "enum": ["days", "hours", "minutes"] });
    filter
}

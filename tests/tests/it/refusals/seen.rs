//! Which refusals were met, and which of the API document were not.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_testkit::{Rows, Value};
use mailwright_tests::{members, text};

use super::changes::{Cause, Changes};
use super::refusal::Refusal;
use super::world::World;

/// Refusals that no request here is given, with the reason.
const ELSEWHERE: &[(&str, u16, &str)] = &[
    ("put /campaigns/{id}", 409, "it takes somebody who changes the campaign again and again meanwhile"),
    (
        "post /campaigns/{id}/versions/{number}/restore",
        409,
        "it takes somebody who changes the campaign again and again meanwhile",
    ),
    ("post /delivery/interventions", 400, "it takes a hundred of them"),
    ("post /domains/{id}/rotate-keys", 409, "it takes keys that are being replaced: domain_keys.rs"),
    ("post /webhooks/sns", 404, "it takes a message that is signed, as feedback/sns.rs has"),
    ("post /webhooks/incoming/payments", 400, "it takes an instance that bills: billing/events.rs"),
    ("post /webhooks/incoming/stripe", 400, "it takes an instance that bills: billing/events.rs"),
    ("post /users/@me/projects/{id}/checkout", 400, "it takes an instance that bills: billing/portal.rs"),
    (
        "post /users/@me/projects/{id}/billing-portal",
        400,
        "it takes an instance that bills: billing/portal.rs",
    ),
    ("post /suppressions/addresses", 409, "it takes a million rows: suppressions/addresses.rs"),
    ("post /v1/verify/batch", 429, "it takes a name server that does not answer: verification.rs"),
    ("post /contacts/{id}/erase", 429, "it takes a thousand erasures that wait for an import"),
    ("post /erasures", 429, "it takes a thousand erasures that wait for an import"),
    ("post /suppressions/addresses/bulk", 409, "it takes a million rows: suppressions/addresses.rs"),
];

/// What the document says of refusals that never reach a use case. `rules.rs` meets these; every other is the
/// operation's own.
const SHARED: &[&str] = &[
    "The request is malformed: the body is not JSON, or a header is missing",
    "The credential is missing, unknown, or of another kind than this endpoint takes",
    "Missing or invalid key",
    "The credential does not allow this, or the project is disabled",
    "The request comes from a page of another site",
    "Not found in this project",
    "The request body took too long to arrive",
    "The request body is larger than this endpoint takes",
    "Path and query are too long",
    "The host name of the request is not a name of the service",
    "The request is not valid; `errors` names every failing field",
    "Too many requests, or too many of this kind",
    "Too many requests",
    "The header of the request is too large",
];

/// An operation that writes: its security, and for each status that refuses whether the document says of it what it
/// says of every operation.
pub(crate) struct Operation {
    pub(crate) name: String,
    opened_by: BTreeSet<String>,
    pub(crate) takes_json: bool,
    refusals: BTreeMap<u16, bool>,
}

impl Operation {
    /// Whether the document has a refusal.
    pub(crate) fn refuses_with(&self, status: u16) -> bool {
        self.refusals.contains_key(&status)
    }

    /// Whether a key, or a session, or the like opens it.
    pub(crate) fn takes(&self, way: &str) -> bool {
        self.opened_by.contains(way)
    }

    /// Whether its path names a project.
    pub(crate) fn names_project(&self) -> bool {
        self.name.contains("/projects/{id}") || self.name.contains("{projectId}")
    }

    /// Whether somebody can call it who shows nothing.
    pub(crate) fn is_open(&self) -> bool {
        self.opened_by.is_empty() || self.opened_by.contains("")
    }

    fn new(document: &Value, method: &str, path: &str, operation: &Value) -> Self {
        let ways = operation["security"].as_array().into_iter().flatten();
        // a way that asks for nothing has no name
        let name = |way: &Value| members(way).keys().next().cloned().unwrap_or_default();
        let refusals = members(&operation["responses"]).iter().filter(|(status, _)| status.starts_with('4'));
        let shared = |answer: &Value| {
            let answer = answer["$ref"].as_str().map_or(answer, |at| {
                document.pointer(at.trim_start_matches('#')).expect("what a reference names")
            });
            SHARED.contains(&text(&answer["description"]))
        };
        Self {
            name: format!("{method} {path}"),
            opened_by: ways.map(name).collect(),
            takes_json: operation["requestBody"]["content"].get("application/json").is_some(),
            refusals: refusals.map(|(status, it)| (status.parse().expect("a status"), shared(it))).collect(),
        }
    }
}

/// What was met so far.
pub(crate) struct Seen {
    pub(crate) operations: Vec<Operation>,
    rows: Rows,
    changes: Changes,
    by_rule: BTreeSet<(String, u16)>,
    by_request: BTreeSet<(String, u16)>,
    faults: Vec<String>,
}

impl Seen {
    pub(crate) async fn new(world: &World) -> Self {
        let document = world.app.request("GET", "/openapi.json").send().await.assert_status(200).json();
        let mut operations = Vec::new();
        for (path, item) in members(&document["paths"]) {
            for (method, operation) in members(item) {
                if ["post", "put", "patch", "delete"].contains(&method.as_str()) {
                    operations.push(Operation::new(&document, method, path, operation));
                }
            }
        }
        Self {
            operations,
            rows: world.settled().await,
            changes: Changes::default(),
            by_rule: BTreeSet::new(),
            by_request: BTreeSet::new(),
            faults: Vec::new(),
        }
    }

    /// Takes what the database holds as what it has to hold from now on, once nothing changes it any more.
    pub(crate) async fn begin_anew(&mut self, world: &World) {
        self.rows = world.settled().await;
    }

    /// The same after a change behind the service's back, after which nothing follows.
    pub(crate) async fn look_again(&mut self, world: &World) {
        self.rows = world.app.rows().await;
    }

    /// Sends requests one after the other. Each has to be refused, and to leave the database as it was.
    pub(crate) async fn check(&mut self, world: &World, refusals: Vec<Refusal>) {
        for refusal in refusals {
            let answer = refusal.asked.request.clone().send().await;
            if let Some(fault) = refusal.fault(&answer) {
                self.faults.push(format!("{}: {fault}", refusal.name()));
            }
            let operation = refusal.asked.operation;
            let documented = self.operations.iter().find(|it| it.name == operation);
            let documented = documented.unwrap_or_else(|| panic!("the document has no {operation}"));
            if !documented.refuses_with(refusal.status) {
                self.faults.push(format!("{}: the document does not say so", refusal.name()));
            }
            self.by_request.insert((operation.to_owned(), refusal.status));
            self.compare(world, &refusal.name(), refusal.causes).await;
        }
    }

    /// Notes that a rule was kept by requests to operations, which leave the database as it was.
    pub(crate) async fn kept_rule(
        &mut self,
        world: &World,
        rule: &str,
        status: u16,
        operations: Vec<String>,
        causes: &[Cause],
    ) {
        self.by_rule.extend(operations.into_iter().map(|name| (name, status)));
        self.compare(world, rule, causes).await;
    }

    pub(crate) fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    async fn compare(&mut self, world: &World, what: &str, causes: &[Cause]) {
        let rows = world.app.rows().await;
        let changes = self.changes.between(&self.rows, &rows, causes);
        if !changes.is_empty() {
            self.faults.push(format!("{what}, leaves behind:\n    {}", changes.join("\n    ")));
        }
        self.rows = rows;
    }

    /// Fails when a refusal was another one, left something behind or was not met.
    pub(crate) fn assert_complete(mut self) {
        for operation in &self.operations {
            for (&status, is_shared) in &operation.refusals {
                let met = (operation.name.clone(), status);
                let excepted =
                    ELSEWHERE.iter().find(|(of, code, _)| (*of, *code) == (met.0.as_str(), status));
                let is_met = self.by_request.contains(&met) || (*is_shared && self.by_rule.contains(&met));
                match excepted {
                    None if !is_met => self.faults.push(format!("{} {status} is not met", operation.name)),
                    Some((.., why)) if is_met => {
                        self.faults.push(format!("{} {status} is met, although {why}", operation.name));
                    }
                    _ => {}
                }
            }
        }
        let faults = self.faults.len();
        assert!(self.faults.is_empty(), "{faults} faults:\n{}", self.faults.join("\n"));
        self.changes.assert_all_needed();
    }
}

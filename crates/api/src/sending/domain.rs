//! `/domains`.

use std::collections::BTreeMap;

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::sending::domain::{DomainWithRecords, Record};
use mailwright_app::{App, Error, Resource};
use mailwright_core::address::DomainName;
use mailwright_core::domain::{DomainIdentity, IdentityTrouble, IdentityWay, KeyRole};
use mailwright_core::ids::{DomainId, ProjectId};
use mailwright_core::issue::Issue;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::needs::{ManageDomains, ReadProject};
use crate::auth::{PathAccess, ProjectAccess};
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::fields::DomainText;
use crate::params::{self, PathText};
use crate::schema::{Body, Payload};

/// A sender domain.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DomainView {
    id: DomainId,
    domain: String,
    /// Whether the project may send from it.
    verified: bool,
    /// `verified` or `pending`.
    status: &'static str,
    /// The DNS records to create.
    records: Vec<RecordView>,
    /// The names of the DNS records of keys that were replaced. They should stay until the time given.
    former_keys: Vec<FormerKeyView>,
    /// The accounts of Amazon SES that the domain is, or is to be, registered with.
    identities: Vec<DomainIdentityView>,
    project_id: ProjectId,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

/// The DNS record of a key that was replaced.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FormerKeyView {
    /// The complete name.
    name: String,
    /// From when on it can be removed.
    #[schema(value_type = Option<String>, format = DateTime)]
    remove_after: Option<Timestamp>,
}

/// A domain as it is registered with an account of Amazon SES.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DomainIdentityView {
    /// The name of the transport that leads to the account.
    transport: String,
    /// `verified`: SES takes mail from the domain. `pending`: it has not verified it yet. `failed`: it has given up looking
    /// for the records. `denied`, `throttled`, `limited`, `refused`, `unavailable`: why it could not be registered or asked
    /// about.
    status: &'static str,
    /// What SES signs with: `own_key` is the key of the domain, `easy_dkim` are keys of SES, which need the records with
    /// the purpose `ses_dkim`. Null before that is known.
    signed_with: Option<&'static str>,
    /// Why the last request came to nothing. It is made again at the next check of the domain.
    error: Option<String>,
    /// The same, for programs. `missing`: SES did not have the domain. `denied`, `throttled`, `limited`, `refused`,
    /// `unavailable`: as in `status`. `key_unreadable`: the domain's key cannot be decrypted. The domain waits for
    /// `key_unpublished`: the record of its RSA key; `day_used_up`: another day; `removals_wait`: others to be removed from
    /// the account. Null where nothing is wrong.
    error_kind: Option<&'static str>,
    /// When SES was asked last.
    #[schema(value_type = Option<String>, format = DateTime)]
    checked_at: Option<Timestamp>,
}

impl From<DomainIdentity> for DomainIdentityView {
    fn from(identity: DomainIdentity) -> Self {
        Self {
            transport: identity.transport,
            status: identity.status.as_str(),
            signed_with: identity.way.map(IdentityWay::as_str),
            error: identity.error,
            error_kind: identity.trouble.map(IdentityTrouble::as_str),
            checked_at: identity.checked_at,
        }
    }
}

/// A DNS record to create.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecordView {
    /// `TXT`, `CNAME` or `MX`.
    r#type: &'static str,
    /// The complete name.
    name: String,
    value: String,
    /// Preference of an MX record.
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<u16>,
    /// What the record is for.
    purpose: &'static str,
    /// Whether the domain needs this record to be verified.
    required: bool,
    /// `found`, `missing`, `mismatch`, `unavailable`, or `unchecked` before the first check.
    status: &'static str,
    /// The values found at the last check.
    found: Vec<String>,
    /// What is different about the record, and what to do about it, in a sentence or two. Null where it was found, or not
    /// looked for yet.
    difference: Option<String>,
    /// Which of the usual mistakes `difference` tells of, for programs. Null where that is null.
    difference_kind: Option<&'static str>,
    /// The values in `difference` that the record does not have itself, by their names. Missing where there are none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    difference_details: BTreeMap<String, String>,
    /// The record as a line of a zone file (RFC 1035). What not everybody should publish is a comment, below a line that says
    /// why.
    zone: String,
}

impl From<Record> for RecordView {
    fn from(record: Record) -> Self {
        let zone = record.zone();
        let Record { expected, status, found, difference } = record;
        let difference_kind = difference.as_ref().map(|difference| difference.kind.as_str());
        let (difference, details) = difference.map(|told| (told.text, told.details)).unzip();
        Self {
            r#type: expected.kind.as_str(),
            name: expected.name,
            value: expected.value,
            priority: expected.priority,
            purpose: expected.purpose.as_str(),
            required: expected.required,
            status: status.map_or("unchecked", |status| status.as_str()),
            found,
            difference,
            difference_kind,
            difference_details: details
                .into_iter()
                .flatten()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            zone,
        }
    }
}

impl DomainView {
    fn new(found: DomainWithRecords, project: &Project) -> Self {
        let DomainWithRecords { domain, records, keys, identities } = found;
        let former = keys.into_iter().filter(|key| key.role == KeyRole::Former);
        Self {
            former_keys: former
                .map(|key| FormerKeyView {
                    name: format!("{}._domainkey.{}", key.selector, domain.name),
                    remove_after: key.remove_after,
                })
                .collect(),
            id: domain.id,
            domain: domain.name.to_string(),
            verified: domain.verified,
            status: if domain.verified { "verified" } else { "pending" },
            records: records.into_iter().map(RecordView::from).collect(),
            identities: identities.into_iter().map(DomainIdentityView::from).collect(),
            project_id: project.id,
            created_at: domain.created_at,
            updated_at: domain.updated_at,
        }
    }
}

/// A domain to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AddDomainRequest)]
pub(crate) struct AddRequest {
    domain: DomainText,
    /// If given, it must be the key's project.
    project_id: Option<ProjectId>,
}

impl Payload for AddRequest {
    fn check(&self) -> Vec<Issue> {
        match DomainName::parse(&self.domain.0) {
            Some(_) => Vec::new(),
            None => {
                vec![Issue::new("domain", "invalid_string", "Must be a domain name, such as example.com.")]
            }
        }
    }
}

/// Add a domain
///
/// Answers with the DNS records to create. The domain is verified once the required ones are found. Public suffixes and
/// domains of providers of mailboxes are refused.
#[utoipa::path(post, path = "/domains", tag = "Domains", operation_id = "addDomain", security(("secretKey" = []), ("session" = [])),
    request_body = AddRequest,
    responses(
        (status = 201, body = DomainView),
        (status = 403, description = "The id is that of another project, or the domain cannot be added here", body = ErrorEnvelope),
        (status = 409, description = "The project has the domain already", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn add(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<ManageDomains>,
    Body(body): Body<AddRequest>,
) -> Result<(StatusCode, Json<DomainView>), Failure> {
    if body.project_id.is_some_and(|id| id != project.id) {
        return Err(Error::Forbidden("The key does not belong to that project.".into()).into());
    }
    let invalid = || Error::Invalid(vec![Issue::new("domain", "invalid_string", "Must be a domain name.")]);
    let name = DomainName::parse(&body.domain.0).ok_or_else(invalid)?;
    let added = app.add_domain(&project, &caller.actor, name).await?;
    Ok((StatusCode::CREATED, Json(DomainView::new(added, &project))))
}

/// List domains
#[utoipa::path(get, path = "/domains/project/{projectId}", tag = "Domains", operation_id = "listDomains", security(("secretKey" = []), ("session" = [])),
    params(("projectId" = String, Path)),
    responses((status = 200, body = Vec<DomainView>), (status = 404, description = "The project is not the key's", body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    PathAccess(project, ..): PathAccess<ReadProject>,
) -> Result<Json<Vec<DomainView>>> {
    let domains = app.domains(&project).await?;
    Ok(Json(domains.into_iter().map(|domain| DomainView::new(domain, &project)).collect()))
}

/// Verify a domain
///
/// Looks up the records of the domain now. The service also does so by itself every 5 minutes.
#[utoipa::path(get, path = "/domains/{id}/verify", tag = "Domains", operation_id = "verifyDomain", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = DomainView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn verify(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadProject>,
    PathText(id): PathText,
) -> Result<Json<DomainView>> {
    let checked = app.verify_domain(&project, params::id(&id, Resource::Domain)?).await?;
    Ok(Json(DomainView::new(checked, &project)))
}

/// Replace the keys of a domain
///
/// Makes new DKIM keys, whose records are listed with the others. A key is replaced once the record of the new one is
/// found; the record of the old one should stay for a week after that.
#[utoipa::path(post, path = "/domains/{id}/rotate-keys", tag = "Domains", operation_id = "rotateDomainKeys", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = DomainView), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "New keys wait for their records already", body = ErrorEnvelope)))]
pub(crate) async fn rotate_keys(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<ManageDomains>,
    PathText(id): PathText,
) -> Result<Json<DomainView>> {
    let id = params::id(&id, Resource::Domain)?;
    let rotated = app.rotate_domain_keys(&project, &caller.actor, id).await?;
    Ok(Json(DomainView::new(rotated, &project)))
}

/// A removal.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Removed {
    success: bool,
}

/// Remove a domain
#[utoipa::path(delete, path = "/domains/{id}", tag = "Domains", operation_id = "deleteDomain", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = Removed), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "A template or campaign still sends from the domain", body = ErrorEnvelope)))]
pub(crate) async fn delete(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<ManageDomains>,
    PathText(id): PathText,
) -> Result<Json<Removed>> {
    app.delete_domain(&project, &caller.actor, params::id(&id, Resource::Domain)?).await?;
    Ok(Json(Removed { success: true }))
}

//! `/v1/verify`: whether addresses can take mail.

use axum::extract::State;
use mailwright_app::App;
use mailwright_app::audience::verification::{MAX_ADDRESSES, Verification};
use mailwright_core::address::EmailAddress;
use mailwright_core::issue::Issue;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadContacts;
use crate::envelope::Success;
use crate::error::{ErrorEnvelope, Result};
use crate::fields::clip;
use crate::json::Json;
use crate::schema::{Body, Payload, check_count};

/// The longest address that is looked at, in bytes: an address has at most 254 characters.
const MAX_ADDRESS: usize = 1016;

/// An address to verify.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct VerifyAddressRequest {
    #[schema(format = "email", max_length = 1016)]
    email: String,
}

impl Payload for VerifyAddressRequest {
    fn check(&self) -> Vec<Issue> {
        if EmailAddress::parse(&self.email).is_some() {
            return Vec::new();
        }
        vec![Issue::new("email", "invalid_string", "Must be an email address.").received(clip(&self.email))]
    }
}

/// Addresses to verify.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct VerifyAddressesRequest {
    /// Up to 1,000; they need not have the form of addresses.
    #[schema(min_items = 1, max_items = 1000)]
    emails: Vec<String>,
}

impl Payload for VerifyAddressesRequest {
    const MAX_BODY: usize = 2 * 1024 * 1024;

    fn check(&self) -> Vec<Issue> {
        let mut issues = check_count("emails", self.emails.len(), MAX_ADDRESSES);
        let is_long = |(_, email): &(usize, &String)| email.len() > MAX_ADDRESS;
        issues.extend(self.emails.iter().enumerate().filter(is_long).map(|(place, _)| {
            Issue::new(
                format!("emails.{place}"),
                "too_big",
                format!("Must have at most {MAX_ADDRESS} bytes."),
            )
        }));
        issues
    }
}

/// What is found out about an address. A flag that depends on DNS is false while the name server does not answer; a reason
/// says so then.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the contract names these flags")]
pub(crate) struct VerificationView {
    /// The address as it was given.
    email: String,
    /// Whether mail can be sent there, as far as can be known without sending one.
    valid: bool,
    /// Whether the domain has disposable addresses.
    is_disposable: bool,
    /// Whether the domain is of a service that forwards mail and hides the real address.
    is_alias: bool,
    /// Whether the domain was probably mistyped.
    is_typo: bool,
    /// Whether the local part has a tag after a plus.
    is_plus_addressed: bool,
    /// Whether the domain is of a provider of mailboxes for private persons.
    is_personal_email: bool,
    /// Whether the local part is the name of an office or a program, such as `info`.
    is_role_address: bool,
    /// Whether the domain is parked.
    is_parked: bool,
    domain_exists: bool,
    /// Whether the domain has an IPv4 or IPv6 address.
    has_website: bool,
    has_mx_records: bool,
    /// What was found, a sentence each.
    reasons: Vec<String>,
    /// The address that was probably meant; only if `isTypo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    suggested_email: Option<String>,
    /// The same.
    #[serde(skip_serializing_if = "Option::is_none")]
    did_you_mean: Option<String>,
}

impl From<Verification> for VerificationView {
    fn from(found: Verification) -> Self {
        Self {
            email: found.email,
            valid: found.valid,
            is_disposable: found.is_disposable,
            is_alias: found.is_alias,
            is_typo: found.is_typo,
            is_plus_addressed: found.is_plus_addressed,
            is_personal_email: found.is_personal_email,
            is_role_address: found.is_role_address,
            is_parked: found.is_parked,
            domain_exists: found.domain_exists,
            has_website: found.has_website,
            has_mx_records: found.has_mx_records,
            reasons: found.reasons,
            suggested_email: found.suggested_email,
            did_you_mean: found.did_you_mean,
        }
    }
}

/// Verify an address
///
/// By its form, by lists of providers, by DNS, and by what the project knows of it. No mail is sent.
#[utoipa::path(post, path = "/v1/verify", tag = "Public API", operation_id = "verify", security(("secretKey" = []), ("session" = [])),
    request_body = VerifyAddressRequest,
    responses(
        (status = 200, body = Success<VerificationView>),
        (status = 422, description = "It has not the form of an address", body = ErrorEnvelope)))]
pub(crate) async fn verify(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    Body(body): Body<VerifyAddressRequest>,
) -> Result<Json<Success<VerificationView>>> {
    Ok(Json(Success::new(app.verify(&project, &body.email).await?.into())))
}

/// Verify many addresses
///
/// The results have the order of the addresses. One that has not the form of an address is not valid, and its reason says
/// why. Each domain is asked about once; with a name server that does not answer it may take a minute or more.
#[utoipa::path(post, path = "/v1/verify/batch", tag = "Public API", operation_id = "verifyBatch", security(("secretKey" = []), ("session" = [])),
    request_body = VerifyAddressesRequest,
    responses(
        (status = 200, body = Success<Vec<VerificationView>>),
        (status = 422, description = "Validation failed", body = ErrorEnvelope),
        (status = 429, description = "The project has two batches under way", body = ErrorEnvelope)))]
pub(crate) async fn verify_many(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    Body(body): Body<VerifyAddressesRequest>,
) -> Result<Json<Success<Vec<VerificationView>>>> {
    let found = app.verify_all(&project, &body.emails).await?;
    Ok(Json(Success::new(found.into_iter().map(VerificationView::from).collect())))
}

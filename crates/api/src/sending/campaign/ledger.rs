//! `/campaigns/{id}/ledger`: what became of each mail of a campaign.

use std::collections::BTreeMap;

use crate::json::Json;
use axum::extract::State;
use mailwright_app::App;
use mailwright_app::sending::campaign::Overview;
use mailwright_core::campaign::{Campaign, CampaignStatus, Equation, Ledger};
use mailwright_core::email::{EmailStatus, Reason, RecipientState};
use mailwright_core::ids::{CampaignId, ContactId, EmailId};
use mailwright_core::role::Capability;
use mailwright_core::time::Timestamp;
use mailwright_store::sending::campaign::ledger::{Page, Place};
use mailwright_store::sending::email::Email as Mail;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadCampaigns;
use crate::envelope::Time;
use crate::error::{ErrorEnvelope, Result};
use crate::params::{self, Params, PathText, RowLimit, one_of};

/// Number of mails in a state, with the reason if the state has one.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LedgerTotal {
    state: RecipientState,
    reason: Option<Reason>,
    count: i64,
}

/// A contact of a campaign's audience, and the state of its mail.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LedgerEntry {
    /// Id of the mail, for `/emails/{id}`.
    email_id: EmailId,
    /// Always there: the mails of campaigns are for contacts.
    #[schema(value_type = ContactId)]
    contact_id: Option<ContactId>,
    /// Address of the recipient; null if the contact was deleted, or if the key may not read contacts.
    email: Option<String>,
    state: RecipientState,
    reason: Option<Reason>,
    status: EmailStatus,
    /// Why the mail was not sent, in words; null if the key may not read contacts, because replies of mail servers
    /// contain the address.
    error: Option<String>,
    /// Whether a hand-over was interrupted between the content and the reply.
    in_doubt: bool,
    attempt_count: i64,
    #[schema(value_type = Option<String>, format = DateTime)]
    sent_at: Time,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl LedgerEntry {
    /// The entry of a mail, for a caller who may see whom it is for or who may not.
    fn new(mail: Mail, may_see: bool) -> Self {
        Self {
            email_id: mail.id,
            contact_id: mail.contact,
            email: mail.recipient.filter(|_| may_see),
            state: mail.recipient_state.unwrap_or_else(|| RecipientState::of(mail.status)),
            reason: mail.reason,
            status: mail.status,
            error: mail.error.filter(|_| may_see),
            in_doubt: mail.in_doubt > 0,
            attempt_count: mail.attempts,
            sent_at: mail.times[0],
            updated_at: mail.updated_at,
        }
    }
}

/// The ledger of a campaign: audience = waiting + accepted + skipped + failed + in doubt.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CampaignLedger {
    status: CampaignStatus,
    /// Whether the whole audience is frozen.
    frozen: bool,
    /// The current sums: `audience`, `waiting`, `accepted`, `skipped` and `failed` by reason, `inDoubt`. `balanced`
    /// says that no mail waits and the sums add up.
    #[schema(value_type = Object)]
    equation: EquationView,
    /// The sums with which the campaign ended; null before.
    #[schema(value_type = Option<Object>)]
    balance: Option<EquationView>,
    /// The sums by state and reason; sums of zero are left out.
    totals: Vec<LedgerTotal>,
    /// The mails in the state that was asked for.
    data: Vec<LedgerEntry>,
    /// Where the next page starts; null on the last page.
    cursor: Option<String>,
    has_more: bool,
}

/// The equation of a ledger.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EquationView {
    audience: i64,
    waiting: i64,
    accepted: i64,
    skipped: BTreeMap<String, i64>,
    failed: BTreeMap<String, i64>,
    in_doubt: i64,
    balanced: bool,
}

impl From<Equation> for EquationView {
    fn from(equation: Equation) -> Self {
        let Equation { audience, waiting, accepted, skipped, failed, in_doubt, balanced } = equation;
        Self { audience, waiting, accepted, skipped, failed, in_doubt, balanced }
    }
}

/// Show the ledger of a campaign
///
/// Shows its sums, and with `state` the mails in that state, page by page.
#[utoipa::path(get, path = "/campaigns/{id}/ledger", tag = "Campaigns", operation_id = "getCampaignLedger", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        ("state" = Option<RecipientState>, Query, description = "List the mails in this state"),
        ("reason" = Option<Reason>, Query, description = "Only mails with this reason"),
        ("limit" = inline(Option<RowLimit>), Query, description = "Rows per page"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the previous page"),
    ),
    responses(
        (status = 200, body = CampaignLedger), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "Unknown state, reason or cursor", body = ErrorEnvelope)))]
pub(crate) async fn ledger(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<ReadCampaigns>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<CampaignLedger>> {
    let may_see = caller.holder.may(Capability::ReadContacts);
    let id: CampaignId = params::uuid(&id)?;
    let state =
        one_of(&params, "state", RecipientState::from_name, &RecipientState::ALL, RecipientState::as_str)?;
    let reason = one_of(&params, "reason", Reason::from_name, &Reason::ALL, Reason::as_str)?;
    let after = params.cursor::<Cursor>()?.map(|cursor| cursor.0);
    let limit = params.bounded::<RowLimit>() as usize;
    let page = state.map(|recipient_state| Page { recipient_state, reason, after, limit });
    let found = app.campaign_ledger(&project, id, page).await?;
    let Overview { campaign, ledger, .. } = found.overview;
    Ok(Json(CampaignLedger {
        status: campaign.status,
        frozen: is_frozen(&campaign),
        equation: ledger.equation().into(),
        balance: found.balance.map(Into::into),
        totals: totals(&ledger),
        data: found.mails.into_iter().map(|mail| LedgerEntry::new(mail, may_see)).collect(),
        has_more: found.next.is_some(),
        cursor: found.next.map(|place| Cursor(place).to_string()),
    }))
}

fn is_frozen(campaign: &Campaign) -> bool {
    campaign.frozen_at.is_some()
}

fn totals(ledger: &Ledger) -> Vec<LedgerTotal> {
    let total = |(state, reason, count): &(RecipientState, Option<Reason>, i64)| LedgerTotal {
        state: *state,
        reason: *reason,
        count: *count,
    };
    ledger.totals.iter().map(total).collect()
}

/// A place in the ledger as a text: `<reason>:<id>`.
struct Cursor(Place);

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.0.reason, self.0.id)
    }
}

impl std::str::FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let (reason, id) = text.split_once(':').ok_or(())?;
        // also one that this program does not know, which the last mail of a page can have
        if reason.len() > 64 || !reason.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(());
        }
        Ok(Self(Place { reason: reason.to_owned(), id: id.parse().map_err(|_| ())? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_as_it_was_written() {
        for reason in ["", "bounced", "of_the_future"] {
            let place = Place { reason: reason.to_owned(), id: EmailId::new(Timestamp(7), rand::random()) };
            let read: Cursor = Cursor(place.clone()).to_string().parse().unwrap();
            assert_eq!(read.0, place);
        }
        for text in ["", "x", "nobody:1", ":1", "no body:0199c0f0-0000-7000-8000-000000000000"] {
            assert!(text.parse::<Cursor>().is_err(), "{text:?}");
        }
    }
}

//! Pages of a campaign's ledger.

use mailwright_core::email::{Reason, RecipientState};
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber};

use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::database::value::Arg;
use crate::sending::email::record::{self, Email, Illegible};

/// A position in a list of the ledger, which is ordered by reason, then by id of the mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The reason of the last row; empty where it has none.
    pub reason: String,
    /// The mail of the last row.
    pub id: EmailId,
}

/// A page of the ledger.
#[derive(Debug, Clone)]
pub struct Page {
    /// Only the mails in this state.
    pub recipient_state: RecipientState,
    /// Only the mails with this reason.
    pub reason: Option<Reason>,
    /// The last row of the page before.
    pub after: Option<Place>,
    /// Most rows.
    pub limit: usize,
}

impl Page {
    /// Whether rows in this state have a reason.
    fn has_reasons(recipient_state: RecipientState) -> bool {
        match recipient_state {
            RecipientState::Skipped | RecipientState::Failed => true,
            RecipientState::Waiting | RecipientState::Accepted | RecipientState::InDoubt => false,
        }
    }
}

/// Conditions and order that walk the index of the ledger from a place on; the values are appended to the arguments.
/// The order names the reason even if there is only one, or none: without it PostgreSQL reads all rows in the state and
/// sorts them.
pub(super) fn walk(page: &Page, args: &mut Vec<Arg<'_>>) -> String {
    args.push(page.recipient_state.as_str().into());
    let mut text = format!(" and recipient_state = ${}", args.len());
    let one_reason = if Page::has_reasons(page.recipient_state) {
        page.reason.map(|reason| {
            args.push(reason.as_str().into());
            format!(" and reason = ${}", args.len())
        })
    } else {
        Some(" and reason is null".to_owned())
    };
    match (one_reason, &page.after) {
        (Some(one), None) => text += &format!("{one} order by reason, id"),
        (Some(one), Some(place)) => {
            args.push(place.id.into());
            text += &format!("{one} and id > ${} order by reason, id", args.len());
        }
        (None, None) => text += " order by reason, id",
        (None, Some(place)) => {
            args.extend([Arg::from(place.reason.clone()), place.id.into()]);
            text +=
                &format!(" and (reason, id) > (${}, ${}) order by reason, id", args.len() - 1, args.len());
        }
    }
    text
}

/// Reads a page of the ledger.
pub async fn page(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    campaign: CampaignId,
    page: &Page,
) -> Result<Vec<Result<Email, Illegible>>> {
    let mut args: Vec<Arg<'_>> = vec![project.into(), campaign.into(), page.limit.into()];
    let walk = walk(page, &mut args);
    rx.all(
        format!(
            "select {} from emails where project_id = $1 and campaign_id = $2{walk} limit $3",
            record::COLUMNS
        ),
        &args,
        record::read_listed,
    )
    .await
}

#[cfg(test)]
mod tests {
    use mailwright_core::time::Timestamp;

    use super::*;

    #[test]
    fn every_list_goes_in_the_order_of_its_index() {
        let place = Place { reason: "bounced".into(), id: EmailId::new(Timestamp(5), rand::random()) };
        for recipient_state in [
            RecipientState::Waiting,
            RecipientState::Accepted,
            RecipientState::Skipped,
            RecipientState::Failed,
        ] {
            for (reason, after) in [(None, None), (Some(Reason::Bounced), None), (None, Some(place.clone()))]
            {
                let page = Page { recipient_state, reason, after, limit: 20 };
                let text = walk(&page, &mut Vec::new());
                assert!(text.ends_with(" order by reason, id"), "{page:?}: {text}");
            }
        }
    }
}

//! What is different about the records of mail that comes in.

use mailwright_core::domain::DifferenceKind;

use super::kind::Difference;
use super::wording::{other, several, shown};
use crate::domain::values::tag;
use crate::mta_sts::version;

/// Says what is different about the records of a policy (RFC 8461 section 3.1).
pub(super) fn policy(found: &[String], expected: &str) -> Difference {
    let [found] = found else {
        return several(
            found.len(),
            "MTA-STS",
            "senders then take it that there is no policy (RFC 8461 section 3.1)",
        );
    };
    match (version([found.as_str()]), version([expected])) {
        (None, _) => Difference::new(
            DifferenceKind::MtaStsNoId,
            "The record has no id of 1 to 32 letters and digits, so senders do not read it. Write the value that is given \
             here.",
        ),
        (Some(theirs), Some(ours)) if theirs != ours => {
            let text = format!(
                "The record has the id {theirs}, and that of the policy is {ours}. Senders that keep a former policy notice \
                 a new one by its id alone. Write the value that is given here."
            );
            Difference::new(DifferenceKind::MtaStsId, text).with("found", theirs).with("wanted", ours)
        }
        _ => other(),
    }
}

/// Says what is different about the records that say where reports about TLS go (RFC 8460 section 3).
pub(super) fn tls_reports(found: &[String]) -> Difference {
    let [found] = found else {
        return several(found.len(), "TLS-RPT", "senders then send no reports (RFC 8460 section 3)");
    };
    match tag(found, "rua") {
        Some(rua) => {
            let rua = shown(&rua);
            let text = format!(
                "No report can go to {rua}. rua has to be mailto: with an address, or an https:// address."
            );
            Difference::new(DifferenceKind::ReportsAddress, text).with("found", rua)
        }
        None => Difference::new(
            DifferenceKind::ReportsNowhere,
            "The record does not say where reports go. Write the value that is given here.",
        ),
    }
}

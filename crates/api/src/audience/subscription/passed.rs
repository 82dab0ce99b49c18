//! What a link to the pages of a contact carries.

use mailwright_app::audience::subscription::Pass;

use crate::params::Params;

/// The mail and the tag in the link that was followed. A value that cannot be read counts as absent.
pub(super) fn pass(params: &Params) -> Pass {
    Pass {
        mail: params.text("e").and_then(|text| text.parse().ok()),
        tag: params.text("t").map(str::to_owned),
    }
}

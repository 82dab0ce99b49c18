//! A mail that is ready to be handed over.

use crate::sending::render::Rendered;

/// A mail with its message and the signature to put before it.
pub(super) struct Message {
    pub(super) rendered: Rendered,
    pub(super) signature: String,
    /// The envelope's sender, to which bounces return.
    pub(super) envelope_sender: String,
    /// Whether opens and clicks are followed.
    pub(super) is_tracked: bool,
    /// Whether the instance itself writes: such a mail may carry a link that opens an account.
    pub(super) is_own: bool,
}

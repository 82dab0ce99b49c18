//! What becomes of mails after they left.

pub(crate) mod heat;
pub(crate) mod hit;
pub(crate) mod received;
pub(crate) mod sns;
pub(crate) mod tracking;

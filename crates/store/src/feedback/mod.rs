//! What becomes of mails after they left: what is learnt of them, opens and clicks, and what told of it.

pub mod dmarc;
pub mod heat;
pub mod hit;
pub mod inbound;
pub(crate) mod inbound_removal;
pub mod link;
pub mod mail;
pub mod origin;
pub mod published_networks;
pub mod receipt;
pub mod unknown_bounce;

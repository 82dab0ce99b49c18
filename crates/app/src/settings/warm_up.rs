//! How much mail a new source address or sender domain sends at first.

use mailwright_core::pacing::warm_up::Plan;

/// How much mail a new source address or sender domain sends at first.
#[derive(Debug, Clone, Default)]
pub struct WarmUpSettings {
    /// The mails of each day.
    pub plan: Plan,
    /// Whether sender domains go by it too, with what leaves by `direct` transports.
    pub domains: bool,
}

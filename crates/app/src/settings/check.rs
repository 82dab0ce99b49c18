//! How mails are checked before they are sent.

/// How mails are checked before they are sent.
#[derive(Debug, Clone, Default)]
pub struct CheckSettings {
    /// Host and port of the `spamd` that judges them; `None` where none does.
    pub spamd: Option<String>,
}

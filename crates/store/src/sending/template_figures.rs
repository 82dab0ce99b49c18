//! What became of the mails that were made from a template: counters in the transactions that learn of it.

use mailwright_core::event::Activity;
use mailwright_core::ids::{ProjectNumber, TemplateId};

use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::insight::counter::{self, Counter};
use crate::insight::deltas::Deltas;

/// What a recipient who opted out by a link of a mail is counted under.
const UNSUBSCRIBED: &str = "unsubscribed";

/// How many mails of a template something happened to; each counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TemplateFigures {
    /// The recipient's host took them.
    pub delivered: i64,
    /// People opened them.
    pub opened: i64,
    /// People followed a link in them.
    pub clicked: i64,
    /// They were refused for good.
    pub bounced: i64,
    /// They were called spam.
    pub complained: i64,
    /// Their recipients opted out by a link in them.
    pub unsubscribed: i64,
}

/// Counts mails of a template to which something happened, or did not happen after all.
pub(crate) fn count(
    deltas: &mut Deltas,
    project: ProjectNumber,
    template: TemplateId,
    activity: Activity,
    delta: i64,
) {
    deltas.add(project, Counter::TemplateFigure, &format!("{template}:{}", activity.as_str()), delta);
}

/// Counts a recipient who opted out.
pub(crate) fn count_unsubscribed(deltas: &mut Deltas, project: ProjectNumber, template: TemplateId) {
    deltas.add(project, Counter::TemplateFigure, &format!("{template}:{UNSUBSCRIBED}"), 1);
}

/// The figures of a template.
pub async fn read(rx: &Rx<'_>, project: ProjectNumber, template: TemplateId) -> Result<TemplateFigures> {
    let prefix = format!("{template}:");
    let mut figures = TemplateFigures::default();
    for (name, value) in counter::beginning(rx, project, Counter::TemplateFigure, &prefix).await? {
        let name = name.strip_prefix(&prefix).unwrap_or_default();
        match Activity::from_name(name) {
            Some(Activity::Delivered) => figures.delivered = value,
            Some(Activity::Opened) => figures.opened = value,
            Some(Activity::Clicked) => figures.clicked = value,
            Some(Activity::Bounced) => figures.bounced = value,
            Some(Activity::Complained) => figures.complained = value,
            None if name == UNSUBSCRIBED => figures.unsubscribed = value,
            Some(Activity::Sent) | None => {}
        }
    }
    Ok(figures)
}

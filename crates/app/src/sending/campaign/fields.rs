//! The fields of a new campaign, or of a change to one.

use mailwright_core::address::EmailAddress;
use mailwright_core::campaign::{Audience, AudienceType, Campaign};
use mailwright_core::filter::Filter;
use mailwright_core::ids::{SegmentId, TopicId};
use mailwright_core::issue::Issue;
use mailwright_core::patch::Patch;
use mailwright_core::template::TemplateType;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::sending::source::Texts;

/// Fields of a new campaign, or of a change to one.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    /// Internal name.
    pub name: Option<String>,
    /// Internal note.
    pub description: Patch<String>,
    /// Subject, and HTML or what it is made from.
    pub texts: Texts,
    /// Sender address.
    pub from: Option<EmailAddress>,
    /// Sender name.
    pub from_name: Patch<String>,
    /// Reply address.
    pub reply_to: Patch<EmailAddress>,
    /// Kind of mail.
    pub kind: Option<TemplateType>,
    /// Whether its mails are tracked; null leaves it to the project.
    pub tracking: Patch<bool>,
    /// The topic that it belongs to; null for none.
    pub topic: Patch<TopicId>,
    /// Type of its audience.
    pub audience: Option<AudienceType>,
    /// The segment, for an audience of that type.
    pub segment: Option<SegmentId>,
    /// The filter tree, for an audience of that type.
    pub condition: Option<Value>,
}

impl Fields {
    /// The audience that the fields ask for; fields that are left out keep the values of the previous audience.
    pub(super) fn audience(&self, before: Option<&Audience>) -> Result<Audience> {
        let required = |field: &str, of: &str| {
            let text = format!("Required for an audience of type {of}.");
            Error::Invalid(vec![Issue::new(field, "required", text)])
        };
        match self.audience.or(before.map(Audience::kind)).unwrap_or(AudienceType::All) {
            AudienceType::All => Ok(Audience::All),
            AudienceType::Segment => {
                let given = self.segment.or(before.and_then(Audience::segment));
                given.map(Audience::Segment).ok_or_else(|| required("segmentId", "SEGMENT"))
            }
            AudienceType::Filtered => {
                if let Some(tree) = &self.condition {
                    check_condition(tree)?;
                }
                let given = self.condition.as_ref().or(before.and_then(Audience::condition));
                let tree = given.ok_or_else(|| required("audienceCondition", "FILTERED"))?;
                Ok(Audience::Filtered(tree.clone()))
            }
        }
    }

    pub(super) fn apply(self, campaign: &mut Campaign) {
        fn set<T>(target: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *target = value;
            }
        }
        set(&mut campaign.name, self.name);
        self.description.apply(&mut campaign.description);
        set(&mut campaign.subject, self.texts.subject);
        set(&mut campaign.body, self.texts.body);
        set(&mut campaign.from, self.from);
        self.from_name.apply(&mut campaign.from_name);
        self.reply_to.apply(&mut campaign.reply_to);
        set(&mut campaign.kind, self.kind);
        self.tracking.apply(&mut campaign.tracking);
        self.topic.apply(&mut campaign.topic);
    }
}

/// The issues of a filter tree, with paths from the root of the request.
fn check_condition(tree: &Value) -> Result<()> {
    let named = |issue: Issue| issue.within("audienceCondition");
    match Filter::parse(tree) {
        Ok(_) => Ok(()),
        Err(issues) => Err(Error::Invalid(issues.into_iter().map(named).collect())),
    }
}

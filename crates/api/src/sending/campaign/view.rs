//! What answers about campaigns show.

use mailwright_app::sending::campaign::Overview;
use mailwright_core::address::EmailAddress;
use mailwright_core::campaign::{AudienceType, CampaignStatus};
use mailwright_core::email::RecipientState;
use mailwright_core::ids::{CampaignId, EmailId, ProjectId, SegmentId, TopicId};
use mailwright_core::project::Project;
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::audience::segment::SegmentView;
use crate::envelope::Time;
use crate::filter::FilterTree;

/// A campaign.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CampaignView {
    id: CampaignId,
    /// Internal name.
    name: String,
    /// Internal note.
    description: Option<String>,
    subject: String,
    /// HTML, with variables.
    body: String,
    from: String,
    from_name: Option<String>,
    reply_to: Option<String>,
    r#type: TemplateType,
    /// Whether opens and clicks of its mails are tracked; null leaves it to the project.
    tracking: Option<bool>,
    /// The topic that it belongs to.
    topic_id: Option<TopicId>,
    status: CampaignStatus,
    audience_type: AudienceType,
    segment_id: Option<SegmentId>,
    /// The segment with the id `segmentId`.
    segment: Option<SegmentView>,
    #[schema(value_type = Option<FilterTree>)]
    audience_condition: Option<Value>,
    /// The time for which it is or was scheduled.
    #[schema(value_type = Option<String>, format = DateTime)]
    scheduled_for: Time,
    /// Number of its mails: counted when the campaign is saved, exact once its audience is frozen.
    total_recipients: i64,
    /// Mails that the next hop took.
    sent_count: i64,
    delivered_count: i64,
    /// Mails that a person opened.
    opened_count: i64,
    /// Mails in which a person followed a link.
    clicked_count: i64,
    bounced_count: i64,
    complained_count: i64,
    unsubscribed_count: i64,
    project_id: ProjectId,
    /// When it started.
    #[schema(value_type = Option<String>, format = DateTime)]
    sent_at: Time,
    /// Since when it is paused, null if it is not. The status of a paused campaign is SENDING.
    #[schema(value_type = Option<String>, format = DateTime)]
    paused_at: Time,
    /// When the last of its mails was settled.
    #[schema(value_type = Option<String>, format = DateTime)]
    finished_at: Time,
    /// Why the service cancelled or paused the campaign, or did not start it.
    note: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl CampaignView {
    pub(in crate::sending) fn new(overview: Overview, project: &Project) -> Self {
        let total_recipients = overview.recipients();
        let Overview { campaign, ledger, segment } = overview;
        Self {
            segment: segment.map(|segment| SegmentView::new(segment, project)),
            id: campaign.id,
            audience_type: campaign.audience.kind(),
            segment_id: campaign.audience.segment(),
            audience_condition: campaign.audience.condition().cloned(),
            name: campaign.name,
            description: campaign.description,
            subject: campaign.subject,
            body: campaign.body,
            from: campaign.from.to_string(),
            from_name: campaign.from_name,
            reply_to: campaign.reply_to.map(|to| to.to_string()),
            r#type: campaign.kind,
            tracking: campaign.tracking,
            topic_id: campaign.topic,
            status: campaign.status,
            scheduled_for: campaign.scheduled_for,
            total_recipients,
            sent_count: ledger.count(RecipientState::Accepted),
            delivered_count: ledger.delivered,
            opened_count: ledger.opened,
            clicked_count: ledger.clicked,
            bounced_count: ledger.bounced,
            complained_count: ledger.complained,
            unsubscribed_count: ledger.unsubscribed,
            project_id: project.id,
            sent_at: campaign.sent_at,
            paused_at: campaign.paused_at,
            finished_at: campaign.finished_at,
            note: campaign.note,
            created_at: campaign.created_at,
            updated_at: campaign.updated_at,
        }
    }
}

/// A page of campaigns.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CampaignPage {
    pub(super) data: Vec<CampaignView>,
    pub(super) page: i64,
    pub(super) page_size: i64,
    pub(super) total: i64,
    pub(super) total_pages: i64,
}

/// The answer when a campaign was sent or scheduled.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SentCampaign {
    /// Always true.
    pub(super) success: bool,
    pub(super) data: CampaignView,
    /// What happens next, as a sentence.
    pub(super) message: String,
}

/// A campaign with mails that are tried once more.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RetriedCampaign {
    #[serde(flatten)]
    pub(super) campaign: CampaignView,
    /// How many mails are tried once more.
    pub(super) requeued: i64,
}

/// A test mail that was accepted for delivery.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SentTest {
    /// Always true.
    success: bool,
    /// What happens next, as a sentence.
    message: String,
    /// Id of the mail, for `/emails/{id}`.
    email: EmailId,
}

impl SentTest {
    pub(in crate::sending) fn new(to: &EmailAddress, email: EmailId) -> Self {
        Self { success: true, message: format!("A test is being sent to {to}."), email }
    }
}

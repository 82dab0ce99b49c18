//! A look at a campaign before it is sent: what would keep it from being sent, and what somebody may have overlooked.
//!
//! What sending refuses is found by the same checks. Nothing is changed by a review.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mailwright_core::campaign::{Campaign, CampaignStatus};
use mailwright_core::campaign_review::{ReviewCode, ReviewSeverity};
use mailwright_core::contact::Contact;
use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_mail::domain::Purpose;
use mailwright_store::audience::contact;
use mailwright_store::sending::campaign::audience::{self, Counted};
use mailwright_store::sending::campaign::review as store;
use mailwright_store::sending::domain;
use mailwright_store::{body, project};

use super::check_editable;
use super::review_text::{Found, Text};
use crate::App;
use crate::error::{Error, Result};
use crate::sending::check::is_blank;
use crate::sending::domain::{has_record, sender_refused};

/// How many recipients are looked at for values that are missing.
const SAMPLE: usize = 100;

/// Something that a review finds.
#[derive(Debug, Clone)]
pub struct Problem {
    /// What it is.
    pub code: ReviewCode,
    /// The field that it is about.
    pub field: Option<String>,
    /// It in words.
    pub message: String,
}

/// A value that the mail writes, and that recipients lack.
#[derive(Debug, Clone)]
pub struct MissingValue {
    /// Its name.
    pub name: String,
    /// How many of the sample lack it.
    pub count: usize,
}

/// How long sending would take.
#[derive(Debug, Clone, Copy)]
pub struct Estimate {
    /// Mails a second.
    pub per_second: f64,
    /// Until the last mail is handed over.
    pub lasts: Duration,
}

/// What a review of a campaign finds.
#[derive(Debug)]
pub struct Review {
    /// What is wrong, or may be.
    pub problems: Vec<Problem>,
    /// Who would get it; `None` where that could not be counted.
    pub audience: Option<Counted>,
    /// How many recipients were looked at for values that are missing.
    pub sample: usize,
    /// Those values, the most frequent ones first.
    pub missing: Vec<MissingValue>,
    /// How long sending would take, where something is known of that.
    pub estimate: Option<Estimate>,
}

impl Review {
    /// Whether the campaign can be sent.
    pub fn is_ready(&self) -> bool {
        self.problems.iter().all(|problem| problem.code.severity() != ReviewSeverity::Error)
    }

    fn add(&mut self, code: ReviewCode, message: impl Into<String>) {
        self.add_of(code, None, message.into());
    }

    fn add_all(&mut self, found: Vec<Found>) {
        for (code, field, message) in found {
            self.add_of(code, Some(&field), message);
        }
    }

    fn add_of(&mut self, code: ReviewCode, field: Option<&str>, message: String) {
        self.problems.push(Problem { code, field: field.map(str::to_owned), message });
    }
}

/// What is read of a campaign.
struct Known {
    refused: Option<Error>,
    has_tracking_host: bool,
    per_second: Option<i64>,
    tested_at: Option<Timestamp>,
    pace: Option<f64>,
}

impl App {
    /// What would keep a campaign from being sent, and what somebody may have overlooked.
    pub async fn review_campaign(&self, project: &Project, id: CampaignId) -> Result<Review> {
        let campaign = self.campaign(project, id).await?.campaign;
        let known = self.known_for_review(project.number, &campaign).await?;
        let mut review =
            Review { problems: Vec::new(), audience: None, sample: 0, missing: Vec::new(), estimate: None };
        if let Err(Error::BadRequest(message)) = check_editable(&campaign) {
            review.add(ReviewCode::NotEditable, message);
        }
        if let Some(refused) = &known.refused {
            review.add_of(ReviewCode::SenderUnverified, Some("from"), refused.to_string());
        }
        let (subject, body, kind) = (campaign.subject.clone(), campaign.body.clone(), campaign.kind);
        let text = self.apart(project, move || Text::of(&subject, &body, kind)).await?;
        review.add_all(text.errors);
        self.review_audience(project, &campaign, text.names, &mut review).await?;
        review.add_all(text.problems);
        let is_tracked = campaign.tracking.unwrap_or_else(|| project.tracking.covers(campaign.kind));
        let wants_host = self.mail_leaves() && self.settings().tracking_host().is_some();
        if is_tracked && wants_host && known.refused.is_none() && !known.has_tracking_host {
            review.add(
                ReviewCode::NoTrackingHost,
                "The domain has no host for tracked links, so they lead by way of the service's own host. Create the \
                 domain's record for it.",
            );
        }
        tests(&campaign, known.tested_at, &mut review);
        review.estimate = self.estimate(&known, review.audience.map_or(0, Counted::recipients));
        Ok(review)
    }

    async fn known_for_review(&self, number: ProjectNumber, campaign: &Campaign) -> Result<Known> {
        let (id, from, leaves) = (campaign.id, campaign.from.clone(), self.mail_leaves());
        self.read(body!(async |rx| {
            let key = domain::signing_key(rx, number, from.domain(), leaves).await?;
            let sending = project::sending(rx, number).await?;
            Ok(Known {
                refused: sender_refused(rx, number, from.domain(), leaves).await?,
                has_tracking_host: key.is_some_and(|key| has_record(&key.last_check, Purpose::Tracking)),
                per_second: sending.and_then(|sending| sending.per_second),
                tested_at: store::tested_at(rx, number, id).await?,
                pace: store::latest_pace(rx, number).await?,
            })
        }))
        .await
    }

    /// Looks at who would get a campaign, and at what they lack.
    async fn review_audience(
        &self,
        project: &Project,
        campaign: &Campaign,
        names: BTreeSet<String>,
        review: &mut Review,
    ) -> Result<()> {
        if !matches!(campaign.status, CampaignStatus::Draft | CampaignStatus::Scheduled) {
            review.audience = Some(self.campaign_audience(project, campaign.id).await?);
            return Ok(());
        }
        let counted = match self.count_audience(project, campaign).await {
            Ok(counted) => counted,
            Err(error) if error.is_too_slow() => {
                let text =
                    "The audience could not be counted in time. It is looked up while the campaign is sent.";
                review.add(ReviewCode::UncountedAudience, text);
                return Ok(());
            }
            Err(Error::Invalid(issues)) => {
                for issue in issues {
                    review.add_of(ReviewCode::InvalidAudience, Some(&issue.field), issue.message.clone());
                }
                return Ok(());
            }
            Err(error @ (Error::NotFound { .. } | Error::BadRequest(_))) => {
                review
                    .add(ReviewCode::InvalidAudience, format!("The audience cannot be looked up: {error}."));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        review.audience = Some(counted);
        let recipients = counted.recipients();
        if recipients == 0 && counted.not_in_topic > 0 {
            let text = "Nobody of the audience is in the topic of the campaign.";
            review.add_of(ReviewCode::EmptyTopic, Some("topicId"), text.to_owned());
        } else if recipients == 0 {
            let text = "The campaign has no recipients: no contact of its audience would get a mail.";
            review.add(ReviewCode::EmptyAudience, text);
        }
        match self.check_campaign_fits(project, campaign.id, recipients).await {
            Err(Error::OverLimit(message)) => review.add(ReviewCode::OverLimit, message),
            other => other?,
        }
        self.review_values(project, campaign, names, review).await
    }

    /// Looks at what some recipients lack of the values that the mail writes under these names.
    async fn review_values(
        &self,
        project: &Project,
        campaign: &Campaign,
        names: BTreeSet<String>,
        review: &mut Review,
    ) -> Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        let (number, now, of) = (project.number, self.0.clock.now(), campaign.audience.clone());
        let read = self.read_slow(
            number,
            body!(async |rx| {
                let members = audience::resolve(rx, number, &of).await?;
                let ids = store::sample(rx, number, &members, SAMPLE, now).await?;
                contact::some(rx, number, &ids).await
            }),
        );
        let mut contacts: Vec<Contact> = match read.await {
            Err(error) if error.is_too_slow() => return Ok(()),
            found => found?,
        };
        contacts.retain(|contact| contact.subscribed || !campaign.kind.needs_subscription());
        let mut lacking: BTreeMap<&str, usize> = BTreeMap::new();
        for name in &names {
            let count = contacts.iter().filter(|contact| lacks(contact, name)).count();
            if count > 0 {
                lacking.insert(name, count);
            }
        }
        review.sample = contacts.len();
        review.missing =
            lacking.into_iter().map(|(name, count)| MissingValue { name: name.to_owned(), count }).collect();
        review.missing.sort_by_key(|missing| std::cmp::Reverse(missing.count));
        if let Some(first) = review.missing.first() {
            let text = format!(
                "Of {} recipients that were looked at, {} have no value for {}. Write something in its place, such as \
                 {{{{{} ?? \"friend\"}}}}.",
                review.sample, first.count, first.name, first.name
            );
            review.add(ReviewCode::MissingValues, text);
        }
        Ok(())
    }

    /// How long sending takes, by the limits of project and instance, and by how fast the latest campaign was.
    fn estimate(&self, known: &Known, recipients: i64) -> Option<Estimate> {
        let delivery = &self.settings().delivery;
        let limits = [known.per_second.unwrap_or(delivery.per_second), delivery.instance_per_second];
        let limits = limits.into_iter().filter(|limit| *limit > 0).map(|limit| limit as f64);
        let per_second = limits.chain(known.pace).min_by(f64::total_cmp)?;
        let lasts = Duration::try_from_secs_f64(recipients as f64 / per_second).ok()?;
        Some(Estimate { per_second, lasts })
    }
}

/// Whether a reader sees a gap where the mail has a contact's value.
fn lacks(contact: &Contact, name: &str) -> bool {
    is_blank(contact.data.get(name))
}

/// Looks at whether somebody saw the campaign as a mail.
fn tests(campaign: &Campaign, tested_at: Option<Timestamp>, review: &mut Review) {
    match tested_at {
        None => review.add(ReviewCode::NeverTested, "The campaign was never sent as a test."),
        Some(at) if at < campaign.updated_at && campaign.status == CampaignStatus::Draft => {
            let text = "The campaign was changed since it was last sent as a test.";
            review.add(ReviewCode::ChangedSinceTest, text);
        }
        Some(_) => {}
    }
}

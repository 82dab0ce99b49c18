//! Who gets a campaign: counting the audience, and finding the campaigns by what their filters look at.

use mailwright_core::campaign::{Audience, Campaign};
use mailwright_core::filter::{Filter, References};
use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::issue::Issue;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::segment;
use mailwright_store::body;
use mailwright_store::sending::campaign as store;
use mailwright_store::sending::campaign::audience::{self, Counted, Mailing, Members, Split};
use mailwright_store::{Error as StoreError, Rx};

use crate::App;
use crate::error::{Error, Resource, Result, too_many_conditions};

impl App {
    /// Counts the audience of a campaign if that reads only a few rows: an audience of all contacts, unless many
    /// addresses are suppressed.
    pub(super) async fn count_quickly(
        &self,
        number: ProjectNumber,
        campaign: &Campaign,
    ) -> Result<Option<Counted>> {
        let has_topic = campaign.topic.is_some() && campaign.kind.needs_subscription();
        if campaign.audience != Audience::All || has_topic {
            return Ok(None);
        }
        let (kind, now) = (campaign.kind, self.0.clock.now());
        self.read(body!(async |rx| audience::count_all(rx, number, kind, now).await)).await
    }

    /// Counts the audience of a campaign as it is now.
    pub(super) async fn count_audience(&self, project: &Project, campaign: &Campaign) -> Result<Counted> {
        let (number, now) = (project.number, self.0.clock.now());
        if let Some(counted) = self.count_quickly(number, campaign).await? {
            return Ok(counted);
        }
        let (audience, mailing) = (campaign.audience.clone(), self.mailing(number, campaign).await?);
        let named = audience.clone();
        let unknown = self.read(body!(async |rx| unknown_segment(rx, number, &named).await));
        if let Some(refused) = unknown.await? {
            return Err(refused);
        }
        let members = self.read(body!(async |rx| audience::resolve(rx, number, &audience).await)).await?;
        let known = self.split_members(number, &members, now).await?;
        let counted = self.0.db.read_slow(
            number,
            body!(async |rx| audience::count(rx, number, &members, known, &mailing, now).await),
        );
        counted.await.map_err(|error| match error {
            StoreError::TooManyConditions => {
                Error::Invalid(vec![Issue::new("audienceCondition", "too_big", too_many_conditions())])
            }
            other => other.into(),
        })
    }

    /// How many contacts an audience has that is a filter, where they can be counted in memory.
    pub(super) async fn split_members(
        &self,
        number: ProjectNumber,
        members: &Members,
        now: Timestamp,
    ) -> Result<Option<Split>> {
        let Members::Found(tree, _) = members else { return Ok(None) };
        let found = self.split_found(number, tree, now).await?;
        Ok(found.map(|(all, subscribed)| Split { subscribed, unsubscribed: all - subscribed }))
    }

    /// What decides who of its audience gets a campaign.
    pub(super) async fn mailing(&self, number: ProjectNumber, campaign: &Campaign) -> Result<Mailing> {
        let (kind, id) = (campaign.kind, campaign.topic);
        let topic = self.known_topic(number, id).await?;
        match (id, &topic) {
            (Some(id), None) => Err(Error::not_found(Resource::Topic, id)),
            _ => Ok(Mailing { kind, topic }),
        }
    }

    /// The campaigns that are not over and whose filter looks at a field (`email`, `data.plan`), by id and name.
    pub async fn campaigns_with_field(
        &self,
        project: &Project,
        field: &str,
    ) -> Result<Vec<(CampaignId, String)>> {
        self.campaigns_with(project, |names| names.fields.contains(field)).await
    }

    /// The campaigns that are not over and whose filter looks at events of a name, by id and name.
    pub async fn campaigns_with_event(
        &self,
        project: &Project,
        event: &str,
    ) -> Result<Vec<(CampaignId, String)>> {
        self.campaigns_with(project, |names| names.events.contains(event)).await
    }

    async fn campaigns_with(
        &self,
        project: &Project,
        wanted: impl Fn(&References) -> bool + Send,
    ) -> Result<Vec<(CampaignId, String)>> {
        let number = project.number;
        let read = self.read(body!(async |rx| store::audiences(rx, number).await));
        let looks_at_it = |audience: &Audience| {
            let tree = audience.condition().map(Filter::parse);
            tree.is_some_and(|tree| tree.is_ok_and(|tree| wanted(&tree.references())))
        };
        let mut found = read.await?;
        found.retain(|(.., audience)| looks_at_it(audience));
        Ok(found.into_iter().map(|(id, name, _)| (id, name)).collect())
    }
}

/// The error for an audience that names a segment that the project does not have.
async fn unknown_segment(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    audience: &Audience,
) -> mailwright_store::Result<Option<Error>> {
    match audience {
        Audience::All => Ok(None),
        Audience::Segment(id) => {
            let found = segment::get(rx, project, *id).await?;
            Ok(found.is_none().then(|| Error::not_found(Resource::Segment, id)))
        }
        Audience::Filtered(condition) => {
            let named = Filter::parse(condition).map(|tree| tree.references().segments).unwrap_or_default();
            let found = segment::some(rx, project, &named).await?;
            let missing = named.into_iter().filter(|id| found.iter().all(|segment| segment.id != *id));
            let issues: Vec<_> = missing
                .map(|id| {
                    let text = format!("There is no segment {id}.");
                    Issue::new("audienceCondition", "custom", text).received(id.to_string())
                })
                .collect();
            Ok((!issues.is_empty()).then_some(Error::Invalid(issues)))
        }
    }
}

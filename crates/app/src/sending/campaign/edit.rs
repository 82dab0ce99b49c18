//! Changing a campaign, and bringing back a former version of it.

use std::sync::Arc;

use mailwright_core::audit::Actor;
use mailwright_core::campaign::{Campaign, CampaignStatus};
use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::patch::Patch;
use mailwright_core::project::Project;
use mailwright_store::pause;
use mailwright_store::sending::campaign as store;

use super::{Fields, Overview, check_editable, known, locked};
use crate::App;
use crate::audience::topic::keep_topic;
use crate::error::{Error, Resource, Result};
use crate::sending::domain::check_may_send;
use crate::sending::source::{self, Change, Edited, Owner, Said, Save, Saver, Texts};

/// How often a change is begun again that another one got in the way of.
const TRIES: u32 = 10;

impl App {
    /// Changes a campaign that has not started. Fields that are left out stay as they are.
    pub async fn update_campaign(
        &self,
        project: &Project,
        actor: &Actor,
        id: CampaignId,
        mut fields: Fields,
    ) -> Result<Edited<Overview>> {
        fields.texts = self.complete(project, fields.texts).await?;
        let change = fields.texts.change();
        self.edit_campaign(project, actor, id, (fields, change)).await
    }

    /// Makes a former version of a campaign that has not started the current one. The current one becomes a former one.
    pub async fn restore_campaign(
        &self,
        project: &Project,
        actor: &Actor,
        id: CampaignId,
        version: i64,
    ) -> Result<Edited<Overview>> {
        self.campaign(project, id).await?;
        let version = self.former(project.number, Owner::Campaign(id), version).await?;
        let change = Change::Is(version.source);
        let fields = Fields {
            texts: Texts { subject: Some(version.subject), body: Some(version.body), ..Texts::default() },
            from: Some(version.from),
            from_name: version.from_name.map_or(Patch::Null, Patch::Value),
            reply_to: version.reply_to.map_or(Patch::Null, Patch::Value),
            ..Fields::default()
        };
        self.edit_campaign(project, actor, id, (fields, change)).await
    }

    async fn edit_campaign(
        &self,
        project: &Project,
        actor: &Actor,
        id: CampaignId,
        (fields, change): (Fields, Change),
    ) -> Result<Edited<Overview>> {
        let mut tries = 0;
        loop {
            let before = self.campaign(project, id).await?.campaign;
            let after = self.changed(project, &before, fields.clone()).await?;
            let saver = Saver { actor: actor.clone(), at: after.updated_at };
            let replacement = Replacement {
                before,
                after,
                change: change.clone(),
                check_sender: fields.from.is_some(),
                saver,
            };
            match self.replace(project.number, replacement).await {
                Err(Error::ChangedMeanwhile(_)) if tries < TRIES => {
                    tokio::time::sleep(pause(tries)).await;
                    tries += 1;
                }
                other => return other,
            }
        }
    }

    /// The campaign that a change makes of another one.
    async fn changed(&self, project: &Project, before: &Campaign, fields: Fields) -> Result<Campaign> {
        check_editable(before)?;
        let mut after = Campaign { audience: fields.audience(Some(&before.audience))?, ..before.clone() };
        fields.apply(&mut after);
        let same_audience = after.audience == before.audience;
        if before.status == CampaignStatus::Scheduled && !same_audience {
            return Err(Error::BadRequest(
                "The audience of a scheduled campaign cannot be changed. Cancel the schedule first.".into(),
            ));
        }
        if !same_audience || after.kind != before.kind || after.topic != before.topic {
            after.recipients = self.count_audience(project, &after).await?.recipients();
        }
        after.updated_at = self.0.clock.now();
        Ok(after)
    }

    /// Stores a changed campaign, unless it was changed by somebody else meanwhile.
    async fn replace(&self, number: ProjectNumber, replacement: Replacement) -> Result<Edited<Overview>> {
        let (replacement, leaves) = (Arc::new(replacement), self.mail_leaves());
        let written = self.write(move |tx| {
            let replacement = Arc::clone(&replacement);
            Box::pin(async move {
                let Replacement { before, after, change, check_sender, saver } = &*replacement;
                if locked(tx, number, before.id).await? != *before {
                    return Err(Error::ChangedMeanwhile(Resource::Campaign));
                }
                if *check_sender {
                    check_may_send(tx, number, &after.from, leaves).await?;
                }
                keep_topic(tx, number, after.topic).await?;
                let save =
                    Save { before: said(before), after: said(after), changed_at: before.updated_at, change };
                let current = source::replace(tx, number, Owner::Campaign(before.id), save, saver).await?;
                store::update(tx, number, after).await?;
                Ok(Edited { of: known(tx, number, after.id).await?, current })
            })
        });
        written.await
    }
}

/// A campaign that takes the place of another one.
struct Replacement {
    before: Campaign,
    after: Campaign,
    change: Change,
    check_sender: bool,
    saver: Saver,
}

fn said(campaign: &Campaign) -> Said<'_> {
    Said {
        subject: &campaign.subject,
        body: &campaign.body,
        from: &campaign.from,
        from_name: campaign.from_name.as_deref(),
        reply_to: campaign.reply_to.as_ref(),
    }
}

//! What templates and campaigns are made from, beside the HTML: MJML, and the document of an editor. It is in a table
//! of its own, since it is large and only whoever edits needs it.

use mailwright_core::audit::Actor;
use mailwright_core::ids::{CampaignId, ProjectNumber, TemplateId};
use mailwright_core::time::Timestamp;
use uuid::Uuid;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::project::audit;

/// A template or a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A template.
    Template(TemplateId),
    /// A campaign.
    Campaign(CampaignId),
}

impl Owner {
    pub(super) fn id(self) -> Arg<'static> {
        match self {
            Self::Template(id) => id.into(),
            Self::Campaign(id) => id.into(),
        }
    }
}

/// What HTML is made from. Nothing, where somebody wrote the HTML.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    /// MJML.
    pub mjml: Option<String>,
    /// The document of an editor, as JSON text.
    pub document: Option<String>,
}

/// The version of a template or campaign that is current, but for what its own row has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    /// What its HTML is made from.
    pub source: Source,
    /// Its number, from 1.
    pub number: i64,
    /// When it was saved.
    pub saved_at: Timestamp,
    /// Who saved it, without address or name; `None` where that is not known any more.
    pub by: Option<Actor>,
}

/// The current version; `None` where nothing was saved since versions are kept.
pub async fn current(rx: &Rx<'_>, project: ProjectNumber, owner: Owner) -> Result<Option<Current>> {
    rx.optional(
        "select mjml, document, number, saved_at, actor_type, actor_id from mail_sources \
         where project_id = $1 and owner_id = $2",
        args![project, owner.id()],
        |r| {
            let (kind, id): (String, Option<Uuid>) = (r.get(4)?, r.get(5)?);
            Ok(Current {
                source: Source { mjml: r.get(0)?, document: r.get(1)? },
                number: r.get(2)?,
                saved_at: r.get(3)?,
                by: Some(audit::read(&kind, id, None)),
            })
        },
    )
    .await
}

/// Stores which version is current, and what it is made from.
pub async fn save(
    tx: &Tx<'_>,
    project: ProjectNumber,
    owner: Owner,
    (source, number): (&Source, i64),
    (actor, now): (&Actor, Timestamp),
) -> Result<()> {
    let (kind, id, _) = audit::stored(actor);
    tx.execute_one(
        "insert into mail_sources (project_id, owner_id, mjml, document, number, saved_at, actor_type, actor_id) \
         values ($1, $2, $3, $4, $5, $6, $7, $8) \
         on conflict (project_id, owner_id) do update set mjml = excluded.mjml, document = excluded.document, \
         number = excluded.number, saved_at = excluded.saved_at, actor_type = excluded.actor_type, \
         actor_id = excluded.actor_id",
        args![
            project,
            owner.id(),
            source.mjml.as_deref(),
            source.document.as_deref(),
            number,
            now,
            kind,
            id,
        ],
    )
    .await
}

/// Removes what a template or campaign is made from, with the template or campaign itself.
pub(super) async fn delete(tx: &Tx<'_>, project: ProjectNumber, owner: Owner) -> Result<()> {
    tx.execute(
        "delete from mail_sources where project_id = $1 and owner_id = $2",
        args![project, owner.id()],
    )
    .await?;
    Ok(())
}

//! Where the links of mails lead.

use std::collections::BTreeSet;

use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::project::Utm;
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::project;

/// What a mail knows of its links.
#[derive(Debug, Clone)]
pub struct MailLinks {
    /// SHA-256 of its content.
    pub content_hash: Vec<u8>,
    /// The targets that its values made: an array of the number of a link and an address.
    pub own: Option<Json>,
}

/// The links of a mail; `None` when the project has no such mail, or was reset or deleted.
pub async fn of_mail(rx: &mut Rx<'_>, project: ProjectNumber, mail: EmailId) -> Result<Option<MailLinks>> {
    if !project::is_current(rx, project).await? {
        return Ok(None);
    }
    rx.optional(
        "select content_hash, {json_out links} from emails where project_id = $1 and id = $2",
        args![project, mail],
        |r| Ok(MailLinks { content_hash: r.get(0)?, own: r.get(1)? }),
    )
    .await
}

/// What it takes to lead somebody on who follows a link of a mail.
#[derive(Debug, Clone)]
pub struct Lead {
    /// SHA-256 of the mail's content.
    pub content_hash: Vec<u8>,
    /// The targets that its values made, as in [`MailLinks`].
    pub own: Option<Json>,
    /// What is added to the targets of its project's links; `None` for nothing. The name of the mail's campaign, or else
    /// of its template, stands for a campaign that is not given.
    pub utm: Option<Utm>,
}

/// What is known of the links of some mails; nothing of mails that a project does not have, or of
/// projects that were reset or deleted.
pub async fn leads(
    rx: &mut Rx<'_>,
    mails: &[(ProjectNumber, EmailId)],
) -> Result<Vec<(ProjectNumber, EmailId, Lead)>> {
    let projects: BTreeSet<_> = mails.iter().map(|(project, _)| *project).collect();
    let utm = project::utm(rx, projects).await?;
    let of_projects = || mails.iter().filter_map(|(project, mail)| Some((project, mail, utm.get(project)?)));
    let found = rx
        .each_returning(
            "select r.project, r.mail, e.content_hash, {json_out e.links}, \
         case when e.campaign_id is null then t.name else c.name end \
         from {rows r: project int, mail id, named bool} \
         join emails e on e.project_id = r.project and e.id = r.mail \
         left join campaigns c on c.project_id = e.project_id and c.id = e.campaign_id and r.named \
         left join templates t on t.project_id = e.project_id and t.id = e.template_id and r.named",
            &[
                Arg::Ints(of_projects().map(|(project, ..)| Some(project.0)).collect()),
                Arg::Ids(of_projects().map(|(_, mail, _)| Some((*mail).into())).collect()),
                Arg::Bools(of_projects().map(|(.., utm)| Some(utm.is_some())).collect()),
            ],
            |r| {
                let lead = Lead { content_hash: r.get(2)?, own: r.get(3)?, utm: None };
                Ok((r.get::<ProjectNumber>(0)?, r.get(1)?, lead, r.get::<Option<String>>(4)?))
            },
        )
        .await?;
    let with_utm = |(project, mail, mut lead, name): (ProjectNumber, EmailId, Lead, Option<String>)| {
        let utm = utm.get(&project).cloned().flatten();
        lead.utm = utm.map(|utm| Utm { campaign: utm.campaign.or(name), ..utm });
        (project, mail, lead)
    };
    Ok(found.into_iter().map(with_utm).collect())
}

/// The links of a content, also of one that is gone; `None` when there are none.
pub async fn of_content(rx: &mut Rx<'_>, project: ProjectNumber, hash: &[u8]) -> Result<Option<Json>> {
    let kept = rx
        .optional(
            "select {json_out links} from contents where project_id = $1 and hash = $2",
            args![project, hash],
            |r| r.get::<Option<Json>>(0),
        )
        .await?
        .flatten();
    if kept.is_some() {
        return Ok(kept);
    }
    rx.optional(
        "select {json_out links} from content_links where project_id = $1 and hash = $2",
        args![project, hash],
        |r| r.get(0),
    )
    .await
}

/// Keeps the links of contents that are about to go, and notes when they went.
pub(crate) async fn keep(tx: &Tx<'_>, project: ProjectNumber, hashes: Arg<'_>, now: Timestamp) -> Result<()> {
    tx.execute(
        "insert into content_links (project_id, hash, links, sole_contact, created_at) \
         select project_id, hash, links, sole_contact, $3 from contents where project_id = $1 and hash {in $2} and links is not null \
         on conflict (project_id, hash) do update set created_at = excluded.created_at, \
         sole_contact = excluded.sole_contact",
        &[project.into(), hashes, now.into()],
    )
    .await?;
    Ok(())
}

/// Removes links that were kept before a time; how many.
pub async fn forget(tx: &mut Tx<'_>, project: ProjectNumber, before: Timestamp, limit: i64) -> Result<u64> {
    tx.execute(
        "delete from content_links where project_id = $1 and hash in (select l.hash from content_links l \
         where l.project_id = $1 and l.created_at < $2 order by l.created_at limit $3)",
        args![project, before, limit],
    )
    .await
}

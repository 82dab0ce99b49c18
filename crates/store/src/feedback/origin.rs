//! Which project a mail is of, where nothing but its `Message-ID` is known.

use mailwright_core::ids::{EmailId, ProjectNumber};

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Rx;

/// The projects that have a sender domain.
pub async fn projects_of_domain(rx: &Rx<'_>, domain: &str) -> Result<Vec<ProjectNumber>> {
    rx.all(
        "select project_id from domain_names where name = $1 order by project_id limit 1000",
        args![domain],
        |r| r.get(0),
    )
    .await
}

/// Most projects that get the mail for one domain.
const MOST_RECEIVERS: i64 = 50;

/// The projects that have a sender domain, at most 50. `receives`: only those whose MX record points here.
pub async fn receivers(rx: &Rx<'_>, domain: &str, receives: bool) -> Result<Vec<ProjectNumber>> {
    rx.all(
        "select project_id from domain_names where name = $1 and (receives or not $2) order by project_id limit $3",
        args![domain, receives, MOST_RECEIVERS],
        |r| r.get(0),
    )
    .await
}

/// Whether a project has a mail.
pub async fn has_mail(rx: &Rx<'_>, project: ProjectNumber, id: EmailId) -> Result<bool> {
    rx.exists("select 1 from emails where project_id = $1 and id = $2", args![project, id]).await
}

/// Whether some project has a sender domain that it has proved to be its own.
pub async fn is_domain(rx: &Rx<'_>, domain: &str) -> Result<bool> {
    rx.exists(
        "select 1 from domain_names n join domains d on d.project_id = n.project_id and d.name = n.name \
         where n.name = $1 and d.verified limit 1",
        args![domain],
    )
    .await
}

/// Names of sender domains of the instance, in their order.
pub async fn domains(rx: &Rx<'_>, limit: i64) -> Result<Vec<String>> {
    rx.all("select distinct name from domain_names order by name limit $1", args![limit], |r| r.get(0)).await
}

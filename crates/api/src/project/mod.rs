//! `/users/@me/projects` and `/projects/:id`: the projects of the signed-in user.

pub(crate) mod attention;
pub(crate) mod audit;
pub(crate) mod billing;
pub(crate) mod invitation;
pub(crate) mod key;
mod marketing_cap;
pub(crate) mod member;
pub(crate) mod request;
mod retention;
pub(crate) mod setup_state;
mod utm;

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::App;
use mailwright_app::project::WithKeys;
use mailwright_core::ids::{ProjectId, TemplateId};
use mailwright_core::issue::Issue;
use mailwright_core::patch::Patch;
use mailwright_core::project::Tracking;
use mailwright_core::retention::Periods;
use mailwright_core::role::Role;
use mailwright_core::time::Timestamp;
use mailwright_core::time_zone::Zone;
use mailwright_store::project::{Change, Details};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use self::marketing_cap::{MarketingCapChange, MarketingCapView};
use self::retention::{RetentionChange, RetentionView};
use self::utm::{UtmChange, UtmView};
use crate::account::user::Done;
use crate::auth::needs::{ManageKeys, ManageProject};
use crate::auth::{MemberAccess, ProofRequest, RecentProof, SignedInUser};
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::fields::{Language, PlainName, ShortText, clip};
use crate::params::{PageNumber, Params, ProjectsPageSize};
use crate::schema::{Body, Payload, WholeNumber};

/// Most mails a second that a project can ask for.
pub(crate) const MOST_PER_SECOND: i64 = 100_000;

/// A project.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub(crate) struct ProjectView {
    id: ProjectId,
    name: String,
    /// The public key.
    public: Option<String>,
    /// The secret key, only in the answer to the request that creates it. Later it is null, because only its SHA-256
    /// hash is stored.
    secret: Option<String>,
    /// Whether writing and sending are refused.
    disabled: bool,
    /// Which mails are tracked.
    tracking: Tracking,
    /// Language of public pages and footers.
    language: String,
    /// Most mails a second; null: only the instance's limit.
    sending_per_second: Option<i64>,
    /// Whether an event with the public key may subscribe a contact again that is not subscribed.
    public_key_may_resubscribe: bool,
    /// The zone of dates without an offset in workflows.
    timezone: String,
    /// How many marketing mails a contact gets in a period; null for as many as there are.
    marketing_cap: Option<MarketingCapView>,
    /// What is added to the targets of tracked links; null for nothing.
    utm: Option<UtmView>,
    /// Whether contacts that a request, an event or an import would subscribe have to confirm.
    double_opt_in: bool,
    /// The template of the mails that ask to confirm; null: the service's own words.
    confirmation_template_id: Option<TemplateId>,
    /// Whether the evidence of consent keeps the address of the client.
    consent_keeps_address: bool,
    /// Whether answers come back to an address that names the mail.
    reply_tracking: bool,
    /// For how many days things are kept, where the project has periods of its own; null where it has none.
    retention: Option<RetentionView>,
    /// For how many days things are kept: the shorter of the project's own period and the instance's.
    retention_in_force: RetentionView,
    /// Your role in the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// In the answer that replaces the keys: the addresses of invitations that the old keys asked for. Nobody had
    /// confirmed them, and they were withdrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    withdrawn_invitations: Option<Vec<String>>,
}

impl ProjectView {
    fn new(app: &App, details: Details, role: Option<Role>) -> Self {
        let own = details.retention;
        Self {
            id: details.project.id,
            name: details.project.name,
            public: details.public_key,
            secret: None,
            disabled: details.project.disabled,
            tracking: details.project.tracking,
            utm: details.utm.map(UtmView::new),
            double_opt_in: details.project.double_opt_in,
            confirmation_template_id: details.confirmation_template,
            consent_keeps_address: details.project.consent_keeps_address,
            reply_tracking: details.reply_tracking,
            retention: (own != Periods::default()).then(|| RetentionView::new(own)),
            retention_in_force: RetentionView::new(app.settings().retention.shortened(&own)),
            language: details.project.language,
            sending_per_second: details.sending_per_second,
            public_key_may_resubscribe: details.public_key_may_resubscribe,
            timezone: details.automation.timezone.unwrap_or_else(|| Zone::UTC.name().to_owned()),
            marketing_cap: details.automation.marketing_cap.map(MarketingCapView::new),
            role,
            created_at: details.created_at,
            updated_at: details.updated_at,
            withdrawn_invitations: None,
        }
    }

    fn with_keys(app: &App, made: WithKeys, role: Option<Role>) -> Self {
        let secret = Some(made.secret.reveal().to_owned());
        let public = Some(made.public.reveal().to_owned());
        Self { public, secret, ..Self::new(app, made.details, role) }
    }
}

/// List your projects
///
/// The oldest first: all of them up to 10,000, or a page of them.
#[utoipa::path(get, path = "/users/@me/projects", tag = "Projects", operation_id = "listProjects", security(("session" = [])),
    params(
        ("page" = inline(Option<PageNumber>), Query, description = "Page number"),
        ("pageSize" = inline(Option<ProjectsPageSize>), Query, description = "Projects per page")),
    responses((status = 200, body = Vec<ProjectView>), (status = 401, body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    user: SignedInUser,
    params: Params,
) -> Result<Json<Vec<ProjectView>>> {
    let page = params.bounded::<PageNumber>();
    let size = params.bounded::<ProjectsPageSize>();
    let projects = app.projects(&user.user, page, size).await?;
    Ok(Json(projects.into_iter().map(|(found, role)| ProjectView::new(&app, found, Some(role))).collect()))
}

/// A project to create.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct NewProject {
    name: PlainName,
}

impl Payload for NewProject {
    const MAX_BODY: usize = 16 * 1024;

    fn check(&self) -> Vec<Issue> {
        link_in(&self.name).into_iter().collect()
    }
}

/// The issue of a name with a link: mails to invited people contain the name.
fn link_in(name: &PlainName) -> Option<Issue> {
    let text = "Must not contain a link: leave out ://, www. and paths such as in example.com/path.";
    mailwright_core::name::holds_link(&name.0)
        .then(|| Issue::new("name", "invalid_string", text).received(name.0.clone()))
}

/// Create a project
///
/// You become its owner. Only this answer shows its secret key.
#[utoipa::path(post, path = "/users/@me/projects", tag = "Projects", operation_id = "createProject", security(("session" = [])),
    request_body = NewProject,
    responses(
        (status = 201, body = ProjectView), (status = 401, body = ErrorEnvelope),
        (status = 403, description = "One of your projects is disabled", body = ErrorEnvelope),
        (status = 409, description = "You own the maximum number of projects", body = ErrorEnvelope),
        (status = 422, body = ErrorEnvelope)))]
pub(crate) async fn create(
    State(app): State<App>,
    user: SignedInUser,
    Body(body): Body<NewProject>,
) -> Result<(StatusCode, Json<ProjectView>), Failure> {
    let made = app.create_project(&user.user, body.name.0.trim().to_owned()).await?;
    Ok((StatusCode::CREATED, Json(ProjectView::with_keys(&app, made, Some(Role::Owner)))))
}

/// Changes of settings.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProjectChange {
    name: Option<PlainName>,
    tracking: Option<Tracking>,
    /// Language of public pages and footers, such as `en` or `pt-BR`.
    language: Option<Language>,
    /// Most mails a second, 1 to 100,000, for example while a domain is warmed up. The instance's own limit holds as
    /// well. Null: only the instance's limit.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    sending_per_second: Patch<WholeNumber>,
    /// Whether an event with the public key, which is visible in web pages, may subscribe an unsubscribed contact
    /// again. If false, `subscribed: true` with the public key has an effect only for new contacts.
    public_key_may_resubscribe: Option<bool>,
    /// The zone of dates without an offset in workflows, such as `Europe/Berlin`. Null: UTC.
    #[serde(default)]
    #[schema(value_type = Option<ShortText>)]
    timezone: Patch<ShortText>,
    /// How many marketing mails a contact gets in a period, those of campaigns and workflows together. Null: as many as
    /// there are.
    #[serde(default)]
    #[schema(value_type = Option<MarketingCapChange>)]
    marketing_cap: Patch<MarketingCapChange>,
    /// What is added to the targets of tracked links. Null: nothing.
    #[serde(default)]
    #[schema(value_type = Option<UtmChange>)]
    utm: Patch<UtmChange>,
    /// Whether contacts that a request, an event or an import would subscribe have to confirm first, by the link of a
    /// mail.
    double_opt_in: Option<bool>,
    /// The template of those mails, of type `TRANSACTIONAL`, with `{{confirmUrl}}`. Null: the service's own words.
    #[serde(default)]
    #[schema(value_type = Option<TemplateId>)]
    confirmation_template_id: Patch<TemplateId>,
    /// Whether the evidence of consent keeps the address of the client that changed a subscription on a page.
    consent_keeps_address: Option<bool>,
    /// Whether the reply address of mails names the mail (`help+r<token>@example.com`), so that answers are matched to it,
    /// where mail for its domain comes here.
    reply_tracking: Option<bool>,
    /// For how many days things are kept, where that is shorter than in the instance. It replaces all periods of the
    /// project. Null: as long as in the instance.
    #[serde(default)]
    #[schema(value_type = Option<RetentionChange>)]
    retention: Patch<RetentionChange>,
}

impl Payload for ProjectChange {
    const MAX_BODY: usize = 16 * 1024;

    fn check(&self) -> Vec<Issue> {
        let mut issues: Vec<Issue> = self.name.as_ref().and_then(link_in).into_iter().collect();
        match self.sending_per_second {
            Patch::Value(WholeNumber(rate)) if !(1..=MOST_PER_SECOND).contains(&rate) => {
                let (code, text) = if rate < 1 {
                    ("too_small", "Must be at least 1. To stop sending, pause the campaigns.".to_owned())
                } else {
                    ("too_big", format!("Must be at most {MOST_PER_SECOND}."))
                };
                issues.push(Issue::new("sendingPerSecond", code, text).received(rate.to_string()));
            }
            Patch::Absent | Patch::Null | Patch::Value(_) => {}
        }
        if let Patch::Value(zone) = &self.timezone
            && Zone::parse(&zone.0).is_none()
        {
            let text = "Must be a time zone of the IANA database, such as Europe/Berlin.";
            issues.push(Issue::new("timezone", "custom", text).received(clip(&zone.0)));
        }
        if let Patch::Value(cap) = self.marketing_cap {
            issues.extend(cap.issues());
        }
        if let Patch::Value(utm) = &self.utm {
            issues.extend(utm.issues());
        }
        if let Patch::Value(retention) = &self.retention {
            issues.extend(retention.issues());
        }
        issues
    }
}

/// Change a project's settings
#[utoipa::path(patch, path = "/users/@me/projects/{id}", tag = "Projects", operation_id = "updateProject", security(("session" = [])),
    params(("id" = String, Path)), request_body = ProjectChange,
    responses(
        (status = 200, body = ProjectView), (status = 403, body = ErrorEnvelope), (status = 404, body = ErrorEnvelope),
        (status = 422, body = ErrorEnvelope)))]
pub(crate) async fn update(
    State(app): State<App>,
    MemberAccess(project, caller, _): MemberAccess<ManageProject>,
    Body(body): Body<ProjectChange>,
) -> Result<Json<ProjectView>, Failure> {
    let change = Change {
        name: body.name.map(|name| name.0.trim().to_owned()),
        tracking: body.tracking,
        language: body.language.map(String::from),
        sending_per_second: body.sending_per_second.map(|rate| rate.0),
        public_key_may_resubscribe: body.public_key_may_resubscribe,
        timezone: body.timezone.map(|zone| zone.0),
        marketing_cap: body.marketing_cap.map(MarketingCapChange::cap),
        utm: body.utm.map(UtmChange::utm),
        double_opt_in: body.double_opt_in,
        confirmation_template: body.confirmation_template_id,
        consent_keeps_address: body.consent_keeps_address,
        reply_tracking: body.reply_tracking,
        retention: body.retention.map(RetentionChange::periods),
    };
    let changed = app.update_project(&project, &caller.actor, change).await?;
    Ok(Json(ProjectView::new(&app, changed, None)))
}

/// Delete a project
///
/// Deletes the project with all its data. This cannot be undone. More than ten minutes after signing in, the request
/// needs your password.
#[utoipa::path(delete, path = "/users/@me/projects/{id}", tag = "Projects", operation_id = "deleteProject", security(("session" = [])),
    params(("id" = String, Path)), request_body = ProofRequest,
    responses(
        (status = 200, body = Done),
        (status = 401, description = "Not signed in, or the password or the code is wrong", body = ErrorEnvelope),
        (status = 403, description = "Not allowed, or the password is needed", body = ErrorEnvelope),
        (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn delete(
    State(app): State<App>,
    MemberAccess(project, caller, _): MemberAccess<ManageProject>,
    _: RecentProof,
) -> Result<Json<Done>> {
    app.delete_project(&project, &caller.actor).await?;
    Ok(Done::new("The project was deleted."))
}

/// Replace both keys
///
/// The old keys stop working at once. Only this answer shows the new secret key. Keys with names stay. Invitations that
/// the old keys asked for and nobody confirmed are withdrawn. More than ten minutes after signing in, the request needs
/// your password.
#[utoipa::path(post, path = "/users/@me/projects/{id}/regenerate-keys", tag = "Projects", operation_id = "regenerateKeys", security(("session" = [])),
    params(("id" = String, Path)), request_body = ProofRequest,
    responses(
        (status = 200, body = ProjectView),
        (status = 401, description = "Not signed in, or the password or the code is wrong", body = ErrorEnvelope),
        (status = 403, description = "Not allowed, or the password is needed", body = ErrorEnvelope),
        (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn regenerate_keys(
    State(app): State<App>,
    MemberAccess(project, caller, _): MemberAccess<ManageKeys>,
    _: RecentProof,
) -> Result<Json<ProjectView>> {
    let made = app.rotate_keys(&project, &caller.actor).await?;
    let withdrawn = made.withdrawn.iter().map(ToString::to_string).collect();
    Ok(Json(ProjectView {
        withdrawn_invitations: Some(withdrawn),
        ..ProjectView::with_keys(&app, made, None)
    }))
}

/// Purge a project's data
///
/// Contacts, events, templates, mails and all other data of the project's work are deleted when the answer comes. Keys,
/// settings, members, domains and the audit log stay. This cannot be undone. More than ten minutes after signing in,
/// the request needs your password.
#[utoipa::path(post, path = "/users/@me/projects/{id}/reset", tag = "Projects", operation_id = "resetProject", security(("session" = [])),
    params(("id" = String, Path)), request_body = ProofRequest,
    responses(
        (status = 200, body = Done),
        (status = 401, description = "Not signed in, or the password or the code is wrong", body = ErrorEnvelope),
        (status = 403, description = "Not allowed, or the password is needed", body = ErrorEnvelope),
        (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn reset(
    State(app): State<App>,
    MemberAccess(project, caller, _): MemberAccess<ManageProject>,
    _: RecentProof,
) -> Result<Json<Done>> {
    app.reset_project(&project, &caller.actor).await?;
    Ok(Done::new("The project's data was purged."))
}

//! `/topics`, and the topics of a contact.

use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::audience::topic::{TopicFields, TopicOfContact};
use mailwright_app::{App, Resource};
use mailwright_core::ids::{ContactId, ProjectId, TopicId};
use mailwright_core::issue::Issue;
use mailwright_core::patch::Patch;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_core::topic::{MAX_POSITION, MAX_TOPICS, Topic, TopicVisibility};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadContacts, WriteContacts};
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::fields::{Description, PlainName};
use crate::json::Json;
use crate::params::{self, PathText};
use crate::schema::{Body, Payload, WholeNumber, check_count, check_range};

/// What people can subscribe to.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TopicView {
    id: TopicId,
    /// Recipients see it on their page.
    name: String,
    /// What it is about. Recipients see it on their page.
    description: Option<String>,
    visibility: TopicVisibility,
    /// Whether contacts that have not chosen are in it.
    default_subscribed: bool,
    /// Whether contacts that a request puts in have to confirm.
    double_opt_in: bool,
    /// Place in the list: topics with a lower number come first.
    position: i64,
    project_id: ProjectId,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl TopicView {
    fn new(topic: Topic, project: &Project) -> Self {
        Self {
            id: topic.id,
            name: topic.name,
            description: topic.description,
            visibility: topic.visibility,
            default_subscribed: topic.default_subscribed,
            double_opt_in: topic.double_opt_in,
            position: topic.position,
            project_id: project.id,
            created_at: topic.created_at,
            updated_at: topic.updated_at,
        }
    }
}

/// The topics of a project.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TopicList {
    data: Vec<TopicView>,
}

/// List topics
///
/// All of them, in their order: a project has at most 50.
#[utoipa::path(get, path = "/topics", tag = "Topics", operation_id = "listTopics", security(("secretKey" = []), ("session" = [])),
    responses((status = 200, body = TopicList)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
) -> Result<Json<TopicList>> {
    let topics = app.topics(&project).await?;
    Ok(Json(TopicList { data: topics.into_iter().map(|topic| TopicView::new(topic, &project)).collect() }))
}

/// A topic to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CreateTopicRequest)]
pub(crate) struct CreateRequest {
    name: PlainName,
    description: Option<Description>,
    /// `PUBLIC` by default.
    visibility: Option<TopicVisibility>,
    /// True by default.
    default_subscribed: Option<bool>,
    /// False by default.
    double_opt_in: Option<bool>,
    /// 0 to 9,999; the last place by default.
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 9999)]
    position: Option<WholeNumber>,
}

/// The issue of a position that is out of range.
fn check_position(position: Option<WholeNumber>) -> Vec<Issue> {
    position.and_then(|position| check_range("position", position, 0, MAX_POSITION)).into_iter().collect()
}

impl Payload for CreateRequest {
    const MAX_BODY: usize = 16 * 1024;

    fn check(&self) -> Vec<Issue> {
        check_position(self.position)
    }
}

/// Create a topic
#[utoipa::path(post, path = "/topics", tag = "Topics", operation_id = "createTopic", security(("secretKey" = []), ("session" = [])),
    request_body = CreateRequest,
    responses(
        (status = 201, body = TopicView),
        (status = 409, description = "The project has 50 topics", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn create(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    Body(body): Body<CreateRequest>,
) -> Result<(StatusCode, Json<TopicView>), Failure> {
    let fields = TopicFields {
        name: Some(body.name.into()),
        description: body.description.map(String::from).into(),
        visibility: body.visibility,
        default_subscribed: body.default_subscribed,
        double_opt_in: body.double_opt_in,
        position: body.position.map(|position| position.0),
    };
    let topic = app.create_topic(&project, &caller.actor, fields).await?;
    Ok((StatusCode::CREATED, Json(TopicView::new(topic, &project))))
}

/// Get a topic
#[utoipa::path(get, path = "/topics/{id}", tag = "Topics", operation_id = "getTopic", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = TopicView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
) -> Result<Json<TopicView>> {
    let topic = app.topic(&project, params::id(&id, Resource::Topic)?).await?;
    Ok(Json(TopicView::new(topic, &project)))
}

/// Changes to a topic.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = UpdateTopicRequest)]
pub(crate) struct UpdateRequest {
    name: Option<PlainName>,
    /// null clears it.
    #[serde(default)]
    #[schema(value_type = Option<Description>)]
    description: Patch<Description>,
    visibility: Option<TopicVisibility>,
    /// Contacts that have not chosen join or leave with it.
    default_subscribed: Option<bool>,
    double_opt_in: Option<bool>,
    /// 0 to 9,999.
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 9999)]
    position: Option<WholeNumber>,
}

impl Payload for UpdateRequest {
    const MAX_BODY: usize = 16 * 1024;

    fn check(&self) -> Vec<Issue> {
        check_position(self.position)
    }
}

/// Change a topic
#[utoipa::path(patch, path = "/topics/{id}", tag = "Topics", operation_id = "updateTopic", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = UpdateRequest,
    responses(
        (status = 200, body = TopicView), (status = 404, body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn update(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    PathText(id): PathText,
    Body(body): Body<UpdateRequest>,
) -> Result<Json<TopicView>, Failure> {
    let id: TopicId = params::id(&id, Resource::Topic)?;
    let fields = TopicFields {
        name: body.name.map(String::from),
        description: body.description.map(String::from),
        visibility: body.visibility,
        default_subscribed: body.default_subscribed,
        double_opt_in: body.double_opt_in,
        position: body.position.map(|position| position.0),
    };
    let topic = app.update_topic(&project, &caller.actor, id, fields).await?;
    Ok(Json(TopicView::new(topic, &project)))
}

/// Delete a topic
///
/// What contacts chose goes with it; the evidence stays.
#[utoipa::path(delete, path = "/topics/{id}", tag = "Topics", operation_id = "deleteTopic", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 204), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "Templates, or campaigns that are not over, belong to it", body = ErrorEnvelope)))]
pub(crate) async fn delete(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    PathText(id): PathText,
) -> Result<StatusCode> {
    app.delete_topic(&project, &caller.actor, params::id(&id, Resource::Topic)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// How a contact stands to a topic.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TopicStanding {
    id: TopicId,
    name: String,
    visibility: TopicVisibility,
    /// Whether the contact is in the topic. Who is not subscribed gets no marketing mail of any topic.
    subscribed: bool,
    /// Whether that was chosen; otherwise it is the topic's default.
    chosen: bool,
    /// Whether the contact was asked to confirm, and has not.
    pending: bool,
}

/// How a contact stands to the topics of its project.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TopicStandings {
    data: Vec<TopicStanding>,
}

impl From<Vec<TopicOfContact>> for TopicStandings {
    fn from(topics: Vec<TopicOfContact>) -> Self {
        let standing = |of: TopicOfContact| TopicStanding {
            id: of.topic.id,
            name: of.topic.name,
            visibility: of.topic.visibility,
            subscribed: of.subscribed,
            chosen: of.chosen,
            pending: of.pending,
        };
        Self { data: topics.into_iter().map(standing).collect() }
    }
}

/// List the topics of a contact
#[utoipa::path(get, path = "/contacts/{id}/topics", tag = "Topics", operation_id = "listContactTopics", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = TopicStandings), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn of_contact(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
) -> Result<Json<TopicStandings>> {
    let id: ContactId = params::id(&id, Resource::Contact)?;
    Ok(Json(app.topics_of_contact(&project, id).await?.into()))
}

/// A topic, and whether a contact is to be in it.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct TopicWish {
    id: TopicId,
    subscribed: bool,
}

/// The topics that a contact joins and leaves. Topics that are not named stay as they are.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SetContactTopicsRequest)]
pub(crate) struct SetRequest {
    /// 1 to 50 topics.
    #[schema(min_items = 1, max_items = 50)]
    topics: Vec<TopicWish>,
}

impl Payload for SetRequest {
    const MAX_BODY: usize = 64 * 1024;

    fn check(&self) -> Vec<Issue> {
        check_count("topics", self.topics.len(), MAX_TOPICS)
    }
}

/// Set the topics of a contact
///
/// A contact that joins a topic with double opt-in is asked to confirm, and is not in it until then.
#[utoipa::path(put, path = "/contacts/{id}/topics", tag = "Topics", operation_id = "setContactTopics", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = SetRequest,
    responses(
        (status = 200, body = TopicStandings),
        (status = 404, description = "No contact, or no topic, has the id", body = ErrorEnvelope),
        (status = 422, description = "`topics` must have 1 to 50 topics", body = ErrorEnvelope)))]
pub(crate) async fn set_of_contact(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    PathText(id): PathText,
    Body(body): Body<SetRequest>,
) -> Result<Json<TopicStandings>, Failure> {
    let id: ContactId = params::id(&id, Resource::Contact)?;
    let wishes = body.topics.into_iter().map(|wish| (wish.id, wish.subscribed)).collect();
    Ok(Json(app.set_topics_of_contact(&project, &caller.actor, id, wishes).await?.into()))
}

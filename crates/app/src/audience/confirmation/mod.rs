//! Double opt-in: the mails that ask contacts to confirm, and the tags of their links.
//!
//! Who asks only leaves a row, whatever the way, an import of very many included. The rows are taken here, some at a
//! time, and their mails go into the lane of workflows, so that mail that somebody waits for is not held up.

mod mail;

use std::time::{Duration, Instant};

use mailwright_core::consent::CONFIRMATION_VALID;
use mailwright_core::email::Lane;
use mailwright_core::ids::{ContactId, ProjectNumber, TopicId};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::confirmation as store;
use mailwright_store::body;

use crate::App;
use crate::audience::subscription::tag::{TAG, masked};
use crate::background::project_work::ProjectWork;
use crate::background::runner::{Next, Runner, Work};
use crate::background::tasks::Tasks;
use crate::error::Result;

/// Purpose under which the tags of confirmation links are derived.
const PURPOSE: &str = "confirm";
/// How often it is looked for mails that are due.
const SWEEP: Duration = Duration::from_secs(1);
/// How much longer than a look the pause after it is.
const REST: u32 = 10;
/// Most mails that are made in one transaction.
const BATCH: i64 = 100;
/// When it is looked again for a sender where a project has none.
const NO_SENDER: Duration = Duration::from_mins(10);

/// What the tag of a confirmation link says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) project: ProjectNumber,
    /// `None` for the subscription as a whole.
    pub(crate) topic: Option<TopicId>,
    /// When the contact was asked.
    pub(crate) at: Timestamp,
}

pub(crate) fn start(app: &App, tasks: &Tasks) {
    let asking = Asking { app: app.clone(), work: ProjectWork::new(tasks) };
    Runner::new(app, "confirmation mails", SWEEP).start(tasks, asking);
}

struct Asking {
    app: App,
    work: ProjectWork,
}

impl Work for Asking {
    async fn round(&mut self) -> Result<Next> {
        let (began, now) = (Instant::now(), self.app.clock().now());
        let projects = self.app.read(body!(async |rx| store::due_projects(rx, now).await)).await?;
        for project in projects {
            let (app, work) = (self.app.clone(), self.work.clone());
            self.work.start("confirmation mails", project, async move {
                if let Err(error) = app.ask_to_confirm(project, &work).await {
                    tracing::warn!(%error, project = project.0, "confirmation mails could not be made, trying again");
                }
            });
        }
        Ok(Next::Rested(began.elapsed() * REST))
    }
}

impl App {
    /// Makes the confirmation mails of a project that are due.
    async fn ask_to_confirm(&self, project: ProjectNumber, work: &ProjectWork) -> Result<()> {
        let began = Instant::now();
        loop {
            let (app, now) = (self.clone(), self.clock().now());
            let made = self.write_in_background(body!(async |tx| {
                if let Some(made) = mail::make(tx, &app, project, BATCH, now).await? {
                    return Ok(made);
                }
                store::put_off(tx, project, now, now.plus(NO_SENDER)).await?;
                tracing::warn!(
                    project = project.0,
                    "nobody can be asked to confirm: the project has no sender domain, or its limit of mails is reached"
                );
                Ok(0)
            }));
            let made = match made.await {
                // what another transaction is at is for a later round
                Err(error) if error.is_contention() => return Ok(()),
                made => made?,
            };
            if made > 0 {
                self.dispatcher().wake(Lane::Workflow, project);
            }
            if made < BATCH as usize || !work.goes_on(began) {
                return Ok(());
            }
        }
    }

    /// The tag of a link to confirm something: a signature, the masked number of the project, when the contact was
    /// asked, and the topic.
    pub(crate) fn ticket(&self, contact: ContactId, ticket: Ticket) -> Result<String> {
        let signature = self.0.secret.sign(PURPOSE, &signed(contact, ticket.topic, ticket.at))?;
        let (tag, mask) = signature.split_at(TAG);
        let topic = ticket.topic.map(|topic| topic.as_uuid().as_bytes().to_vec()).unwrap_or_default();
        let project = masked(ticket.project.0.to_be_bytes(), mask);
        Ok(hex::encode([tag, &project, &ticket.at.0.to_be_bytes(), &topic].concat()))
    }

    /// Reads a tag; `None` when it is not one of ours for that contact, or too old.
    pub(crate) fn read_ticket(&self, contact: ContactId, given: &str) -> Option<Ticket> {
        let given = hex::decode(given).ok()?;
        let (tag, rest) = given.split_at_checked(TAG)?;
        let (project, rest) = rest.split_first_chunk::<8>()?;
        let (at, topic) = rest.split_first_chunk::<8>()?;
        let at = Timestamp(i64::from_be_bytes(*at));
        let topic = match topic {
            [] => None,
            topic => Some(TopicId::from_bytes(topic.try_into().ok()?)),
        };
        let signature = self.0.secret.sign(PURPOSE, &signed(contact, topic, at)).ok()?;
        let (right, mask) = signature.split_at(TAG);
        let differs = right.iter().zip(tag).fold(0, |all, (a, b)| all | (a ^ b));
        let is_valid = differs == 0 && at.plus(CONFIRMATION_VALID) > self.0.clock.now();
        let project = ProjectNumber(i64::from_be_bytes(masked(*project, mask)));
        is_valid.then_some(Ticket { project, topic, at })
    }
}

/// What a tag is the signature of.
fn signed(contact: ContactId, topic: Option<TopicId>, at: Timestamp) -> Vec<u8> {
    let mut signed = contact.as_uuid().as_bytes().to_vec();
    signed.extend(at.0.to_be_bytes());
    signed.extend(topic.iter().flat_map(|topic| *topic.as_uuid().as_bytes()));
    signed
}

//! Writes a made-up history as the service would have stored it at the time: by its own store, in its transactions, so
//! that every counter is there. No server runs meanwhile.

use std::time::Duration;

use mailwright_core::address::EmailAddress;
use mailwright_core::consent::{ConsentWay, Evidence};
use mailwright_core::contact::Subscription;
use mailwright_core::custom_data::{Data, DataPatch};
use mailwright_core::ids::{ExecutionId, ProjectId, ProjectNumber, StepId, TemplateId, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::execution::Execution;
use mailwright_core::workflow::kind::ExecutionStatus;
use mailwright_store::audience::contact::{Contacts, Upsert};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::audience::names::{Names, Wanted};
use mailwright_store::automation::beginning::{self, Beginning};
use mailwright_store::automation::execution::{self, Stored};
use mailwright_store::feedback::inbound;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::{Db, Error, Location, Result, StoreMetrics, Tx, body, project};
use mailwright_testkit::{App, Engine};
use serde_json::json;

use super::made::{self, About, History};
use super::moments::DAY;

/// Rows of one transaction.
const BATCH: usize = 5_000;
/// Executions of one: a contact has one in each workflow at most.
const EXECUTIONS: usize = 200;

/// Where a history is written to.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) db: Db,
    pub(super) project: ProjectNumber,
    pub(super) from: EmailAddress,
    pub(super) templates: Vec<TemplateId>,
    /// Workflows, each with the step that its mails are of.
    pub(super) workflows: Vec<(WorkflowId, StepId)>,
    /// Now.
    pub(super) now: Timestamp,
}

/// Opens the database of a server.
pub(super) fn open(app: &App) -> Db {
    let location = match app.engine() {
        Engine::Sqlite => Location::Sqlite(app.data_dir().join("mailwright.sqlite")),
        Engine::Postgres => Location::Postgres {
            url: app.database_url().to_owned(),
            connections: 4,
            lock_wait: Duration::from_secs(5),
        },
    };
    Db::open(&location, StoreMetrics::default()).expect("a database")
}

/// The number of a project.
pub(super) async fn number(db: &Db, project: &str) -> ProjectNumber {
    let id: ProjectId = project.parse().expect("an id");
    let found = db.read(body!(async |rx| project::by_id(rx, id).await)).await.expect("an answer");
    found.expect("a project").number
}

impl Site {
    /// When what waits is due: after the test.
    pub(super) fn far(&self) -> Timestamp {
        Timestamp(self.now.0 + DAY)
    }

    pub(super) fn address(text: &str) -> EmailAddress {
        EmailAddress::from_stored(text)
    }

    /// Writes everything. Contacts get their ids by it.
    pub(super) async fn write(&self, history: &mut History) {
        self.contacts(history).await;
        self.names(history).await;
        super::written_mails::write(self, history).await;
        self.inbound(history).await;
        let tracked = history.tracked.clone();
        self.events(history, tracked).await;
        self.executions(history).await;
    }

    async fn contacts(&self, history: &mut History) {
        let project = self.project;
        for chunk in history.contacts.chunks_mut(BATCH) {
            let rows: Vec<_> =
                chunk.iter().map(|one| (Self::address(&one.address), Timestamp(one.at))).collect();
            let written = self.db.write(body!(async |tx| contacts(tx, project, &rows).await)).await;
            for (contact, id) in chunk.iter_mut().zip(written.expect("contacts are stored")) {
                contact.id = id;
            }
        }
    }

    /// The names of events that a project lists.
    async fn names(&self, history: &History) {
        let (project, now) = (self.project, self.now);
        let names: std::collections::BTreeSet<String> = history
            .events
            .iter()
            .map(|event| &event.name)
            .filter(|name| !is_of_service(name))
            .cloned()
            .collect();
        let written = self.db.write(body!(async |tx| {
            let mut wanted = Wanted::default();
            for name in &names {
                wanted.event(project, name);
            }
            let mut found = Names::load(tx, &wanted).await?;
            for name in &names {
                found.take(project, std::iter::empty(), Some(name), now).map_err(Error::Excess)?;
            }
            found.save(tx).await
        }));
        written.await.expect("names are stored");
    }

    /// Events that are about no mail that was sent.
    pub(super) async fn events(&self, history: &History, range: std::ops::Range<usize>) {
        for chunk in history.events[range].chunks(BATCH) {
            let events: Vec<NewEvent> = chunk.iter().map(|event| self.event(history, event)).collect();
            let written = self.db.write(body!(async |tx| {
                let mut deltas = Deltas::default();
                event::append(tx, &events, &mut deltas).await?;
                deltas.save(tx).await
            }));
            written.await.expect("events are stored");
        }
    }

    pub(super) fn event(&self, history: &History, event: &made::Event) -> NewEvent {
        let email = match event.about {
            About::Nothing => None,
            About::Mail(number) => Some(history.mails[number].id),
            About::Inbound(number) => Some(history.inbound[number].id),
        };
        NewEvent {
            project: self.project,
            id: event.id,
            name: event.name.clone(),
            contact: history.contacts[event.contact].id,
            email,
            data: None,
            at: Timestamp(event.at),
        }
    }

    async fn inbound(&self, history: &History) {
        let project = self.project;
        for chunk in history.inbound.chunks(BATCH) {
            let mails: Vec<inbound::Inbound> = chunk
                .iter()
                .map(|mail| inbound::Inbound {
                    id: mail.id,
                    contact: Some(history.contacts[mail.contact].id),
                    recipient: self.from.to_string(),
                    recipients: json!([self.from.as_str()]),
                    from: history.contacts[mail.contact].address.clone(),
                    from_name: None,
                    from_header: history.contacts[mail.contact].address.clone(),
                    subject: "A question".to_owned(),
                    message_id: mail.id.to_string(),
                    in_reply_to: None,
                    is_automatic: false,
                    attachments: json!([]),
                    verdicts: json!({}),
                    raw_hash: mail.id.as_uuid().as_bytes().repeat(2),
                    size: 1_000,
                    at: Timestamp(mail.at),
                })
                .collect();
            let written = self.db.write(body!(async |tx| {
                let mut deltas = Deltas::default();
                for mail in &mails {
                    inbound::add(tx, project, mail, &mut deltas).await?;
                }
                deltas.save(tx).await
            }));
            written.await.expect("mails that came in are stored");
        }
    }

    async fn executions(&self, history: &History) {
        let (project, far) = (self.project, self.far());
        for chunk in history.executions.chunks(EXECUTIONS) {
            let (mut begun, mut later) = (Vec::new(), Vec::new());
            for one in chunk {
                let contact = history.contacts[one.contact].id;
                let new = self.execution((one.id, Timestamp(one.at)), one.workflow, contact);
                let mut stored = new.clone();
                let execution = &mut stored.execution;
                match one.ended {
                    Some((at, status)) => {
                        (execution.status, execution.due_at, execution.current) = (status, None, None);
                        execution.completed_at = Some(Timestamp(at));
                    }
                    None => {
                        (execution.status, execution.due_at) = (ExecutionStatus::Waiting, Some(far));
                    }
                }
                begun.push(Beginning { stored: new, allow_reentry: true });
                later.push(stored);
            }
            let written = self.db.write(body!(async |tx| {
                let mut deltas = Deltas::default();
                let refused = beginning::begin(tx, project, &begun, deltas.sums()).await?;
                execution::save(tx, project, &later, deltas.sums()).await?;
                deltas.save(tx).await?;
                Ok::<_, Error>(refused.len())
            }));
            assert_eq!(written.await.expect("executions are stored"), 0, "all of them begin");
        }
    }

    fn execution(
        &self,
        (id, at): (ExecutionId, Timestamp),
        workflow: usize,
        contact: mailwright_core::ids::ContactId,
    ) -> Stored {
        let (workflow, _) = self.workflows[workflow];
        let execution = Execution {
            id,
            contact,
            seed: Execution::seed(workflow, contact),
            source: None,
            status: ExecutionStatus::Running,
            current: Some(0),
            due_at: Some(at),
            context: Data::default(),
            exit_reason: None,
            is_converted: false,
            log: Vec::new(),
            started_at: at,
            completed_at: None,
        };
        Stored { workflow, version: 1, is_bulk: false, lost: None, execution }
    }
}

/// Whether an event is the service's own, by what the documentation says.
pub(super) fn is_of_service(name: &str) -> bool {
    let is_move = name.starts_with("segment.") && (name.ends_with(".entry") || name.ends_with(".exit"));
    name.starts_with("email.") || is_move || ["contact.subscribed", "contact.unsubscribed"].contains(&name)
}

async fn contacts(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    rows: &[(EmailAddress, Timestamp)],
) -> Result<Vec<mailwright_core::ids::ContactId>> {
    let mut contacts = Contacts::load(tx, rows.iter().map(|(email, _)| (project, email))).await?;
    let mut ids = Vec::new();
    for (email, at) in rows {
        let upsert = Upsert {
            project,
            email,
            subscription: Subscription { given: Some(true), default_for_new: true, preserve_existing: false },
            patch: &DataPatch::new(Data::default()),
            evidence: Evidence::by(ConsentWay::Api),
            double_opt_in: false,
        };
        ids.push(contacts.upsert(upsert, *at).contact.id);
    }
    let mut deltas = Deltas::default();
    contacts.save(tx, &mut deltas).await?;
    deltas.save(tx).await?;
    Ok(ids)
}

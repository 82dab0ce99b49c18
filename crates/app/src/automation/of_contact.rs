//! The ways of one contact through all workflows.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use mailwright_core::ids::{ContactId, ExecutionId, WorkflowId};
use mailwright_core::project::Project;
use mailwright_core::workflow::definition::Workflow;
use mailwright_store::audience::contact;
use mailwright_store::automation::{execution_list as list, version, workflow};
use mailwright_store::body;

use super::execution::{Standing, current};
use crate::App;
use crate::error::{Error, Resource, Result};

/// A page of a contact's executions.
#[derive(Debug)]
pub struct OfContact {
    /// The executions, the newest first.
    pub executions: Vec<Standing>,
    /// Their workflows.
    pub workflows: BTreeMap<WorkflowId, Workflow>,
    /// Whether more follow.
    pub has_more: bool,
    /// How many there are in all, on the first page; 0 on later ones.
    pub total: i64,
}

impl App {
    /// A page of the executions of a contact in all workflows, the newest first.
    pub async fn executions_of_contact(
        &self,
        project: &Project,
        contact: ContactId,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<OfContact> {
        let number = project.number;
        let read = self.read_slow(
            number,
            body!(async |rx| {
                let Some(found) = contact::get(rx, number, contact).await? else { return Ok(None) };
                // one more tells whether there is more
                let mut stored = list::of_contact(rx, number, contact, before, limit + 1).await?;
                let has_more = stored.len() > limit;
                stored.truncate(limit);
                let total = match before {
                    Some(_) => 0,
                    None => list::count_of_contact(rx, number, contact).await?,
                };
                let (mut executions, mut workflows) = (Vec::with_capacity(stored.len()), BTreeMap::new());
                for stored in stored {
                    if let Entry::Vacant(place) = workflows.entry(stored.workflow) {
                        let Some(of) = workflow::get(rx, number, stored.workflow).await? else { continue };
                        place.insert(of);
                    }
                    let Some(of) = workflows.get(&stored.workflow) else { continue };
                    let compiled = version::compiled(rx, number, stored.workflow, stored.version).await?;
                    let current = current(&stored, compiled.as_ref(), of);
                    executions.push(Standing { stored, email: Some(found.email.clone()), current });
                }
                Ok(Some(OfContact { executions, workflows, has_more, total }))
            }),
        );
        read.await?.ok_or_else(|| Error::not_found(Resource::Contact, contact))
    }
}

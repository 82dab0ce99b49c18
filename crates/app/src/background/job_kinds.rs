//! The kinds of jobs, and what does their work.

use mailwright_core::bulk::Operation;
use mailwright_core::job::JobKind;
use mailwright_store::background::job::Claimed;

use crate::audience::bulk::Bulk;
use crate::audience::import::Import;
use crate::audience::suppression;
use crate::audience::verification::Verifying;
use crate::automation::enrolment::Enrolment;
use crate::automation::migration::Migration;
use crate::automation::simulation::Simulation;
use crate::background::job::JobHandler;

/// The work of a job. An error ends the job: it is the reason its owner is shown.
pub(crate) fn open(job: &Claimed, input: Vec<u8>) -> Result<Box<dyn JobHandler>, String> {
    let project = job.claim.project;
    Ok(match job.kind {
        JobKind::ImportContacts => Box::new(Import::open(project, &job.progress, input)?),
        JobKind::SubscribeContacts => {
            Box::new(Bulk::open(project, Operation::Subscribe, &job.progress, &input)?)
        }
        JobKind::UnsubscribeContacts => {
            Box::new(Bulk::open(project, Operation::Unsubscribe, &job.progress, &input)?)
        }
        JobKind::DeleteContacts => Box::new(Bulk::open(project, Operation::Delete, &job.progress, &input)?),
        JobKind::EnrolSegment => Box::new(Enrolment::open(project, &input)?),
        JobKind::SimulateWorkflow => Box::new(Simulation::open(project, &input)?),
        JobKind::ImportSuppressions => Box::new(suppression::Import::open(project, input)?),
        JobKind::VerifyAddresses => Box::new(Verifying::open(project, &job.progress, input)?),
        JobKind::MigrateExecutions => Box::new(Migration::open(project, &input)?),
    })
}

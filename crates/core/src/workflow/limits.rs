//! The limits of workflows.

use std::time::Duration;

/// The most workflows of a project.
pub const MAX_WORKFLOWS: usize = 1000;
/// The most steps of a workflow, its trigger included.
pub const MAX_STEPS: usize = 500;
/// The most transitions of a workflow.
pub const MAX_TRANSITIONS: usize = 2000;
/// The most branches of a step, the one called `default` not included.
pub const MAX_BRANCHES: usize = 20;
/// The longest name of a workflow, a step or a branch, in characters.
pub const MAX_NAME: usize = 100;
/// The longest id of a branch, in bytes.
pub const MAX_BRANCH: usize = 100;
/// The largest configuration of a step, a trigger or a goal, in bytes of JSON.
pub const MAX_CONFIG: usize = 64 * 1024;
/// The largest workflow, in bytes of JSON: all that its steps are configured with.
pub const MAX_GRAPH: usize = 1024 * 1024;
/// The largest context of an execution, in bytes of JSON.
pub const MAX_CONTEXT: usize = 64 * 1024;
/// The most executions of one contact that are not over, of all workflows of a project.
pub const MAX_ACTIVE_PER_CONTACT: usize = 100;
/// The most executions of one contact in a workflow that begin within an hour, however they do: workflows that begin each
/// other go no further.
pub const MAX_STARTS_PER_HOUR: usize = 100;
/// The longest DELAY.
pub const MAX_DELAY: Duration = Duration::from_hours(365 * 24);
/// The longest time that a `WAIT_FOR_EVENT` step waits, unless it waits without end.
pub const MAX_TIMEOUT: Duration = Duration::from_hours(365 * 24);
/// The longest URL of a WEBHOOK, in bytes.
pub const MAX_URL: usize = 4096;
/// The most headers of a WEBHOOK.
pub const MAX_HEADERS: usize = 50;
/// The longest reason of an EXIT, in characters.
pub const MAX_REASON: usize = 500;
/// An execution counts from the instant at which a step was due, as long as the service is not later than this. After
/// an outage it counts from the present, so that the steps that were due meanwhile do not follow one another at once.
pub const PUNCTUAL: Duration = Duration::from_mins(1);
/// How much text the conditions of a CONDITION step, or of a goal, look through, in bytes.
pub const MAX_TEXT: usize = 16 * 1024 * 1024;
/// How much text the filters of all triggers of one event look through, in bytes: they hold up the write that stores it.
pub const MAX_TEXT_OF_EVENT: usize = 1024 * 1024;
/// The largest body of the request of a WEBHOOK, in bytes of JSON, once its variables are filled in.
pub const MAX_REQUEST: usize = 256 * 1024;
/// The longest value of a header of a WEBHOOK, in bytes, once its variables are filled in.
pub const MAX_HEADER: usize = 8 * 1024;
/// How much of the answer to a WEBHOOK is kept, in bytes.
pub const MAX_RESPONSE: usize = 64 * 1024;
/// How deep the JSON of an answer is nested; what is deeper is kept as text. It is stored within other JSON, and readers of
/// JSON have limits of their own.
pub const MAX_RESPONSE_LEVELS: usize = 32;
/// How long it is known why events did not begin executions.
pub const REFUSALS_KEPT: Duration = Duration::from_hours(30 * 24);

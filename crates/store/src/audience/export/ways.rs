//! The sections about the contact's ways through workflows.

use mailwright_core::time::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::place::{Key, Place, Section, id, number, text, time, value};
use crate::automation::log;

pub(super) const EXECUTIONS: Section = Section {
    name: "executions",
    sql: "select x.workflow_id, x.id, w.name, x.version, x.status, x.exit_reason, x.started_at, x.completed_at, x.due_at, \
          x.converted, {json_out x.context}, x.log, x.source_event_id from workflow_executions x \
          left join workflows w on w.project_id = x.project_id and w.id = x.workflow_id \
          where x.project_id = $1 and x.contact_id = $2 and (x.workflow_id, x.id) > ($4, $5) \
          order by x.workflow_id, x.id limit $3",
    by_address: false,
    key: Key::Ids,
    page: 50,
    read: |r| {
        let (started, log, converted): (Timestamp, String, bool) = (r.get(6)?, r.get(11)?, r.get(9)?);
        let row = json!({
            "workflowId": id(r, 0)?, "id": id(r, 1)?, "workflow": text(r, 2)?, "version": number(r, 3)?,
            "status": text(r, 4)?, "exitReason": text(r, 5)?, "startedAt": time(r, 6)?, "completedAt": time(r, 7)?,
            "dueAt": time(r, 8)?, "converted": converted, "context": value(r, 10)?, "steps": log::told(&log, started),
            "sourceEventId": id(r, 12)?,
        });
        Ok((Place::ids(r.get(0)?, r.get(1)?), row))
    },
};

/// Outputs of steps that are too long for the log; `step` is the place in the list of the execution's steps.
pub(super) const OUTPUTS: Section = Section {
    name: "executionOutputs",
    sql: "select o.execution_id, o.entry, {json_out o.output}, x.workflow_id from workflow_executions x \
          join workflow_outputs o on o.project_id = x.project_id and o.execution_id = x.id \
          where x.project_id = $1 and x.contact_id = $2 and (o.execution_id, o.entry) > ($4, $5) \
          order by o.execution_id, o.entry limit $3",
    by_address: false,
    key: Key::IdAndNumber,
    page: 20,
    read: |r| {
        let row = json!({ "executionId": id(r, 0)?, "step": number(r, 1)?, "output": value(r, 2)? });
        Ok((Place { number: r.get(1)?, ..Place::id(r.get(0)?) }, row))
    },
};

pub(super) const SIGNALS: Section = Section {
    name: "executionSignals",
    sql: "select id, event, event_id, execution_id, {json_out data}, {json_out answer}, created_at from workflow_signals \
          where project_id = $1 and contact_id = $2 and id > $4 order by id limit $3",
    by_address: false,
    key: Key::Id,
    page: 50,
    read: |r| {
        let row = json!({
            "event": text(r, 1)?, "eventId": id(r, 2)?, "executionId": id(r, 3)?, "data": value(r, 4)?,
            "answer": value(r, 5)?, "createdAt": time(r, 6)?,
        });
        Ok((Place::id(r.get(0)?), row))
    },
};

pub(super) const REQUESTS: Section = Section {
    name: "webhookRequests",
    sql: "select q.execution_id, q.id, q.host, {json_out q.request}, q.attempts, q.status, q.error, q.created_at \
          from workflow_executions x \
          join workflow_requests q on q.project_id = x.project_id and q.execution_id = x.id \
          where x.project_id = $1 and x.contact_id = $2 and (q.execution_id, q.id) > ($4, $5) \
          order by q.execution_id, q.id limit $3",
    by_address: false,
    key: Key::Ids,
    page: 20,
    read: |r| {
        let row = json!({
            "executionId": id(r, 0)?, "id": id(r, 1)?, "host": text(r, 2)?, "request": value(r, 3)?,
            "attempts": number(r, 4)?, "status": number(r, 5)?, "error": text(r, 6)?, "createdAt": time(r, 7)?,
        });
        Ok((Place::ids(r.get(0)?, r.get(1)?), row))
    },
};

pub(super) const REFUSALS: Section = Section {
    name: "executionRefusals",
    sql: "select event_id, {json_out refused} from workflow_refusals \
          where project_id = $1 and contact_id = $2 and event_id > $4 order by event_id limit $3",
    by_address: false,
    key: Key::Id,
    page: 500,
    read: |r| {
        let event: Uuid = r.get(0)?;
        Ok((Place::id(event), json!({ "eventId": event.to_string(), "refused": value(r, 1)? })))
    },
};

//! The sections about the contact itself.

use mailwright_core::month::Month;
use serde_json::json;

use super::place::{Key, Place, Section, id, number, text, time, value};

pub(super) const CONSENTS: Section = Section {
    name: "consents",
    sql: "select id, what, way, topic_id, topic, email_id, language, address, created_at from consents \
          where project_id = $1 and contact_id = $2 and id > $4 order by id limit $3",
    by_address: false,
    key: Key::Id,
    page: 500,
    read: |r| {
        let row = json!({
            "id": id(r, 0)?, "change": text(r, 1)?, "way": text(r, 2)?, "topicId": id(r, 3)?, "topic": text(r, 4)?,
            "emailId": id(r, 5)?, "language": text(r, 6)?, "ip": text(r, 7)?, "at": time(r, 8)?,
        });
        Ok((Place::id(r.get(0)?), row))
    },
};

pub(super) const FORMER_ADDRESSES: Section = Section {
    name: "formerAddresses",
    sql: "select email, changed_at from former_addresses where project_id = $1 and contact_id = $2 \
          order by changed_at desc limit $3",
    by_address: false,
    key: Key::Only,
    // as many as are kept
    page: 100,
    read: |r| Ok((Place::default(), json!({ "email": text(r, 0)?, "until": time(r, 1)? }))),
};

pub(super) const TOPICS: Section = Section {
    name: "topics",
    sql: "select c.topic_id, t.name, c.subscribed, c.updated_at from topic_choices c \
          left join topics t on t.project_id = c.project_id and t.id = c.topic_id \
          where c.project_id = $1 and c.contact_id = $2 and c.topic_id > $4 order by c.topic_id limit $3",
    by_address: false,
    key: Key::Id,
    page: 500,
    read: |r| {
        let subscribed: bool = r.get(2)?;
        let row = json!({
            "topicId": id(r, 0)?, "topic": text(r, 1)?, "subscribed": subscribed, "updatedAt": time(r, 3)?,
        });
        Ok((Place::id(r.get(0)?), row))
    },
};

pub(super) const CONFIRMATIONS: Section = Section {
    name: "confirmations",
    sql: "select topic_id, requested_at, mailed_at from confirmations \
          where project_id = $1 and contact_id = $2 and topic_id >= $4 order by topic_id limit $3",
    by_address: false,
    key: Key::Id,
    // more than there can be topics: the first of them is the subscription as a whole, whose id is all zeros
    page: 10_000,
    read: |r| {
        let row = json!({ "topicId": id(r, 0)?, "requestedAt": time(r, 1)?, "mailedAt": time(r, 2)? });
        Ok((Place::id(r.get(0)?), row))
    },
};

pub(super) const SEGMENTS: Section = Section {
    name: "segments",
    sql: "select m.segment_id, s.name, m.entered_at, m.exited_at from segment_members m \
          left join segments s on s.project_id = m.project_id and s.id = m.segment_id \
          where m.project_id = $1 and m.contact_id = $2 and m.segment_id > $4 order by m.segment_id limit $3",
    by_address: false,
    key: Key::Id,
    page: 500,
    read: |r| {
        let row = json!({
            "segmentId": id(r, 0)?, "name": text(r, 1)?, "enteredAt": time(r, 2)?, "exitedAt": time(r, 3)?,
        });
        Ok((Place::id(r.get(0)?), row))
    },
};

pub(super) const EVENTS: Section = Section {
    name: "events",
    sql: "select name, id, email_id, {json_out data}, created_at from events \
          where project_id = $1 and contact_id = $2 and (name, id) > ($4, $5) order by name, id limit $3",
    by_address: false,
    key: Key::TextAndId,
    page: 500,
    read: |r| {
        let row = json!({
            "name": text(r, 0)?, "id": id(r, 1)?, "emailId": id(r, 2)?, "data": value(r, 3)?, "createdAt": time(r, 4)?,
        });
        Ok((Place { text: r.get(0)?, ..Place::id(r.get(1)?) }, row))
    },
};

pub(super) const SUPPRESSIONS: Section = Section {
    name: "suppressions",
    sql: "select email, reason, email_id, created_at, expires_at from suppressions \
          where project_id = $1 and email = $2 limit $3",
    by_address: true,
    key: Key::Only,
    page: 1,
    read: |r| {
        let row = json!({
            "email": text(r, 0)?, "reason": text(r, 1)?, "emailId": id(r, 2)?, "createdAt": time(r, 3)?,
            "expiresAt": time(r, 4)?,
        });
        Ok((Place::default(), row))
    },
};

pub(super) const SOFT_BOUNCES: Section = Section {
    name: "softBounces",
    sql: "select email, first_at, last_at, bounces, days from soft_bounces where project_id = $1 and email = $2 limit $3",
    by_address: true,
    key: Key::Only,
    page: 1,
    read: |r| {
        let row = json!({
            "email": text(r, 0)?, "firstAt": time(r, 1)?, "lastAt": time(r, 2)?, "bounces": number(r, 3)?,
            "days": number(r, 4)?,
        });
        Ok((Place::default(), row))
    },
};

/// The months in which the contact opened mails.
pub(super) const OPENED_MONTHS: Section = Section {
    name: "openedMonths",
    sql: "select contact_id, month from contact_months where project_id = $1 and contact_id = $2 \
          and (contact_id, month) > ($4, $5) order by contact_id, month limit $3",
    by_address: false,
    key: Key::IdAndNumber,
    page: 100,
    read: |r| {
        let month: i64 = r.get(1)?;
        Ok((Place { number: month, ..Place::id(r.get(0)?) }, json!(Month::from_number(month).to_string())))
    },
};

/// What jobs found out about the address.
pub(super) const VERIFICATIONS: Section = Section {
    name: "verifications",
    sql: "select job_id, position, email, {json_out reasons}, meant from verification_results \
          where project_id = $1 and lower(email) = $2 and (job_id, position) > ($4, $5) order by job_id, position limit $3",
    by_address: true,
    key: Key::IdAndNumber,
    page: 100,
    read: |r| {
        let row = json!({
            "jobId": id(r, 0)?, "position": number(r, 1)?, "email": text(r, 2)?, "reasons": value(r, 3)?,
            "didYouMean": text(r, 4)?,
        });
        Ok((Place { number: r.get(1)?, ..Place::id(r.get(0)?) }, row))
    },
};

/// Who did it is somebody else's data and is left out.
pub(super) const AUDIT: Section = Section {
    name: "auditEntries",
    sql: "select id, action, {json_out details}, created_at from audit \
          where project_id = $1 and target = $2 and id > $4 order by id limit $3",
    by_address: true,
    key: Key::Id,
    page: 500,
    read: |r| {
        let row = json!({ "id": id(r, 0)?, "action": text(r, 1)?, "details": value(r, 2)?, "createdAt": time(r, 3)? });
        Ok((Place::id(r.get(0)?), row))
    },
};

pub(super) const IMPORT_ROWS: Section = Section {
    name: "importRows",
    sql: "select job_id, position, {json_out detail} from job_failures where project_id = $1 \
          and {json_contains detail $2} and (job_id, position) > ($4, $5) order by job_id, position limit $3",
    by_address: true,
    key: Key::IdAndNumber,
    page: 500,
    read: |r| {
        let row = json!({ "jobId": id(r, 0)?, "failure": value(r, 2)? });
        Ok((Place { number: r.get(1)?, ..Place::id(r.get(0)?) }, row))
    },
};

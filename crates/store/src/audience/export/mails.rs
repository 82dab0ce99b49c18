//! The sections about mail to the person and from the person.

use serde_json::{Value as Json, json};

use super::place::{Key, Place, Section, id, number, text, time, value};
use crate::database::error::Result;
use crate::database::tx::Row;

/// Mails with what they say: the content as it was sent to everybody who got it, and this recipient's values.
pub(super) const EMAILS: Section = Section {
    name: "emails",
    sql: "select e.id, e.recipient, e.recipient_name, e.from_address, e.from_name, e.reply_to, e.subject, \
          {json_out e.variables}, e.source, e.type, e.template_id, e.campaign_id, e.workflow_id, e.status, e.reason, \
          e.error, {json_out e.log}, {json_out e.links}, e.message_id, e.opens, e.clicks, e.machine_opens, \
          e.machine_clicks, e.sent_at, e.delivered_at, e.opened_at, e.clicked_at, e.bounced_at, e.complained_at, \
          e.unsubscribed_at, e.created_at, {json_out e.suppression}, c.body, c.text_body, {json_out c.headers}, \
          {json_out c.attachments}, {json_out c.shared} \
          from emails e left join contents c on c.project_id = e.project_id and c.hash = e.content_hash \
          where e.project_id = $1 and e.contact_id = $2 and e.id > $4 order by e.id limit $3",
    by_address: false,
    key: Key::Id,
    page: 10,
    read: |r| {
        let mut row = json!({
            "id": id(r, 0)?, "to": text(r, 1)?, "toName": text(r, 2)?, "from": text(r, 3)?, "fromName": text(r, 4)?,
            "replyTo": text(r, 5)?, "subject": text(r, 6)?, "variables": value(r, 7)?, "source": text(r, 8)?,
            "type": text(r, 9)?, "templateId": id(r, 10)?, "campaignId": id(r, 11)?, "workflowId": id(r, 12)?,
            "status": text(r, 13)?, "reason": text(r, 14)?, "error": text(r, 15)?, "attempts": value(r, 16)?,
            "links": value(r, 17)?, "messageId": text(r, 18)?, "opens": number(r, 19)?, "clicks": number(r, 20)?,
        });
        let more = json!({
            "machineOpens": number(r, 21)?, "machineClicks": number(r, 22)?, "sentAt": time(r, 23)?,
            "deliveredAt": time(r, 24)?, "openedAt": time(r, 25)?, "clickedAt": time(r, 26)?,
            "bouncedAt": time(r, 27)?, "complainedAt": time(r, 28)?, "unsubscribedAt": time(r, 29)?,
            "createdAt": time(r, 30)?, "suppression": value(r, 31)?, "content": content(r)?,
        });
        if let (Some(row), Json::Object(more)) = (row.as_object_mut(), more) {
            row.extend(more);
        }
        Ok((Place::id(r.get(0)?), row))
    },
};

/// What a mail says; null when it is not kept any more.
fn content(r: &Row<'_>) -> Result<Json> {
    let body: Option<String> = r.get(32)?;
    let Some(body) = body else { return Ok(Json::Null) };
    Ok(json!({
        "body": body, "text": text(r, 33)?, "headers": value(r, 34)?, "attachments": value(r, 35)?,
        "sharedVariables": value(r, 36)?,
    }))
}

pub(super) const HITS: Section = Section {
    name: "hits",
    sql: "select h.email_id, h.id, h.link, h.at, h.agent, h.address, h.url, h.class, h.reason \
          from emails e join hits h on h.project_id = e.project_id and h.email_id = e.id \
          where e.project_id = $1 and e.contact_id = $2 and (e.id, h.id) > ($4, $5) order by e.id, h.id limit $3",
    by_address: false,
    key: Key::Ids,
    page: 500,
    read: |r| {
        let row = json!({
            "emailId": id(r, 0)?, "id": id(r, 1)?, "link": number(r, 2)?, "at": time(r, 3)?, "userAgent": text(r, 4)?,
            "ip": text(r, 5)?, "url": text(r, 6)?, "class": text(r, 7)?, "reason": text(r, 8)?,
        });
        Ok((Place::ids(r.get(0)?, r.get(1)?), row))
    },
};

pub(super) const CAPTURED: Section = Section {
    name: "captured",
    sql: "select id, sender, recipient, subject, created_at, raw from mailbox \
          where project_id = $1 and contact_id = $2 and id > $4 order by id limit $3",
    by_address: false,
    key: Key::Id,
    page: 1,
    read: |r| {
        let raw: Vec<u8> = r.get(5)?;
        let row = json!({
            "emailId": id(r, 0)?, "sender": text(r, 1)?, "recipient": text(r, 2)?, "subject": text(r, 3)?,
            "createdAt": time(r, 4)?, "raw": String::from_utf8_lossy(&raw),
        });
        Ok((Place::id(r.get(0)?), row))
    },
};

pub(super) const RECEIVED: Section = Section {
    name: "received",
    sql: "select m.id, m.recipient, {json_out m.recipients}, m.from_address, m.from_name, m.from_header, m.subject, \
          m.message_id, m.in_reply_to, {json_out m.attachments}, {json_out m.verdicts}, m.created_at, c.body_text, \
          c.body_html from inbound_mails m \
          left join inbound_contents c on c.project_id = m.project_id and c.hash = m.raw_hash \
          where m.project_id = $1 and m.contact_id = $2 and m.id > $4 order by m.id limit $3",
    by_address: false,
    key: Key::Id,
    page: 5,
    read: received,
};

pub(super) const RECEIVED_FROM_ADDRESS: Section = Section {
    name: "receivedFromAddress",
    sql: "select m.id, m.recipient, {json_out m.recipients}, m.from_address, m.from_name, m.from_header, m.subject, \
          m.message_id, m.in_reply_to, {json_out m.attachments}, {json_out m.verdicts}, m.created_at, c.body_text, \
          c.body_html from inbound_mails m \
          left join inbound_contents c on c.project_id = m.project_id and c.hash = m.raw_hash \
          where m.project_id = $1 and lower(m.from_address) = $2 and m.contact_id is null and m.id > $4 \
          order by m.id limit $3",
    by_address: true,
    key: Key::Id,
    page: 5,
    read: received,
};

fn received(r: &Row<'_>) -> Result<(Place, Json)> {
    let row = json!({
        "id": id(r, 0)?, "recipient": text(r, 1)?, "recipients": value(r, 2)?, "from": text(r, 3)?,
        "fromName": text(r, 4)?, "fromHeader": text(r, 5)?, "subject": text(r, 6)?, "messageId": text(r, 7)?,
        "inReplyTo": id(r, 8)?, "attachments": value(r, 9)?, "verdicts": value(r, 10)?, "createdAt": time(r, 11)?,
        "text": text(r, 12)?, "html": text(r, 13)?,
    });
    Ok((Place::id(r.get(0)?), row))
}

/// The messages as they came, for as long as they are kept.
pub(super) const RECEIVED_MESSAGES: Section = Section {
    name: "receivedMessages",
    sql: "select m.id, w.raw from inbound_mails m \
          join inbound_raw w on w.project_id = m.project_id and w.hash = m.raw_hash \
          where m.project_id = $1 and m.contact_id = $2 and m.id > $4 order by m.id limit $3",
    by_address: false,
    key: Key::Id,
    page: 1,
    read: |r| {
        let raw: Vec<u8> = r.get(1)?;
        Ok((Place::id(r.get(0)?), json!({ "id": id(r, 0)?, "raw": String::from_utf8_lossy(&raw) })))
    },
};

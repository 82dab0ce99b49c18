//! Bare writes to PostgreSQL: two connections, one statement and so one transaction and one round trip a group.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::task::JoinSet;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Statement};

use super::groups::{Group, Mail};

/// Every part of the statement is served by an index.
const OPTIONS: &str = "-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off";

const CONTACTS: &str = "with c as (insert into contacts \
     (project_id, id, email, subscribed, data, revision, created_at, updated_at) \
     select $1::bigint, r.id, r.email, r.subscribed, r.data::jsonb, 1, r.at, r.at \
     from unnest($2::uuid[], $3::text[], $4::boolean[], $5::text[], $6::bigint[]) as r(id, email, subscribed, data, at) \
     on conflict (project_id, email) do update set data = excluded.data, updated_at = excluded.updated_at, \
     revision = contacts.revision + 1), \
     k as (insert into counters (project_id, kind, name, shard, value) \
     select $1, r.kind, r.name, pg_backend_pid() % 16, r.delta \
     from unnest($7::text[], $8::text[], $9::bigint[]) as r(kind, name, delta) \
     on conflict (project_id, kind, name, shard) do update set value = counters.value + excluded.value)";

const EVENTS: &str = " insert into events (project_id, id, name, contact_id, data, created_at) \
     select $1, r.id, r.name, r.contact, r.data::jsonb, r.at \
     from unnest($10::uuid[], $11::text[], $12::uuid[], $13::text[], $14::bigint[]) as r(id, name, contact, data, at)";

const MAILS: &str = ", o as (insert into contents (project_id, hash, subject, body, headers, attachments, created_at) \
     values ($1, $16, $17, $18, '[]', '[]', $19) on conflict (project_id, hash) do nothing) \
     insert into emails (project_id, id, contact_id, recipient, from_address, subject, content_hash, variables, \
     source, type, lane, status, due_at, claim, attempts, in_doubt, log, message_id, opens, clicks, deadline_at, \
     created_at, updated_at) \
     select $1, r.id, r.contact, r.recipient, $20::text, $17::text, $16::bytea, r.variables::jsonb, 'TRANSACTIONAL', \
     'TRANSACTIONAL', 0, 'PENDING', r.at, 0, 0, 0, '[]'::jsonb, r.message, 0, 0, r.at + 259200000, r.at, r.at \
     from unnest($10::uuid[], $11::uuid[], $12::text[], $13::text[], $14::text[], $15::bigint[]) \
     as r(id, contact, recipient, variables, message, at)";

const LOOK_UP: &str = "select c.id, c.revision from unnest($2::text[]) as r(email) \
     join contacts c on c.project_id = $1::bigint and c.email = r.email";

/// Writes groups, each writer its own one after the other, until the time is over; calls a second.
pub(super) async fn run(url: &str, project: i64, work: Vec<Vec<Group>>, limit: Duration) -> Result<f64> {
    let mut writers = Vec::new();
    for groups in work {
        writers.push((Writer::open(url, project).await?, groups));
    }
    let begin = Instant::now();
    let mut tasks = JoinSet::new();
    for (writer, groups) in writers {
        tasks.spawn(async move {
            let mut calls = 0;
            for group in groups {
                if begin.elapsed() >= limit {
                    break;
                }
                writer.write(&group).await?;
                calls += group.calls();
            }
            anyhow::Ok(calls)
        });
    }
    let mut calls = 0;
    while let Some(done) = tasks.join_next().await {
        calls += done??;
    }
    Ok(calls as f64 / begin.elapsed().as_secs_f64())
}

/// A connection that writes durably.
pub(super) async fn connect(url: &str) -> Result<Client> {
    let mut config: Config = url.parse()?;
    config.options(OPTIONS);
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    let durable: String = client.query_one("show synchronous_commit", &[]).await?.get(0);
    ensure!(durable == "on", "PostgreSQL does not write durably: synchronous_commit is {durable}");
    Ok(client)
}

struct Writer {
    client: Client,
    project: i64,
    track: Statement,
    send: Statement,
    look_up: Statement,
}

impl Writer {
    async fn open(url: &str, project: i64) -> Result<Self> {
        let client = connect(url).await?;
        let track = client.prepare(&format!("{CONTACTS}{EVENTS}")).await?;
        let send = client.prepare(&format!("{CONTACTS}{MAILS}")).await?;
        let look_up = client.prepare(LOOK_UP).await?;
        Ok(Self { client, project, track, send, look_up })
    }

    async fn write(&self, group: &Group) -> Result<()> {
        let (contacts, counters) = (&group.contacts, &group.counters);
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![
            &self.project,
            &contacts.ids,
            &contacts.emails,
            &contacts.subscribed,
            &contacts.data,
            &contacts.at,
            &counters.kinds,
            &counters.names,
            &counters.deltas,
        ];
        let Some(mail) = &group.mail else {
            let events = &group.events;
            params.extend([
                &events.ids as &(dyn ToSql + Sync),
                &events.names,
                &events.contacts,
                &events.data,
                &events.at,
            ]);
            // sent together, so that the lookup costs no round trip of its own
            let write = self.client.execute(&self.track, &params);
            return tokio::try_join!(self.look_up(group), async { Ok(write.await?) }).map(drop);
        };
        let (mails, hash) = (&group.mails, Mail::HASH.as_slice());
        let at = mails.at.first();
        params.extend([
            &mails.ids as &(dyn ToSql + Sync),
            &mails.contacts,
            &mails.recipients,
            &mails.variables,
            &mails.message_ids,
            &mails.at,
            &hash,
            &mail.subject,
            &mail.html,
            &at,
            &mail.from,
        ]);
        self.client.execute(&self.send, &params).await?;
        Ok(())
    }

    async fn look_up(&self, group: &Group) -> Result<()> {
        if group.look_up.is_empty() {
            return Ok(());
        }
        let found = self.client.query(&self.look_up, &[&self.project, &group.look_up]).await?;
        ensure!(found.len() == group.look_up.len(), "a contact was not found");
        Ok(())
    }
}

//! Bare writes to SQLite: one connection, one prepared statement a table, one transaction a group.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rusqlite::{Connection, params};

use super::groups::{Group, Mail};

/// The same settings as the product's, since they are the best that are known.
const SETTINGS: &str = "pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -65536; \
     pragma wal_autocheckpoint = 64000; pragma journal_size_limit = 268435456; pragma temp_store = memory;";

/// A connection that writes durably.
pub(super) fn open(file: &Path) -> Result<Connection> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.execute_batch(SETTINGS)?;
    let synchronous: i64 = connection.query_row("pragma synchronous", [], |row| row.get(0))?;
    ensure!(synchronous == 2, "SQLite does not write durably: synchronous is {synchronous}, not 2 (full)");
    Ok(connection)
}

/// Writes groups one after the other until the time is over; calls a second.
pub(super) fn run(file: &Path, project: i64, work: &[Vec<Group>], limit: Duration) -> Result<f64> {
    let connection = open(file)?;
    connection.set_prepared_statement_cache_capacity(32);
    let begin = Instant::now();
    let mut calls = 0;
    for group in work.iter().flatten() {
        if begin.elapsed() >= limit {
            break;
        }
        connection.execute_batch("begin immediate")?;
        write(&connection, project, group)?;
        connection.execute_batch("commit")?;
        calls += group.calls();
    }
    Ok(calls as f64 / begin.elapsed().as_secs_f64())
}

fn write(connection: &Connection, project: i64, group: &Group) -> Result<()> {
    look_up(connection, project, group)?;
    contacts(connection, project, group)?;
    events(connection, project, group)?;
    mails(connection, project, group)?;
    let mut statement = connection.prepare_cached(
        "insert into counters (project_id, kind, name, shard, value) values (?1, ?2, ?3, 0, ?4) \
         on conflict (project_id, kind, name, shard) do update set value = value + excluded.value",
    )?;
    let counters = &group.counters;
    for ((kind, name), delta) in counters.kinds.iter().zip(&counters.names).zip(&counters.deltas) {
        statement.execute(params![project, kind, name, delta])?;
    }
    Ok(())
}

fn look_up(connection: &Connection, project: i64, group: &Group) -> Result<()> {
    let mut statement = connection
        .prepare_cached("select id, revision from contacts where project_id = ?1 and email = ?2")?;
    for email in &group.look_up {
        let found = statement.query_row(params![project, email], |row| row.get::<_, Vec<u8>>(0))?;
        ensure!(found.len() == 16, "a contact has no id");
    }
    Ok(())
}

fn contacts(connection: &Connection, project: i64, group: &Group) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "insert into contacts (project_id, id, email, subscribed, data, revision, created_at, updated_at) \
         values (?1, ?2, ?3, ?4, jsonb(?5), 1, ?6, ?6) on conflict (project_id, email) do update set \
         data = excluded.data, updated_at = excluded.updated_at, revision = revision + 1",
    )?;
    let rows = &group.contacts;
    for row in 0..rows.ids.len() {
        statement.execute(params![
            project,
            rows.ids[row].as_bytes(),
            rows.emails[row],
            rows.subscribed[row],
            rows.data[row],
            rows.at[row],
        ])?;
    }
    Ok(())
}

fn events(connection: &Connection, project: i64, group: &Group) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "insert into events (project_id, id, name, contact_id, data, created_at) \
         values (?1, ?2, ?3, ?4, jsonb(?5), ?6)",
    )?;
    let rows = &group.events;
    for row in 0..rows.ids.len() {
        statement.execute(params![
            project,
            rows.ids[row].as_bytes(),
            rows.names[row],
            rows.contacts[row].as_bytes(),
            rows.data[row],
            rows.at[row],
        ])?;
    }
    Ok(())
}

fn mails(connection: &Connection, project: i64, group: &Group) -> Result<()> {
    let Some(mail) = &group.mail else { return Ok(()) };
    let mut content = connection.prepare_cached(
        "insert into contents (project_id, hash, subject, body, headers, attachments, created_at) \
         values (?1, ?2, ?3, ?4, jsonb('[]'), jsonb('[]'), ?5) on conflict (project_id, hash) do nothing",
    )?;
    let rows = &group.mails;
    content.execute(params![project, Mail::HASH, mail.subject, mail.html, rows.at.first()])?;
    let mut statement = connection.prepare_cached(
        "insert into emails (project_id, id, contact_id, recipient, from_address, subject, content_hash, variables, \
         source, type, lane, status, due_at, claim, attempts, in_doubt, log, message_id, opens, clicks, deadline_at, \
         created_at, updated_at) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, jsonb(?8), 'TRANSACTIONAL', 'TRANSACTIONAL', 0, \
         'PENDING', ?9, 0, 0, 0, jsonb('[]'), ?10, 0, 0, ?9 + 259200000, ?9, ?9)",
    )?;
    for row in 0..rows.ids.len() {
        statement.execute(params![
            project,
            rows.ids[row].as_bytes(),
            rows.contacts[row].as_bytes(),
            rows.recipients[row],
            mail.from,
            mail.subject,
            Mail::HASH,
            rows.variables[row],
            rows.at[row],
            rows.message_ids[row],
        ])?;
    }
    Ok(())
}

//! What others tell of a mail after it left: a report that comes by mail, a notification of a provider.
//!
//! Whatever brings news ends in [`App::record_news`]. Who may tell the same again gives it a name ([`News::told_as`]);
//! what was told under that name already changes nothing. News of a mail that is still being handed over are kept with
//! their name, and told again when the hand-over has ended. Receipt, mail, event and what follows are written in one
//! transaction, with those of others.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::feedback::mail::{Mail, State};
use mailwright_store::feedback::receipt::{self, Key};
use mailwright_store::{Load, Result as StoreResult, Tx, body};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::happening::Happening;
use super::intake::Intake;
use crate::App;
use crate::background::runner::every;
use crate::background::tasks::Tasks;
use crate::error::Result;

/// How often it is looked for news that were too early.
const SWEEP: Duration = Duration::from_secs(1);
/// When news that are too early are looked at again.
const TOO_EARLY: Duration = Duration::from_secs(3);
/// News that were too early that are told in one transaction.
const BATCH: i64 = 200;

/// Most news of one mail that are recorded, of those that sources may tell again. Further ones count as known.
const MAX_OF_MAIL: i64 = 100;

/// News of a mail.
#[derive(Debug, Clone)]
pub struct News {
    /// The project that sent it.
    pub project: ProjectNumber,
    /// The mail.
    pub email: EmailId,
    /// What happened to it.
    pub happening: Happening,
    /// When.
    pub at: Timestamp,
    /// When it was told, which may be days later.
    pub told_at: Timestamp,
    /// What the source calls it, if the source may tell it again: with the source's own name in it, so that sources
    /// have no names in common.
    pub told_as: Option<String>,
}

/// What became of news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// They are stored, with what follows from them.
    Stored,
    /// The source told them before.
    Known,
    /// The hand-over of the mail has not ended yet. They are kept until then, if they have a name; otherwise they have to
    /// be told again.
    TooEarly,
    /// The project has no such mail, or it never left.
    Unknown,
}

impl App {
    /// Records what was learnt of a mail after it left.
    pub async fn record_news(&self, news: News) -> Result<Recorded> {
        let (project, judged) = (news.project, news.happening.is_judged());
        let route = news.email.as_uuid().as_u128() as u64;
        let (email, happening) = (news.email, news.happening.clone());
        let load = Load { project, rows: 1, bytes: 0 };
        let recorded = self.0.feedback.news.call_sized(route, load, news).await?;
        if recorded == Recorded::Stored
            && let Err(error) = self.note_unknown(project, email, &happening).await
        {
            tracing::debug!(%error, "the words of a bounce could not be counted");
        }
        if judged && recorded == Recorded::Stored {
            self.judge_reputation(project);
        }
        Ok(recorded)
    }
}

/// Records the news of several callers.
pub(super) async fn run(tx: &mut Tx<'_>, news: &[News]) -> StoreResult<Vec<Recorded>> {
    let Some(now) = news.iter().map(|news| news.told_at).max() else { return Ok(Vec::new()) };
    let mut projects: BTreeMap<ProjectNumber, Vec<usize>> = BTreeMap::new();
    for (place, news) in news.iter().enumerate() {
        projects.entry(news.project).or_default().push(place);
    }
    let mut recorded = vec![Recorded::Unknown; news.len()];
    for (project, places) in projects {
        let of_project: Vec<&News> = places.iter().filter_map(|place| news.get(*place)).collect();
        for (place, one) in places.iter().zip(of_one_project(tx, project, &of_project, now).await?) {
            recorded[*place] = one;
        }
    }
    Ok(recorded)
}

async fn of_one_project(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    news: &[&News],
    now: Timestamp,
) -> StoreResult<Vec<Recorded>> {
    let mut named: BTreeMap<Key, EmailId> = BTreeMap::new();
    for one in news {
        named.extend(one.key().map(|key| (key, one.email)));
    }
    // mails first: who changes them has to wait here for others that do
    let ids = ids(news);
    let mut intake = Intake::open(tx, project, &ids).await?;
    // whoever has one mail has its address for bounces, and could tell of it without end
    let mut told = receipt::told(tx, project, &ids).await?;
    named.retain(|_, email| {
        let count = told.entry(*email).or_default();
        *count += 1;
        intake.mail(*email).is_some() && *count <= MAX_OF_MAIL
    });
    let named: Vec<(Key, EmailId)> = named.into_iter().collect();
    let mut new = receipt::take(tx, project, &named, now).await?;
    let mut kept = Vec::new();
    let mut recorded = Vec::with_capacity(news.len());
    for one in news {
        let key = one.key();
        if intake.mail(one.email).is_none() {
            recorded.push(Recorded::Unknown);
            continue;
        }
        // of two that are told under one name in one group, the first counts
        if key.is_some_and(|key| !new.remove(&key)) {
            recorded.push(Recorded::Known);
            continue;
        }
        let state = intake.mail(one.email).map(|mail| mail.state());
        recorded.push(match state {
            None | Some(State::Never) => Recorded::Unknown,
            Some(State::TooEarly) => {
                kept.extend(key.map(|key| (key, one.to_json())));
                Recorded::TooEarly
            }
            Some(State::Left) => {
                one.happening.note(&mut intake, one.email, one.at);
                Recorded::Stored
            }
        });
    }
    receipt::keep(tx, project, &kept, now.plus(TOO_EARLY)).await?;
    intake.save(tx, now).await?;
    Ok(recorded)
}

fn ids(news: &[&News]) -> Vec<EmailId> {
    let ids: HashSet<EmailId> = news.iter().map(|news| news.email).collect();
    ids.into_iter().collect()
}

/// News as they are kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    happening: Happening,
    at: i64,
}

impl News {
    /// The hash of its name.
    fn key(&self) -> Option<Key> {
        self.told_as.as_ref().map(|name| Sha256::digest(name).into())
    }

    fn to_json(&self) -> String {
        let kept = Kept { happening: self.happening.clone(), at: self.at.0 };
        serde_json::to_string(&kept).unwrap_or_default()
    }
}

/// Starts telling the news that were too early.
pub(super) fn start(app: &App, tasks: &Tasks) {
    every(app, tasks, "early news", SWEEP, |app| async move { app.tell_early_news().await });
}

impl App {
    /// Tells the news whose mails were being handed over when they came.
    async fn tell_early_news(&self) -> Result<()> {
        let now = self.clock().now();
        for project in self.read(body!(async |rx| receipt::due_projects(rx, now).await)).await? {
            let told = self.write_in_background(body!(async |tx| Ok(tell_kept(tx, project, now).await?)));
            match told.await {
                Ok(true) => self.judge_reputation(project),
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, project = project.0, "early news could not be told, trying again");
                    // what is not available may be the server of the project alone
                    self.0.db.ping().await?;
                }
            }
        }
        Ok(())
    }
}

/// Tells what is due of a project; whether its reputation depends on it.
async fn tell_kept(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> StoreResult<bool> {
    let due = receipt::due(tx, project, now, BATCH).await?;
    let mut ids: Vec<EmailId> = due.iter().map(|(_, email, _)| *email).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut intake = Intake::open(tx, project, &ids).await?;
    // another process may have told them until the mails were free
    let keys: Vec<Vec<u8>> = due.iter().map(|(key, ..)| key.clone()).collect();
    let waiting = receipt::waiting(tx, project, &keys).await?;
    let due = due.into_iter().filter(|(key, ..)| waiting.contains(key));
    let (mut again, mut done, mut judged) = (Vec::new(), Vec::new(), false);
    for (key, email, news) in due {
        let Ok(key) = Key::try_from(key) else { continue };
        let kept = serde_json::from_value::<Kept>(news.clone());
        match (intake.mail(email).map(|mail: &mut Mail| mail.state()), kept) {
            (Some(State::TooEarly), Ok(_)) => again.push((key, news.to_string())),
            (Some(State::Left), Ok(Kept { happening, at })) => {
                judged |= happening.is_judged();
                happening.note(&mut intake, email, Timestamp(at));
                done.push(key);
            }
            _ => done.push(key),
        }
    }
    receipt::keep(tx, project, &again, now.plus(TOO_EARLY)).await?;
    receipt::done(tx, project, &done).await?;
    intake.save(tx, now).await?;
    Ok(judged)
}

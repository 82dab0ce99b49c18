//! Transactions and single statements on a connection to PostgreSQL.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{ClientWrapper, Object};
use futures_util::FutureExt;
use futures_util::future::{join, join3};

use crate::database::body::{ReadBody, WriteBody};
use crate::database::dialect::Texts;
use crate::database::error::{Error, Result};
use crate::database::part::Part;
use crate::database::tx::{At, Failure, Rx, Session, Tx};
use crate::database::undone::{Answer, Undone};

/// How long an operation may take before its connection counts as lost.
const PATIENCE: Duration = Duration::from_mins(1);

/// Which plans the statements of a transaction run by, and how long they wait for what other transactions hold.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Plans {
    /// The server decides: by default it plans a statement anew for few rows, which takes longer than running it.
    Fresh {
        /// How long they wait, if not for as long as a statement may take.
        wait: Option<Duration>,
    },
    /// Generic plans that were made a moment ago. For statements that find every row by its key for all arguments.
    Kept {
        /// How long they wait.
        wait: Duration,
    },
}

impl Plans {
    /// Begins a transaction.
    ///
    /// Where tables are divided, a plan has to know the project to find its server, so there are no generic ones. There,
    /// each statement is a message of its own as well: Citus passes the whole message on to the workers that a
    /// `set local` stands in, with what else is in it.
    async fn begin(self, client: &Object, is_divided: bool) -> Result<(), tokio_postgres::Error> {
        let wait = match self {
            Self::Fresh { wait: None } => return client.batch_execute("begin").await,
            Self::Fresh { wait: Some(wait) } | Self::Kept { wait } => wait.as_millis().max(1),
        };
        let limit = format!("set local lock_timeout = {wait}");
        if is_divided {
            let (begun, limited) = join(client.batch_execute("begin"), client.batch_execute(&limit)).await;
            return begun.and(limited);
        }
        let plans = match self {
            Self::Fresh { .. } => "",
            Self::Kept { .. } => "set local plan_cache_mode = force_generic_plan; ",
        };
        client.batch_execute(&format!("begin; {plans}{limit}")).await
    }

    /// Begins a transaction on the server of parts, and keeps the parts from being moved until it ends. Returns whether
    /// all of them are there.
    ///
    /// The lock is that of Citus: it is taken exclusively where a part is, and everywhere else, before the last rows of
    /// the part are copied, and held until all servers know the new place.
    async fn begin_at(self, client: &Object, parts: &[Arc<Part>]) -> Result<bool, tokio_postgres::Error> {
        // sessions on workers keep their plans, and wait for so long
        let (plans, wait) = match self {
            Self::Fresh { wait } => ("; set local plan_cache_mode = auto", wait.unwrap_or(PATIENT)),
            Self::Kept { wait } => ("", wait),
        };
        let limit = if wait == PATIENT {
            String::new()
        } else {
            format!("; set local lock_timeout = {}", wait.as_millis().max(1))
        };
        let begin = format!("begin{plans}{limit}");
        let numbers: Vec<i64> = parts.iter().map(|part| part.number).collect();
        let group = parts.first().map(|part| part.server.group);
        let locking = async { client.query(&client.prepare_cached(LOCK).await?, &[&numbers]).await };
        let finding = async { client.query(&client.prepare_cached(LOOK).await?, &[&numbers, &group]).await };
        let (started, locked, found) = join3(client.batch_execute(&begin), locking, finding).await;
        started?;
        match locked.and(found) {
            Ok(found) => {
                let found = found.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
                parts.iter().filter(|part| !found.contains(&part.number)).for_each(|part| part.miss());
                Ok(numbers.iter().all(|number| found.contains(number)))
            }
            // it does not know one of them, or may not lock it
            Err(error) if matches!(of_answer(&error), Some(Error::Statement(_))) => {
                if let [part] = parts {
                    part.miss();
                }
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

/// What the server answered, if it did.
fn of_answer(error: &tokio_postgres::Error) -> Option<Error> {
    error.as_db_error().map(Error::from)
}

/// Takes the locks that whoever moves a part takes exclusively: 5 is PostgreSQL's number of `ShareLock`.
const LOCK: &str = "select lock_shard_metadata(5, $1::bigint[])";
/// Looks which parts are on the server that has a number, and whether this is that server.
const LOOK: &str = "select p.shardid from pg_dist_placement p join pg_dist_local_group l on l.groupid = p.groupid \
                    where p.shardid = any($1::bigint[]) and p.groupid = cast($2::bigint as int) and p.shardstate = 1";
/// How long transactions on workers wait for what others hold, if they do not say otherwise.
pub(super) const PATIENT: Duration = Duration::from_millis(250);

/// Prepares what transactions on workers begin with, which has to be sent before what they go on with.
pub(super) async fn prepare_beginning(client: &ClientWrapper) -> Result<(), tokio_postgres::Error> {
    client.prepare_cached(LOCK).await?;
    client.prepare_cached(LOOK).await.map(drop)
}

/// Runs a transaction; where it is about parts of the tables, on their server.
pub(super) async fn transact(
    client: &Object,
    texts: &Texts,
    plans: Plans,
    at: Option<At<'_>>,
    body: WriteBody,
) -> Result<Answer, Undone> {
    // on the server of parts no other takes part in it
    let is_divided = texts.is_divided() && at.is_none();
    let work = patient(async {
        // on the way together with the body's first statements, before which the server runs it
        let begin = async {
            match at {
                Some(At { parts, .. }) => plans.begin_at(client, parts).await,
                None => plans.begin(client, is_divided).await.map(|()| true),
            }
        };
        let failure = Failure::default();
        let session = Session::Postgres { client, transaction: Some(&failure), at };
        let body = caught(async { body(&mut Tx::new(session, texts)).await });
        let (started, outcome) = join(begin, body).await;
        let outcome = match started {
            Err(error) => Err(Error::from(error).into()),
            // whatever the body met there
            Ok(false) => Err(Error::NoPart.into()),
            Ok(true) => failure.settle(outcome),
        };
        if outcome.is_err() {
            let _ = client.batch_execute("rollback").await;
        }
        outcome
    });
    let value = work.await?;
    // from here on a failure leaves open whether the change is there
    match tokio::time::timeout(PATIENCE, commit(client, is_divided)).await {
        Ok(Ok(())) => Ok(value),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(Error::Unknown("the commit was not answered in time".into()).into()),
    }
}

/// Commits without a limit: the server would take a commit whose standby is slow for done when it is stopped.
pub(super) async fn commit(client: &Object, is_divided: bool) -> Result<()> {
    let statements = if is_divided {
        // a `set local` would be passed on to the workers, and the commit along with it: they would commit before all of
        // them, and the coordinator, know that they can; the limit is the coordinator's alone
        "select set_config('statement_timeout', '0', true); commit"
    } else {
        "set local statement_timeout = 0; commit"
    };
    client.batch_execute(statements).await.map_err(Error::of_commit)
}

/// Runs a body whose statements the server stops after a time.
pub(super) async fn read_within(
    client: &Object,
    limit: Duration,
    texts: &Texts,
    body: ReadBody,
) -> Result<Answer> {
    let timeout = format!("set statement_timeout = {}", limit.as_millis().max(1));
    // on the way together with the body's first statement, before which the server runs it
    let limited = client.batch_execute(&timeout);
    let session = Session::Postgres { client, transaction: None, at: None };
    let body = caught(async { body(&mut Rx::new(session, texts)).await });
    let (limited, outcome) = join(limited, body).await;
    limited.map_err(Error::from).and(outcome)
}

/// A connection that was lost, or whose last statement was not answered, must not go back to the pool: its next user
/// would wait behind that statement. Nor must one that can write nothing.
pub(super) fn leaves_doubt(failure: &Error) -> bool {
    matches!(failure, Error::Unavailable(_) | Error::Unknown(_) | Error::ReadOnly(_) | Error::Panicked(_))
}

/// A panic in a body must not take its caller down: a coalescer's task would leave every later call without an answer.
pub(super) async fn caught<T, E: From<Error>>(body: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    match AssertUnwindSafe(body).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(panic) => Err(Error::panicked(&*panic).into()),
    }
}

pub(super) async fn patient<T, E: From<Error>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Error::Unavailable("the database did not answer in time".into()).into()),
    }
}

//! How a worker of a next hop that takes all mail waits: for a mail when it has a connection, else for a permit to open
//! one.
//!
//! A mail is taken only when there is a connection for it, so an outage costs no mail an attempt.

use std::sync::Arc;
use std::time::Duration;

use mailwright_store::sending::email::Claimed;

use super::next_hop::{Busy, Leave, NextHop, Permit, Take, Withdrawn};
use super::recorder::Recorder;
use super::{Delivery, claim_ref};

/// How soon it is looked again whether this process's clock is right.
const CLOCK: Duration = Duration::from_millis(250);
/// The shortest pause of a worker that waits for mail.
const SHORTEST: Duration = Duration::from_millis(1);

/// The connection of a worker that waits.
pub(super) struct Waits {
    /// How much longer it is kept without a mail.
    pub(super) idle: Duration,
    /// How long it may carry no mail.
    pub(super) rests: Option<Duration>,
}

/// What comes next.
pub(super) enum Step {
    /// A mail to hand over.
    Mail(Arc<Claimed>, Busy),
    /// A connection may be opened.
    Open(Permit),
    /// The connection was idle for too long.
    Close,
    /// The next hop has closed the connection.
    Over,
    /// Ask again.
    Again,
    /// The service stops.
    Stop,
}

/// The next mail, or a step on the way to it, for a worker with a connection or without. With none at hand the last outcome
/// is recorded by itself. `interrupted` resolves when the next hop closes the connection.
pub(super) async fn next(
    delivery: &Arc<Delivery>,
    hop: &Arc<NextHop>,
    recorder: &mut Recorder<'_>,
    line: Option<Waits>,
    interrupted: impl Future<Output = ()>,
) -> Step {
    if delivery.tasks.is_stopping() {
        return Step::Stop;
    }
    let asked_at = delivery.tasks.after(Duration::ZERO);
    let dispatcher = &delivery.app.0.delivery.dispatcher;
    let (filled, changed) = (dispatcher.filled(), hop.changed());
    tokio::pin!(filled, changed);
    // registered before looking, so that nothing that happens in between is missed
    filled.as_mut().enable();
    changed.as_mut().enable();
    let withdrawn = hop.withdraw(dispatcher);
    if !withdrawn.is_empty() {
        give_back(delivery, hop, withdrawn).await;
        return Step::Again;
    }
    let wait = match &line {
        // the feeders give back what is queued
        _ if !delivery.app.clock_is_right() => Some(CLOCK),
        Some(Waits { rests: Some(rest), .. }) => Some(*rest),
        Some(_) => match hop.take(dispatcher) {
            Take::Mail(mail, busy) => return Step::Mail(delivery.dated(*mail), busy),
            Take::Wait(wait) => wait,
        },
        None => match hop.ask(dispatcher) {
            Leave::Open(permit) => {
                recorder.flush();
                return Step::Open(permit);
            }
            Leave::Wait(wait) => wait,
        },
    };
    if recorder.has_last() {
        recorder.flush();
        return Step::Again;
    }
    let idle = line.map(|line| line.idle);
    if idle == Some(Duration::ZERO) {
        return Step::Close;
    }
    // not at once: a pause of some microseconds would be asked for again and again
    let pause = [wait, idle].into_iter().flatten().min().map(|pause| asked_at + pause.max(SHORTEST));
    tokio::select! {
        biased;
        () = delivery.tasks.stopping() => Step::Stop,
        () = filled => Step::Again,
        () = changed => Step::Again,
        () = interrupted => Step::Over,
        () = delivery.tasks.until(pause.unwrap_or(asked_at)), if pause.is_some() => Step::Again,
    }
}

/// Gives mails back that are not to be tried yet; those that may leave by another transport do so.
async fn give_back(delivery: &Arc<Delivery>, hop: &NextHop, withdrawn: Vec<Withdrawn>) {
    for Withdrawn { lane, mails, wait, why } in withdrawn {
        let (choice, mails): (Vec<_>, Vec<_>) = mails
            .into_iter()
            .partition(|mail| hop.refuses(mail.project).is_some() && delivery.has_choice(mail, lane));
        if !choice.is_empty() {
            delivery.place(lane, choice).await;
        }
        let claims: Vec<_> = mails.iter().map(claim_ref).collect();
        delivery.hold_back(&claims, delivery.now().plus(wait), why).await;
    }
}

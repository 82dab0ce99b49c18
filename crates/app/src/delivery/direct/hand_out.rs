//! Gives the mails that may leave to the workers that are free.
//!
//! A worker that has brought its mail looks for the next one itself. One that finds none waits here; only one task looks
//! for all that wait, so that a change costs one look, however many they are.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use super::Direct;
use super::job::{Job, Way};
use super::sender::Sender;
use super::sites::Start;
use super::visit::Visit;
use crate::delivery::flows::Flow;
use crate::delivery::next_hop::{NextHop, Take};
use crate::delivery::{Delivery, claim_ref};

/// How soon it is looked again whether this process's clock is right.
const CLOCK: Duration = Duration::from_millis(250);
/// The shortest pause before a further look.
const SHORTEST: Duration = Duration::from_millis(1);

/// The workers that wait for a mail.
#[derive(Default)]
pub(super) struct HandOut {
    waiting: Mutex<Vec<oneshot::Sender<Job>>>,
    /// A worker waits.
    free: Notify,
}

impl HandOut {
    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<oneshot::Sender<Job>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_wanted(&self) -> bool {
        let mut waiting = self.waiting();
        waiting.retain(|worker| !worker.is_closed());
        !waiting.is_empty()
    }

    /// Gives a mail to the worker that began to wait last, so that those that are not needed stay cold. Returns the mail
    /// where no worker waits.
    fn give(&self, mut job: Job) -> Option<Job> {
        loop {
            let Some(worker) = self.waiting().pop() else { return Some(job) };
            match worker.send(job) {
                Ok(()) => return None,
                Err(back) => job = back,
            }
        }
    }
}

impl Direct {
    /// The next mail that may leave; otherwise when there may be one, where that is known.
    pub(super) fn take(
        self: &Arc<Self>,
        delivery: &Delivery,
        hop: &Arc<NextHop>,
    ) -> Result<Job, Option<Duration>> {
        if !delivery.app.clock_is_right() {
            // the feeders give back what is queued
            return Err(Some(CLOCK));
        }
        let now = delivery.now();
        let mut sites = self.sites();
        let admits = |flow| sites.admits_of(flow, now).map_err(|until| until.map(|until| until.since(now)));
        match hop.take_for(&delivery.app.0.delivery.dispatcher, admits) {
            Take::Wait(wait) => Err(wait),
            Take::Mail(mail, busy) => {
                let destination = busy.destination();
                let project = mail.project;
                let start = sites.begin_of(project, destination, now);
                drop(sites);
                let way = match start {
                    Start::No(why) => Way::No(why),
                    Start::Again => Way::Again,
                    Start::Bring { path, line, evicted, standing } => {
                        Self::close(&delivery.tasks, evicted);
                        let flow = Flow { project, destination };
                        Way::To(Box::new(Visit::new(self, flow, path, line, standing)))
                    }
                };
                Ok(Job { mail: delivery.dated(*mail), busy, way })
            }
        }
    }
}

/// Looks for mails for the workers that wait, until the service stops.
pub(super) async fn run(delivery: Arc<Delivery>, hop: Arc<NextHop>, direct: Arc<Direct>) {
    loop {
        let dispatcher = &delivery.app.0.delivery.dispatcher;
        let (filled, changed) = (dispatcher.filled(), hop.changed());
        tokio::pin!(filled, changed);
        // registered before looking, so that nothing that happens in between is missed
        filled.as_mut().enable();
        changed.as_mut().enable();
        let mut wait = None;
        while direct.hand_out.is_wanted() && !delivery.tasks.is_stopping() {
            match direct.take(&delivery, &hop) {
                Ok(job) => {
                    if let Some(job) = direct.hand_out.give(job) {
                        delivery.release(&[claim_ref(&job.mail)], delivery.now()).await;
                        break;
                    }
                }
                Err(until) => {
                    wait = until;
                    break;
                }
            }
        }
        // mails wait that no pace has let pass
        direct.asked.notify_one();
        let pause = wait.map(|wait| delivery.tasks.after(wait.max(SHORTEST)));
        let at = pause.unwrap_or_else(|| delivery.tasks.after(Duration::ZERO));
        tokio::select! {
            biased;
            () = delivery.tasks.stopping() => break,
            () = filled => {}
            () = changed => {}
            () = direct.changed.notified() => {}
            () = direct.hand_out.free.notified() => {}
            () = delivery.tasks.until(at), if pause.is_some() => {}
        }
    }
}

/// A worker that brings mails to the recipients' servers.
pub(in crate::delivery) async fn work(delivery: &Arc<Delivery>, hop: &Arc<NextHop>, direct: &Arc<Direct>) {
    let mut sender = Sender::new(delivery, hop, direct);
    while !delivery.tasks.is_stopping() {
        let job = if let Ok(job) = direct.take(delivery, hop) {
            Some(job)
        } else {
            sender.flush();
            wait(delivery, direct).await
        };
        let Some(job) = job else { break };
        sender.hand_over_safely(job).await;
    }
    sender.flush();
}

/// Waits for a mail; `None` when the service stops.
async fn wait(delivery: &Delivery, direct: &Direct) -> Option<Job> {
    let (worker, mut job) = oneshot::channel();
    direct.hand_out.waiting().push(worker);
    direct.hand_out.free.notify_one();
    tokio::select! {
        biased;
        given = &mut job => given.ok(),
        () = delivery.tasks.stopping() => {
            job.close();
            if let Ok(job) = job.try_recv() {
                delivery.release(&[claim_ref(&job.mail)], delivery.now()).await;
            }
            None
        }
    }
}

//! A mail on its way to a site: the room that it takes up there, which is given back however it ends.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mailwright_core::pacing::reply::Signal;
use mailwright_core::time::Timestamp;
use mailwright_store::sending::email::Claimed;

use super::path::Path;
use super::site::{Delay, Idle, Site, Standing};
use super::{Direct, Line};
use crate::delivery::Delivery;
use crate::delivery::flows::Flow;

/// An answer that is awaited for so long is slow, and proves nothing of its site.
const SLOW: Duration = Duration::from_secs(10);
/// An answer that is awaited for so long is awaited for long: its site hangs. Writing the content before is no fault of
/// the site.
const LONG: Duration = Duration::from_secs(30);
/// Bytes of content that even a slow line carries in a second.
const SLOW_LINE: usize = 64 * 1024;

/// What a mail takes up at a site, until it is dropped.
pub(super) struct Visit {
    direct: Arc<Direct>,
    flow: Flow,
    pub(super) path: Arc<Path>,
    line: Option<Line>,
    seat: Seat,
    /// Whether the mail was tried.
    is_tried: bool,
    /// How it counts among the mails under way.
    standing: Standing,
    /// The longest that an answer was awaited, or is.
    delay: Delay,
}

/// Whether a mail counts as a connection of its site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seat {
    /// As one that is being opened.
    Opening,
    Open,
    /// No longer.
    Left,
}

impl Visit {
    pub(super) fn new(
        direct: &Arc<Direct>,
        flow: Flow,
        path: Arc<Path>,
        line: Option<Line>,
        standing: Standing,
    ) -> Self {
        let seat = if line.is_none() { Seat::Opening } else { Seat::Open };
        Self {
            direct: Arc::clone(direct),
            flow,
            path,
            line,
            seat,
            is_tried: false,
            standing,
            delay: Delay::Short,
        }
    }

    /// The open connection, if there is one.
    pub(super) fn line(&mut self) -> Option<Line> {
        self.line.take()
    }

    /// A connection was opened.
    pub(super) fn opened(&mut self) {
        self.is_tried = true;
        self.end_of_opening();
    }

    /// What became of the mail was said, whatever it was.
    pub(super) fn settled(&mut self, now: Timestamp) {
        let mut sites = self.direct.sites();
        sites.settled(self.flow.destination, &self.path.site);
        if let Some(site) = sites.site(&self.path.site) {
            site.reached(self.path.set, self.flow.project, self.delay, now);
        }
        if self.standing != Standing::Hangs {
            sites.count_as((self.flow.project, &self.path.site), &mut self.standing, Standing::Proven);
        }
    }

    /// Awaits an answer of the site, to a new connection, to the envelope or to so many bytes of content, and notes it where
    /// that takes long. It is awaited all the same: the timeouts of the connection say how long.
    pub(super) async fn answered<A: Future>(
        &mut self,
        delivery: &Delivery,
        bytes: usize,
        mut answer: Pin<&mut A>,
    ) -> A::Output {
        let content = Duration::from_secs((bytes / SLOW_LINE) as u64);
        let (slow, long) = (delivery.tasks.after(SLOW + content), delivery.tasks.after(LONG + content));
        if let Some(answer) = within(delivery, slow, answer.as_mut()).await {
            return answer;
        }
        self.waits_slowly();
        if let Some(answer) = within(delivery, long, answer.as_mut()).await {
            return answer;
        }
        if self.waits_long(delivery.now()) {
            tracing::info!(site = &*self.path.site, "a site takes long to answer, few mails go there");
        }
        answer.await
    }

    /// An answer is slow.
    fn waits_slowly(&mut self) {
        if self.delay == Delay::Short {
            self.delay = Delay::Slow;
            self.direct.sites().waits_slowly(self.flow.project);
        }
    }

    /// An answer is awaited for long. Returns whether it is news that the site hangs.
    fn waits_long(&mut self, now: Timestamp) -> bool {
        if std::mem::replace(&mut self.delay, Delay::Long) == Delay::Long {
            return false;
        }
        let mut sites = self.direct.sites();
        sites.count_as((self.flow.project, &self.path.site), &mut self.standing, Standing::Hangs);
        let is_news = sites.site(&self.path.site).is_some_and(|site| site.waits(self.path.set, now));
        drop(sites);
        self.direct.changed.notify_one();
        is_news
    }

    /// Whether a domain's word is to be believed that the site blocks us.
    pub(super) fn is_accused(&self, domain: &str, now: Timestamp) -> bool {
        let mut hasher = DefaultHasher::new();
        domain.hash(&mut hasher);
        let mut sites = self.direct.sites();
        !self.path.is_of_large_receiver()
            || sites.site(&self.path.site).is_none_or(|site| site.is_accused(hasher.finish(), now))
    }

    /// Whether the site took other mail since it refused this one last, so that the refusal is hardly about us.
    pub(super) fn is_overtaken(&self, mail: &Claimed) -> bool {
        let refused = mail.log.iter().rev().find(|attempt| attempt.code.is_some());
        let refused_at = refused.and_then(|attempt| Timestamp::parse(&attempt.at));
        refused_at.is_some_and(|at| self.with_site(|site| site.took_since(at)).unwrap_or_default())
    }

    /// What this process knows of the site; `None` where it has forgotten it.
    pub(super) fn with_site<T>(&self, of: impl FnOnce(&mut Site<Line>) -> T) -> Option<T> {
        self.direct.sites().site(&self.path.site).map(of)
    }

    /// The mail was tried.
    pub(super) fn tried(&mut self) {
        self.is_tried = true;
    }

    /// The site answered the envelope: it can be reached.
    pub(super) fn heard(&self, now: Timestamp) {
        if let Some(site) = self.direct.sites().site(&self.path.site) {
            site.heard(now);
        }
    }

    /// Whether the last try to reach the servers was in vain.
    pub(super) fn has_failed(&self) -> bool {
        self.direct.sites().has_failed(self.flow.destination)
    }

    /// No connection was to be had. Returns whether that is news.
    pub(super) fn unreachable(&mut self, error: &str, now: Timestamp) -> bool {
        self.is_tried = true;
        self.direct.sites().unreachable(self.flow, &self.path, error, now)
    }

    /// The site took the mail.
    pub(super) fn took(&mut self, now: Timestamp) {
        self.is_tried = true;
        if let Some(site) = self.direct.sites().site(&self.path.site) {
            site.took(now);
        }
    }

    /// The servers said something about us.
    pub(super) fn said(&mut self, signal: Signal, reply: String, now: Timestamp) {
        self.is_tried = true;
        self.direct.sites().said(self.flow.destination, &self.path, (signal, reply), now);
        self.direct.asked.notify_one();
    }

    /// Mails that one connection takes.
    pub(super) fn mails_per_connection(&self) -> u32 {
        self.direct.sites().site(&self.path.site).map_or(u32::MAX, |site| site.limits.mails_per_connection)
    }

    /// Keeps the connection for the next mail. One that may not be kept is returned.
    pub(super) fn keep(&mut self, line: Line, now: Timestamp) -> Option<Line> {
        let (host, is_verified, minded_tlsa) = (line.host.clone(), line.is_verified, line.minded_tlsa);
        self.seat = Seat::Left;
        let idle = Idle { line, host, is_verified, minded_tlsa, since: now };
        self.direct.sites().keep(&self.path, idle, now)
    }

    fn end_of_opening(&mut self) {
        if self.seat == Seat::Opening {
            self.seat = Seat::Open;
            self.direct.sites().opened(self.flow.destination, &self.path.site);
        }
    }
}

/// The answer, where it comes soon enough.
async fn within<A: Future>(delivery: &Delivery, until: Instant, answer: Pin<&mut A>) -> Option<A::Output> {
    tokio::select! {
        biased;
        answer = answer => Some(answer),
        () = delivery.tasks.until(until) => None,
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.end_of_opening();
        let mut sites = self.direct.sites();
        sites.end(self.flow.destination);
        sites.count_as((self.flow.project, &self.path.site), &mut self.standing, Standing::Proven);
        if self.delay != Delay::Short {
            sites.waited_slowly(self.flow.project);
        }
        if self.delay == Delay::Long
            && let Some(site) = sites.site(&self.path.site)
        {
            site.waited(self.path.set);
        }
        if !self.is_tried
            && let Some(site) = sites.site(&self.path.site)
        {
            site.untried();
        }
        if self.seat != Seat::Left {
            sites.closed(&self.path);
        }
        drop(sites);
        self.direct.changed.notify_one();
    }
}

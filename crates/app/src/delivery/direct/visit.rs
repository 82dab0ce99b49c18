//! A mail on its way to a site: the room that it takes up there, which is given back however it ends.

use std::sync::Arc;

use mailwright_core::pacing::reply::Signal;
use mailwright_core::time::Timestamp;

use super::site::Idle;
use super::sites::Path;
use super::{Direct, Line};
use crate::delivery::flows::Destination;

/// What a mail takes up at a site, until it is dropped.
pub(super) struct Visit {
    direct: Arc<Direct>,
    destination: Destination,
    pub(super) path: Arc<Path>,
    line: Option<Line>,
    /// Whether it counts as a connection, and as one that is being opened.
    has_seat: bool,
    is_opening: bool,
    /// Whether the mail was tried.
    is_tried: bool,
    /// Whether it is not known yet that the site answers.
    is_try: bool,
}

impl Visit {
    pub(super) fn new(
        direct: &Arc<Direct>,
        destination: Destination,
        path: Arc<Path>,
        line: Option<Line>,
        is_try: bool,
    ) -> Self {
        let is_opening = line.is_none();
        Self {
            direct: Arc::clone(direct),
            destination,
            path,
            line,
            has_seat: true,
            is_opening,
            is_tried: false,
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

    /// The mail was tried.
    pub(super) fn tried(&mut self) {
        self.is_tried = true;
    }

    /// The site answered a mail or its envelope: it can be reached.
    pub(super) fn reached(&mut self, now: Timestamp) {
        let mut sites = self.direct.sites();
        if let Some(site) = sites.site(&self.path.site) {
            site.reached(now);
        }
        if std::mem::take(&mut self.is_try) {
            sites.tried();
        }
    }

    /// No connection was to be had. Returns whether that is news.
    pub(super) fn unreachable(&mut self, error: String, now: Timestamp) -> bool {
        self.is_tried = true;
        let mut sites = self.direct.sites();
        sites.site(&self.path.site).is_some_and(|site| site.unreachable(error, now))
    }

    /// The site took the mail.
    pub(super) fn took(&mut self, now: Timestamp) {
        self.is_tried = true;
        if let Some(site) = self.direct.sites().site(&self.path.site) {
            site.took(now);
        }
    }

    /// The site said something about us.
    pub(super) fn said(&mut self, signal: Signal, reply: String) {
        self.is_tried = true;
        if let Some(site) = self.direct.sites().site(&self.path.site) {
            site.said(signal, reply);
        }
        self.direct.asked.notify_one();
    }

    /// Mails that one connection takes.
    pub(super) fn mails_per_connection(&self) -> u32 {
        self.direct.sites().site(&self.path.site).map_or(u32::MAX, |site| site.limits.mails_per_connection)
    }

    /// Keeps the connection for the next mail. One that may not be kept is returned.
    pub(super) fn keep(&mut self, line: Line, now: Timestamp) -> Option<Line> {
        let (host, is_verified) = (line.host.clone(), line.is_verified);
        self.has_seat = false;
        self.direct.sites().keep(&self.path, Idle { line, host, is_verified, since: now }, now)
    }

    fn end_of_opening(&mut self) {
        if std::mem::take(&mut self.is_opening)
            && let Some(site) = self.direct.sites().site(&self.path.site)
        {
            site.opened();
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.end_of_opening();
        let mut sites = self.direct.sites();
        sites.end(self.destination);
        if self.is_try {
            sites.tried();
        }
        if !self.is_tried
            && let Some(site) = sites.site(&self.path.site)
        {
            site.untried();
        }
        if self.has_seat {
            sites.closed(&self.path);
        }
        drop(sites);
        self.direct.changed.notify_one();
    }
}

//! The audience of a project: contacts and their data, events, segments, subscriptions.

pub mod bulk;
pub mod columns;
pub(crate) mod confirmation;
pub mod consent;
pub mod contact;
pub mod contact_field;
pub mod erasure;
pub mod event;
mod event_fields;
pub mod export;
pub mod import;
pub(crate) mod locale;
mod places;
pub(crate) mod search_index;
pub mod segment;
pub mod standing;
pub mod subscription;
pub mod suppression;
pub mod topic;
pub mod track;
pub mod verification;

use mailwright_core::time::Clock;
use mailwright_mail::dns::Dns;
use mailwright_store::audience::columns::AudienceColumns;
use mailwright_store::audience::email_search_cache::EmailSearchCaches;
use mailwright_store::{Coalescer, Db};

use crate::audience::event_fields::EventFields;
use crate::audience::places::Places;
use crate::audience::segment::LiveSegments;
use crate::background::runner::Waker;
use crate::settings::Settings;

/// What this process keeps for this area.
pub(crate) struct State {
    tracks: Coalescer<track::Operation, track::Outcome>,
    upserts: Coalescer<contact::Operation, contact::Outcome>,
    segments: LiveSegments,
    event_fields: EventFields,
    email_search_caches: EmailSearchCaches,
    columns: AudienceColumns,
    verification: verification::State,
    erasures: Waker,
    exports: Places,
    import_previews: Places,
}

impl State {
    pub(crate) fn new(db: &Db, clock: &Clock, settings: &Settings, dns: &Dns) -> Self {
        Self {
            tracks: Coalescer::writes(db, |tx, operations| Box::pin(track::run(tx, operations))),
            upserts: Coalescer::writes(db, |tx, operations| Box::pin(contact::run(tx, operations))),
            segments: LiveSegments::default(),
            event_fields: EventFields::default(),
            email_search_caches: EmailSearchCaches::new(db.clone(), settings.search_bytes),
            columns: AudienceColumns::new(db.clone(), clock.clone(), settings.segments.columns),
            verification: verification::State::new(dns),
            erasures: Waker::default(),
            exports: Places::new(export::AT_ONCE),
            import_previews: Places::new(import::PREVIEWS_AT_ONCE),
        }
    }
}

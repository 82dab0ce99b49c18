//! Identifiers: UUID version 7 (RFC 9562), one type for each kind of thing.
//!
//! The time in an id is the creation time of the row, to the millisecond, so the order of ids is the order of creation.
//! The ids that one process makes within a millisecond are in the order in which it made them, so a cause is never
//! listed after its effect.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::time::Timestamp;

/// How many bits of an id count (RFC 9562 section 6.2, method 1): the 12 of `rand_a` and the first 10 of `rand_b`. The
/// other 52 stay random, so that no id can be guessed from another one.
const COUNTER_BITS: u32 = 22;
const COUNTER: u64 = (1 << COUNTER_BITS) - 1;
/// The counter begins anew, with the next millisecond, once it is beyond half of its range: what is left is for the ids
/// of one millisecond.
const HALF: u64 = 1 << (COUNTER_BITS - 1);

/// The newest millisecond that an id was made in, in 42 bits, and the counter.
static NEWEST: AtomicU64 = AtomicU64::new(0);

fn v7(now: Timestamp, random: [u8; 10]) -> Uuid {
    let millis = u64::try_from(now.0).unwrap_or(0);
    let mut bytes = random;
    let random = u16::from_be_bytes([bytes[0], bytes[1]]);
    let count = |newest| Some(counted(newest, millis, random));
    // the order of the changes of one number is the same for all threads, whatever they read and write besides
    let before = match NEWEST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count) {
        Ok(before) | Err(before) => before,
    };
    let counter = counted(before, millis, random) & COUNTER;
    bytes[0] = (counter >> 18) as u8;
    bytes[1] = (counter >> 10) as u8;
    bytes[2] = (counter >> 4) as u8; // its first two bits become the variant
    bytes[3] = ((counter << 4) as u8) | (bytes[3] & 0x0f);
    uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid()
}

/// The counter after another id. It goes on from one millisecond to the next, since steps of the program that overlap
/// have different ideas of the time; a jump at each keeps it from telling how many ids were made.
fn counted(newest: u64, millis: u64, random: u16) -> u64 {
    let (known, counter) = (newest >> COUNTER_BITS, newest & COUNTER);
    let millis = millis & (u64::MAX >> COUNTER_BITS);
    let fresh = u64::from(random) << 4;
    if millis <= known {
        // begins anew only after two million ids, as a clock that was set back by much may lead to
        let counter = if counter == COUNTER { fresh } else { counter + 1 };
        return (known << COUNTER_BITS) | counter;
    }
    let is_spent = newest == 0 || counter >= HALF;
    let counter = if is_spent { fresh } else { counter + 1 + u64::from(random & 0xff) };
    (millis << COUNTER_BITS) | counter
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// A new id whose time part is `now`, and most of whose other bits are random ones.
            pub fn new(now: Timestamp, random: [u8; 10]) -> Self {
                Self(v7(now, random))
            }

            /// The smallest id of the given instant: a bound for ranges over time.
            pub fn first_of(instant: Timestamp) -> Self {
                let millis = u64::try_from(instant.0).unwrap_or(0);
                Self(uuid::Builder::from_unix_timestamp_millis(millis, &[0; 10]).into_uuid())
            }

            /// The instant whose id this is.
            pub fn instant(&self) -> Timestamp {
                let bytes = self.0.as_bytes();
                Timestamp(bytes[..6].iter().fold(0, |millis, byte| millis << 8 | i64::from(*byte)))
            }

            /// The id that has these 16 bytes.
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The id as its 16 bytes.
            pub fn as_uuid(&self) -> &Uuid {
                &self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(value: Uuid) -> Self {
                Self(value)
            }
        }

        impl From<$name> for Uuid {
            fn from(value: $name) -> Self {
                value.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        /// Reads the hyphenated form only, in either case.
        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let id: uuid::fmt::Hyphenated = text.parse()?;
                Ok(Self(id.into_uuid()))
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .format(Some(utoipa::openapi::SchemaFormat::Custom("uuid".into())))
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {}
    )+ };
}

/// Calls a macro with the names of all kinds of ids, each with its documentation, so that the list is written once.
#[macro_export]
macro_rules! with_ids {
    ($callback:ident) => {
        $callback! {
            /// A project: the unit of isolation.
            ProjectId,
            /// A dashboard user.
            UserId,
            /// An API key.
            ApiKeyId,
            /// A contact of a project.
            ContactId,
            /// An event of a contact.
            EventId,
            /// One email to one recipient.
            EmailId,
            /// A saved template.
            TemplateId,
            /// A sender domain.
            DomainId,
            /// A campaign.
            CampaignId,
            /// A segment.
            SegmentId,
            /// A background job.
            JobId,
            /// A note that a contact changed.
            ChangeId,
            /// A sign-in of a user.
            SessionId,
            /// An invitation to a project.
            InvitationId,
            /// What an operator wants done with mail that waits.
            InterventionId,
            /// An entry of a project's audit log.
            AuditId,
            /// A row of the log of the feed.
            ActivityLogId,
            /// A link that proves an address.
            OneTimeLinkId,
            /// A workflow.
            WorkflowId,
            /// A step of a workflow.
            StepId,
            /// A transition between two steps.
            TransitionId,
            /// A contact's way through a workflow.
            ExecutionId,
            /// What the executions of a contact are told of.
            SignalId,
            /// A request of a WEBHOOK step.
            WebhookId,
            /// A rule that keeps mail from addresses.
            SuppressionRuleId,
            /// A topic that people subscribe to.
            TopicId,
            /// An entry of the evidence of a contact's consent.
            ConsentId,
            /// A picture that somebody uploaded.
            UploadId,
            /// The erasure of a person.
            ErasureId,
            /// A request in the log of a project's requests.
            LoggedRequestId,
            /// A batch of mails that is reported to the payment service.
            BatchId,
            /// A mail that tells members of a limit.
            NoticeId,
        }
    };
}

with_ids!(ids);

impl AuditId {
    /// A new id that comes after `last`, also within the same millisecond: a log is read in the order of its ids, and
    /// must not tell a cause after its effect.
    pub fn after(last: Option<Self>, now: Timestamp, random: [u8; 10]) -> Self {
        let millis = |id: Self| (id.0.as_u128() >> 80) as i64;
        Self(v7(Timestamp(last.map_or(now.0, |last| now.0.max(millis(last) + 1))), random))
    }
}

/// The number a project has inside the database: short, so that every tenant row and index entry stays small.
/// It never leaves the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectNumber(pub i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ordered_by_their_time() {
        let (early, late) = (
            ContactId::new(Timestamp(1000), rand::random()),
            ContactId::new(Timestamp(1001), rand::random()),
        );
        assert!(early < late);
        assert!(ContactId::first_of(Timestamp(1000)) <= early);
        assert!(early < ContactId::first_of(Timestamp(1001)));
        assert_eq!((early.instant(), late.instant()), (Timestamp(1000), Timestamp(1001)));
    }

    #[test]
    fn ids_of_a_millisecond_are_in_the_order_they_were_made_in() {
        let now = Timestamp(1_763_000_000_000);
        let made: Vec<EventId> = (0..10_000).map(|_| EventId::new(now, rand::random())).collect();
        assert!(made.is_sorted_by(|a, b| a < b));
        // also where a later millisecond was seen in between
        let earlier = EventId::new(now, rand::random());
        EventId::new(Timestamp(now.0 + 5), rand::random());
        assert!(earlier < EventId::new(now, rand::random()));
        for id in [made[0], earlier] {
            assert_eq!((id.as_uuid().get_version_num(), id.instant()), (7, now));
            assert_eq!(id.as_uuid().get_variant(), uuid::Variant::RFC4122);
        }
    }

    #[test]
    fn ids_of_several_threads_are_unique_and_each_threads_own_in_order() {
        let now = Timestamp(1_763_000_100_000);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(move || {
                    (0..5_000).map(|_| EmailId::new(now, rand::random())).collect::<Vec<_>>()
                })
            })
            .collect();
        let made: Vec<Vec<EmailId>> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(made.iter().all(|own| own.is_sorted_by(|a, b| a < b)));
        let distinct: std::collections::HashSet<_> = made.iter().flatten().collect();
        assert_eq!(distinct.len(), 20_000);
    }

    #[test]
    fn the_counter_leaves_room_for_the_ids_of_a_millisecond() {
        let mut newest = 0;
        for millis in 1..100_000 {
            newest = counted(newest, millis, (millis * 7919) as u16);
            assert_eq!(newest >> COUNTER_BITS, millis);
            assert!(newest & COUNTER < HALF + 257, "at {millis}: {}", newest & COUNTER);
        }
        let full = (5 << COUNTER_BITS) | COUNTER;
        assert_eq!(counted(full, 5, 1), (5 << COUNTER_BITS) | 16);
    }

    #[test]
    fn an_audit_log_keeps_its_order_within_a_millisecond() {
        let now = Timestamp(1_763_000_000_000);
        let mut last = AuditId::after(None, now, rand::random());
        for _ in 0..100 {
            let next = AuditId::after(Some(last), now, rand::random());
            assert!(next > last);
            last = next;
        }
        let later = Timestamp(now.0 + 1000);
        assert!(
            AuditId::after(Some(last), later, rand::random()) < AuditId::first_of(Timestamp(later.0 + 1))
        );
    }

    #[test]
    fn reads_only_the_hyphenated_form() {
        let id = EmailId::new(Timestamp(1_763_000_000_000), rand::random());
        assert_eq!(id.to_string().parse::<EmailId>().unwrap(), id);
        assert!("0199".parse::<EmailId>().is_err());
        assert!(id.as_uuid().simple().to_string().parse::<EmailId>().is_err());
    }
}

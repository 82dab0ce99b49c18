//! Identifiers: UUID version 7 (RFC 9562), one type for each kind of thing.
//!
//! The time in an id is the creation time of the row, to the millisecond, so ordering by id is ordering by creation.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::time::Timestamp;

fn v7(now: Timestamp) -> Uuid {
    uuid::Builder::from_unix_timestamp_millis(u64::try_from(now.0).unwrap_or(0), &rand::random::<[u8; 10]>())
        .into_uuid()
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// A new id whose time part is `now`.
            pub fn new(now: Timestamp) -> Self {
                Self(v7(now))
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

ids! {
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
    /// An entry of a project's audit log.
    AuditId,
    /// A link that proves an address.
    ProofId,
}

impl AuditId {
    /// A new id that comes after `last`, also within the same millisecond: a log is read in the order of its ids, and
    /// must not tell a cause after its effect.
    pub fn after(last: Option<Self>, now: Timestamp) -> Self {
        let millis = |id: Self| (id.0.as_u128() >> 80) as i64;
        Self(v7(Timestamp(last.map_or(now.0, |last| now.0.max(millis(last) + 1)))))
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
        let (early, late) = (ContactId::new(Timestamp(1000)), ContactId::new(Timestamp(1001)));
        assert!(early < late);
        assert!(ContactId::first_of(Timestamp(1000)) <= early);
        assert!(early < ContactId::first_of(Timestamp(1001)));
        assert_eq!((early.instant(), late.instant()), (Timestamp(1000), Timestamp(1001)));
    }

    #[test]
    fn an_audit_log_keeps_its_order_within_a_millisecond() {
        let now = Timestamp(1_763_000_000_000);
        let mut last = AuditId::after(None, now);
        for _ in 0..100 {
            let next = AuditId::after(Some(last), now);
            assert!(next > last);
            last = next;
        }
        let later = Timestamp(now.0 + 1000);
        assert!(AuditId::after(Some(last), later) < AuditId::first_of(Timestamp(later.0 + 1)));
    }

    #[test]
    fn reads_only_the_hyphenated_form() {
        let id = EmailId::new(Timestamp(1_763_000_000_000));
        assert_eq!(id.to_string().parse::<EmailId>().unwrap(), id);
        assert!("0199".parse::<EmailId>().is_err());
        assert!(id.as_uuid().simple().to_string().parse::<EmailId>().is_err());
    }
}

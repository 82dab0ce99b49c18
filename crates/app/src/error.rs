//! The errors of use cases: refusals, and failures of the store.

mod sign_in_refusal;

use mailwright_core::issue::Issue;
use mailwright_core::names;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::filter::MAX_COMPILED;
use mailwright_store::{Error as StoreError, Refusal};

pub use sign_in_refusal::SignInRefusal;

/// Result of a use case.
pub type Result<T, E = Error> = std::result::Result<T, E>;

names! {
    /// A kind of thing that an id can fail to find.
    pub enum Resource {
        /// A contact.
        Contact = "Contact",
        /// A template.
        Template = "Template",
        /// A domain.
        Domain = "Domain",
        /// A project.
        Project = "Project",
        /// A mail.
        Email = "Email",
        /// A file of a mail.
        Attachment = "Attachment",
        /// What a mail shows.
        Content = "Content of the email",
        /// A captured mail.
        CapturedEmail = "Captured email",
        /// A custom field.
        Field = "Field",
        /// An uploaded picture.
        Upload = "Upload",
        /// A former version of a template or campaign.
        Version = "Version",
        /// A campaign.
        Campaign = "Campaign",
        /// A topic.
        Topic = "Topic",
        /// A segment.
        Segment = "Segment",
        /// A user.
        User = "User",
        /// A member of a project.
        Member = "Member",
        /// An invitation to a project.
        Invitation = "Invitation",
        /// An API key.
        Key = "Key",
        /// A session.
        Session = "Session",
        /// A request in the log of requests.
        Request = "Request",
        /// What is wanted with mail that waits.
        Intervention = "Intervention",
        /// A background job.
        Job = "Job",
        /// A workflow.
        Workflow = "Workflow",
        /// A step of a workflow.
        Step = "Step",
        /// A transition of a workflow.
        Transition = "Transition",
        /// An execution of a workflow.
        Execution = "Execution",
        /// An address that gets no mail.
        Suppression = "Suppression",
        /// The erasure of a person.
        Erasure = "Erasure",
        /// A rule that keeps mail from addresses.
        SuppressionRule = "Suppression rule",
    }
}

/// Why a use case was not performed. Nothing that it began remains.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Fields of the request are wrong.
    #[error("the request is not valid")]
    Invalid(Vec<Issue>),
    /// A template or a campaign has errors in the templates' language (reference 4.3).
    #[error("the template is not valid")]
    Syntax(Vec<Issue>),
    /// The condition of a segment is wrong (reference 5.5).
    #[error("the condition is not valid")]
    Condition(Vec<Issue>),
    /// The request makes no sense as a whole.
    #[error("{0}")]
    BadRequest(String),
    /// Nothing has that id in the project.
    #[error("{} {id} was not found", .resource.as_str())]
    NotFound {
        /// The kind of thing that was looked for.
        resource: Resource,
        /// The id given.
        id: String,
    },
    /// The request meets something that is in its way.
    #[error("{0}")]
    Conflict(String),
    /// Others changed the thing again and again while a change of it was prepared.
    #[error("{} is being changed by other requests", .0.as_str())]
    ChangedMeanwhile(Resource),
    /// The project may not send from that address.
    #[error("{0}")]
    SenderRefused(String),
    /// The instance has no sender for its own mails any more: the domain that the operator vouches for was removed.
    #[error("the instance's own mails have no sender any more: its domain was removed")]
    NoOwnSender,
    /// The project was reset during the request: the rows that it is about may not exist any more.
    #[error("the project was reset during the request")]
    ProjectReset,
    /// The idempotency key was used before.
    #[error("the idempotency key {key:?} was used before")]
    KeyReused {
        /// The key.
        key: String,
        /// `METHOD path` of the request that used it.
        request: String,
        /// When that was.
        at: Timestamp,
        /// Status of its answer, once there is one.
        status_code: Option<i64>,
    },
    /// The credentials do not belong to the project that is asked for.
    #[error("{0}")]
    Forbidden(String),
    /// The caller is known, and not allowed to do this.
    #[error("{0}")]
    NotAllowed(String),
    /// A domain is near one of a disabled project. Which one is not told.
    #[error("the domain cannot be added")]
    DomainRefused,
    /// Somebody who comes back from a provider is not signed in.
    #[error("{}", .0.text())]
    NotSignedIn(SignInRefusal),
    /// The account was removed while its request was under way.
    #[error("the account is gone")]
    SignedOut,
    /// The address or the password is wrong; which of them is not told.
    #[error("the address or the password is wrong")]
    InvalidCredentials,
    /// The password is right, and the account asks for a second factor.
    #[error("a second factor is required")]
    CodeRequired,
    /// The action needs the password of the account, which was not given. The text says why.
    #[error("{0}")]
    PasswordRequired(&'static str),
    /// The second factor is wrong, or was used before.
    #[error("the code is wrong")]
    WrongCode,
    /// Too many wrong passwords in a short time.
    #[error("too many attempts")]
    TooManyAttempts {
        /// Seconds until the next attempt counts.
        retry_after: i64,
    },
    /// The limit on mails that can be asked for in a window was reached.
    #[error("too many mails")]
    TooManyMails {
        /// Seconds until the next one can be asked for.
        retry_after: i64,
    },
    /// A subscription was changed many times in a short time without a key.
    #[error("too many changes of a subscription")]
    TooManyChanges {
        /// Seconds until it can be changed again.
        retry_after: i64,
    },
    /// The project may have no more mails of a category in this month.
    #[error("{0}")]
    LimitReached(String),
    /// A campaign has more recipients than the project may have mails in this month.
    #[error("{0}")]
    OverLimit(String),
    /// The instance does not bill.
    #[error("billing is not configured")]
    NoBilling,
    /// Something that the operator has to set is missing.
    #[error("{0}")]
    NotConfigured(String),
    /// The payment service did not do what it was asked for. The text says why, without what it was told.
    #[error("{0}")]
    PaymentService(String),
    /// The project has as many batches of addresses under way as it may.
    #[error("too many batches")]
    TooManyBatches,
    /// The key was revoked while the request was on its way.
    #[error("the key was revoked")]
    KeyRevoked,
    /// The project was disabled while the request was on its way.
    #[error("the project is disabled")]
    ProjectDisabled,
    /// What somebody wants to go on reading of the feed is not kept any more.
    #[error("the bookmark is not kept any more")]
    BookmarkGone,
    /// Too much work of the project is queued already; the same request may succeed later.
    #[error("{0}")]
    QueueFull(String),
    /// An uploaded picture is refused.
    #[error("{0}")]
    Picture(mailwright_images::Refused),
    /// The service cannot do this now: something is full, or does not answer. The same request may succeed later.
    #[error("{0}")]
    Busy(String),
    /// A read took longer than one may, or did not have its turn in time.
    #[error("{0}")]
    TooSlow(String),
    /// A dependency is not available; the same request may succeed later.
    #[error("{0}")]
    Unavailable(String),
    /// A bug. The text is for the log, not for the client.
    #[error("{0}")]
    Internal(String),
    /// The store failed. [`Error::told`] makes the error for the client of it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Error {
    /// Nothing has that id.
    pub fn not_found(resource: Resource, id: impl ToString) -> Self {
        Self::NotFound { resource, id: id.to_string() }
    }

    /// The error for the client: a failure of the store becomes its meaning for the caller.
    #[must_use]
    pub fn told(self) -> Self {
        let Self::Store(failure) = self else { return self };
        match failure {
            StoreError::TooSlow(limit) => Self::TooSlow(format!(
                "Reading took longer than the limit of {} seconds and was stopped.",
                limit.as_secs_f64()
            )),
            StoreError::NoTurn(limit) => Self::TooSlow(format!(
                "The request waited {} seconds for its turn to read, which is the limit, because of other \
                 reads.",
                limit.as_secs_f64()
            )),
            StoreError::Crowded(most) => Self::QueueFull(format!(
                "{most} slow reads of the project wait for their turn, which is the limit. Wait for their \
                 answers, and send fewer of them at the same time."
            )),
            StoreError::Excess(excess) => Self::Invalid(vec![excess.issue()]),
            StoreError::TooManyConditions => Self::BadRequest(too_many_conditions()),
            failure if is_outage(&failure) => Self::Unavailable(failure.to_string()),
            bug => Self::Internal(bug.to_string()),
        }
    }

    /// Whether a dependency is not available, so that the same may succeed later.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_)) || matches!(self, Self::Store(failure) if is_outage(failure))
    }

    /// Whether a read took longer than one may, or did not have its turn in time.
    pub fn is_too_slow(&self) -> bool {
        matches!(self, Self::TooSlow(_) | Self::Store(StoreError::TooSlow(_) | StoreError::NoTurn(_)))
    }

    /// Whether another transaction got in the way; the same can be tried again at once.
    pub(crate) fn is_contention(&self) -> bool {
        matches!(self, Self::Store(StoreError::Contention(_)))
    }
}

/// Whether the store cannot do what it is asked for now. An unknown outcome is not temporary, but it is no bug either:
/// the caller has to look, or to ask again.
fn is_outage(failure: &StoreError) -> bool {
    match failure {
        StoreError::TooSlow(_) | StoreError::NoTurn(_) | StoreError::Crowded(_) => false,
        failure => failure.is_temporary() || matches!(failure, StoreError::Unknown(_)),
    }
}

impl Refusal for Error {
    fn into_failure(self) -> Result<StoreError, Self> {
        match self {
            Self::Store(failure) => Ok(failure),
            refusal => Err(refusal),
        }
    }
}

/// The message for a filter that has too many conditions, those of the segments that it names included.
pub(crate) fn too_many_conditions() -> String {
    format!(
        "With the segments it refers to, the filter has more than {MAX_COMPILED} conditions. Track some of these \
         segments, or make them smaller."
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_asked_of_an_error_is_what_a_client_is_told() {
        let second = Duration::from_secs(1);
        for (failure, told) in [
            (StoreError::Contention("met".into()), "unavailable"),
            (StoreError::Unknown("lost".into()), "unavailable"),
            (StoreError::Full("disk".into()), "unavailable"),
            (StoreError::TooSlow(second), "too slow"),
            (StoreError::NoTurn(second), "too slow"),
            (StoreError::Crowded(3), "queue"),
            (StoreError::TooManyConditions, "request"),
            (StoreError::NotFound, "bug"),
            (StoreError::Aborted, "bug"),
        ] {
            let error = Error::from(failure);
            let found = match error.clone().told() {
                Error::Unavailable(_) => "unavailable",
                Error::TooSlow(_) => "too slow",
                Error::QueueFull(_) => "queue",
                Error::BadRequest(_) => "request",
                Error::Internal(_) => "bug",
                other => panic!("{other:?}"),
            };
            assert_eq!(found, told, "{error}");
            assert_eq!(error.is_unavailable(), told == "unavailable", "{error}");
            assert_eq!(error.is_too_slow(), told == "too slow", "{error}");
        }
        assert!(Error::Unavailable("passwords".into()).is_unavailable());
    }

    #[test]
    fn a_failure_of_the_store_is_seen_through() {
        let failure = Error::from(StoreError::Contention("met".into())).into_failure();
        assert!(matches!(failure, Ok(StoreError::Contention(_))), "{failure:?}");
        let refusal = Error::WrongCode.into_failure();
        assert!(matches!(refusal, Err(Error::WrongCode)), "{refusal:?}");
    }
}

//! What a use case can refuse, and what can fail under it.

use mailwright_core::issue::Issue;
use mailwright_core::time::Timestamp;
use mailwright_store::filter::MAX_COMPILED;

/// Result of a use case.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A kind of thing that an id can fail to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// A contact.
    Contact,
    /// A template.
    Template,
    /// A domain.
    Domain,
    /// A project.
    Project,
    /// A mail.
    Email,
    /// A captured mail.
    CapturedEmail,
    /// A custom field.
    Field,
    /// A campaign.
    Campaign,
    /// A segment.
    Segment,
    /// A user.
    User,
    /// A member of a project.
    Member,
    /// An invitation to a project.
    Invitation,
    /// An API key.
    Key,
    /// A session.
    Session,
    /// A background job.
    Job,
}

impl Resource {
    /// The name in error messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Contact => "Contact",
            Self::Template => "Template",
            Self::Domain => "Domain",
            Self::Project => "Project",
            Self::Email => "Email",
            Self::CapturedEmail => "Captured email",
            Self::Field => "Field",
            Self::Campaign => "Campaign",
            Self::Segment => "Segment",
            Self::User => "User",
            Self::Member => "Member",
            Self::Invitation => "Invitation",
            Self::Key => "Key",
            Self::Session => "Session",
            Self::Job => "Job",
        }
    }
}

/// Why a use case did not do what was asked. Nothing half-done remains.
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
        /// What was looked for.
        resource: Resource,
        /// The id given.
        id: String,
    },
    /// The request meets something that is in its way.
    #[error("{0}")]
    Conflict(String),
    /// The project may not send from that address.
    #[error("{0}")]
    SenderRefused(String),
    /// The project was reset while the request was made: what it was about may be gone.
    #[error("the project was reset while the request was made")]
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
    /// The address or the password is wrong; which of them is not told.
    #[error("the address or the password is wrong")]
    InvalidCredentials,
    /// The password is right, and the account asks for a second factor.
    #[error("a second factor is required")]
    CodeRequired,
    /// What is asked for needs the password of the account, which was not given. The text says why.
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
    /// As many mails as may be asked for in a short time.
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
    /// The key was revoked while the request was on its way.
    #[error("the key was revoked")]
    KeyRevoked,
    /// The project was disabled while the request was on its way.
    #[error("the project is disabled")]
    ProjectDisabled,
    /// Too much work of the project is queued already; the same request may succeed later.
    #[error("{0}")]
    QueueFull(String),
    /// A read took longer than one may, or did not have its turn in time.
    #[error("{0}")]
    TooSlow(String),
    /// A dependency is not available; the same request may succeed later.
    #[error("{0}")]
    Unavailable(String),
    /// A bug. The text is for the log, not for the client.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    /// Nothing has that id.
    pub fn not_found(resource: Resource, id: impl ToString) -> Self {
        Self::NotFound { resource, id: id.to_string() }
    }
}

impl From<mailwright_store::Error> for Error {
    fn from(error: mailwright_store::Error) -> Self {
        use mailwright_store::Error as E;
        match error {
            E::TooSlow(limit) => {
                return Self::TooSlow(format!(
                    "The request read for longer than the limit of {} seconds and was stopped.",
                    limit.as_secs_f64()
                ));
            }
            E::NoTurn(limit) => {
                return Self::TooSlow(format!(
                    "The request waited for {} seconds for its turn to read, which is the limit: others were reading.",
                    limit.as_secs_f64()
                ));
            }
            E::Crowded(most) => {
                return Self::QueueFull(format!(
                    "{most} requests of the project that read much wait for their turn, which is the limit. Wait for \
                     their answers, and ask for fewer at the same time."
                ));
            }
            E::Excess(excess) => return Self::Invalid(vec![excess.issue()]),
            E::TooManyConditions => return Self::BadRequest(too_many_conditions()),
            _ => {}
        }
        // an unknown outcome is not temporary, but it is no bug either: the caller has to look, or to ask again
        if error.is_temporary() || matches!(error, mailwright_store::Error::Unknown(_)) {
            Self::Unavailable(error.to_string())
        } else {
            Self::Internal(error.to_string())
        }
    }
}

/// What to say of a filter that has too many conditions with those of the segments that it names.
pub(crate) fn too_many_conditions() -> String {
    format!(
        "With the segments it refers to, the filter has more than {MAX_COMPILED} conditions. Track some of these \
         segments, or make them smaller."
    )
}

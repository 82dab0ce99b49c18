//! How a transaction ends of which nothing is kept.

use std::any::Any;

use crate::database::error::{Error, Result};

/// The result of a body, of any type.
pub(crate) type Answer = Box<dyn Any + Send>;

/// The error with which the body of a transaction ends, so that it is rolled back: a failure of the store, or a refusal
/// of the caller's own type.
pub trait Refusal: From<Error> + Send + 'static {
    /// The failure of the store that this is, or itself.
    fn into_failure(self) -> Result<Error, Self>;
}

impl Refusal for Error {
    fn into_failure(self) -> Result<Error, Self> {
        Ok(self)
    }
}

/// Why nothing of a transaction is kept.
#[derive(Debug)]
pub(crate) enum Undone {
    /// The store failed.
    Failed(Error),
    /// The body refused, with an error of its caller's own.
    Refused(Answer),
}

impl From<Error> for Undone {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Undone {
    pub(crate) fn of<E: Refusal>(error: E) -> Self {
        match error.into_failure() {
            Ok(failure) => Self::Failed(failure),
            Err(refusal) => Self::Refused(Box::new(refusal)),
        }
    }

    pub(crate) fn into_error<E: Refusal>(self) -> E {
        match self {
            Self::Failed(failure) => failure.into(),
            Self::Refused(refusal) => match refusal.downcast::<E>() {
                Ok(refusal) => *refusal,
                Err(_) => Error::Statement("a body refused with another error".into()).into(),
            },
        }
    }

    /// The failure of the store, if that is why.
    pub(crate) fn failure(&self) -> Option<&Error> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Refused(_) => None,
        }
    }
}

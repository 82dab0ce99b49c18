//! Why a body could not be read.

use std::fmt;

use crate::error::ApiError;
use crate::no_room::NoRoom;

/// Why a body could not be read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    TooSlow,
    NoRoom,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooSlow => "the body took too long",
            Self::NoRoom => "there is no room for the body",
        })
    }
}

impl std::error::Error for Trouble {}

/// Why the end of a body was not passed on.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) ApiError);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the credential of the request lost its access while the body was sent")
    }
}

impl std::error::Error for Refused {}

/// The answer to a client whose body could not be read.
pub(crate) fn failure(error: &axum::Error) -> ApiError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(Refused(refused)) = error.downcast_ref() {
            return refused.clone();
        }
        if error.is::<NoRoom>() {
            return ApiError::no_room();
        }
        match error.downcast_ref::<Trouble>() {
            Some(Trouble::TooSlow) => return ApiError::body_too_slow(),
            Some(Trouble::NoRoom) => return ApiError::no_room_for_body(),
            None => cause = error.source(),
        }
    }
    ApiError::bad_request("The body could not be read.")
}

//! What the connections of the server tell the API: that there is no room.

use std::fmt;

/// Says that the service has no room for a request's connection: probes alone are answered, and preflights. As the
/// error of a request's body it says that the rest is not waited for, since others need the place.
#[derive(Debug, Clone, Copy)]
pub struct NoRoom;

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no room for the connection")
    }
}

impl std::error::Error for NoRoom {}

//! Answers that no good name server gives.

use super::message::{A, NO_ERROR, NS, NXDOMAIN, Query, SERVFAIL, add_authority, labels, record};

/// What is wrong with all answers of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// They say that the name does not exist, and answer another question by their id.
    WrongId,
    /// They name other name servers that should be asked instead.
    Referral,
    /// The server failed (SERVFAIL).
    Failure,
    /// They say that they are cut off, by TCP as well.
    Truncated,
    /// They are not DNS.
    Garbage,
}

impl Fault {
    pub(super) fn answer(self, query: &Query) -> Vec<u8> {
        match self {
            Self::WrongId => {
                let mut answer = query.head(NXDOMAIN, 0, false);
                answer[0] ^= 0x55;
                answer[1] ^= 0xaa;
                answer
            }
            Self::Referral => {
                let mut answer = query.head(NO_ERROR, 0, false);
                // without AA: the server does not speak for the zone
                answer[2] &= !0x04;
                add_authority(&mut answer, &record("test", NS, &labels("ns.elsewhere.test"), 0));
                answer
            }
            Self::Failure => query.head(SERVFAIL, 0, false),
            Self::Truncated => query.head(NO_ERROR, 0, true),
            Self::Garbage => {
                let mut answer = query.head(NO_ERROR, 3, false);
                answer.extend([0xc0, 0xff, 0, A as u8, 0xff]);
                answer
            }
        }
    }
}

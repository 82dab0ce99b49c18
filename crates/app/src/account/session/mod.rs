//! Signing up, in and out.
//!
//! A session is a row. The browser holds a JSON Web Token that names the row and is signed with a key of the instance.
//! So neither a guess nor a look into the database opens a session. Without its row a token is worth nothing, so a
//! session ends at once on every node.
//!
//! [`hand_over()`] is the one place where an account passes to the owner of its address.

mod hand_over;
mod sessions;
mod sign_in;
mod sign_up;
mod token;

pub(crate) use hand_over::hand_over;
pub use sessions::{FRESH, SignedIn};
pub use sign_up::SignUp;
pub use token::{LASTS, SessionToken};

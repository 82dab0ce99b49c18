//! Whose request it is: extractors that carry identity. A handler's signature names the extractor and the capability
//! that it needs; `core::role` says which roles and scopes have which capability.
//!
//! Credentials become an `Identity`: a project, the caller (`Actor`), and what it is allowed (`Holder`: a member's role,
//! or a key's scopes). A project is opened by a secret key, or by a session together with the project's id. An
//! `Authorization` header wins over a cookie.
//!
//! A request with a cookie that changes anything must come from a page of this service or from no page ([`site`]), and
//! names one of our hosts in `Host`. Over HTTPS the cookie has a prefix that browsers protect. A cookie without the
//! prefix is not accepted there, because accepting it would undo the protection.

mod again;
pub(crate) mod client;
mod cookie;
mod extract;
mod form;
mod key;
pub(crate) mod needs;
mod permit;
mod place;
mod recent;
mod session;
mod site;
#[cfg(test)]
mod tests;

pub(crate) use self::again::{Entered, watch};
pub(crate) use self::client::Client;
pub(crate) use self::cookie::{SESSION_COOKIE, cookie, session_cookie, session_cookie_name};
pub(crate) use self::extract::{
    AnyUser, Caller, LastingAccess, MemberAccess, PathAccess, ProjectAccess, RecordAccess, SameSite, SendKey,
    SignedInUser, TrackKey,
};
pub(crate) use self::form::{FormAccess, FormBody};
pub(crate) use self::key::bearer_in_any_case;
pub(crate) use self::recent::{HasProof, ProofRequest, Proven, RecentProof};
pub(crate) use self::session::visitor;

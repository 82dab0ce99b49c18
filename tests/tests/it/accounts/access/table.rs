//! The table: who may call each endpoint.

/// Who may call an endpoint.
#[derive(Clone, Copy, Debug)]
pub(in crate::accounts) enum Access {
    /// Anybody.
    Open,
    /// A signed-in user; keys do not open it.
    User,
    /// Keys and members; a session names its project in a header.
    Project(Rule),
    /// Keys and members; the path names the project.
    Path(Rule),
    /// Members alone; the path names the project.
    Mine(Rule),
    /// A secret key alone, with one of these scopes.
    Send(&'static [&'static str]),
    /// A public key, or a secret one with one of these scopes.
    Track(&'static [&'static str]),
}

/// The least role, and the scopes any of which is enough for a key besides `everything`; `None` when no key is.
pub(in crate::accounts) type Rule = (usize, Option<&'static [&'static str]>);

pub(super) const MEMBER: usize = 0;
const ADMIN: usize = 1;

const READ_CONTACTS: Rule = (MEMBER, Some(&["read", "contacts"]));
const WRITE_CONTACTS: Rule = (MEMBER, Some(&["contacts"]));
const READ_CAMPAIGNS: Rule = (MEMBER, Some(&["read", "campaigns"]));
const WRITE_CAMPAIGNS: Rule = (MEMBER, Some(&["campaigns"]));
const RECORD: Rule = (MEMBER, Some(&["send", "contacts"]));
const READ_MAIL: Rule = (MEMBER, Some(&["read"]));
const WRITE_MAIL: Rule = (MEMBER, Some(&[]));
const READ_PROJECT: Rule = (MEMBER, Some(&["read"]));
const MANAGE: Rule = (ADMIN, Some(&[]));
const PEOPLE_MANAGE: Rule = (ADMIN, None);

pub(in crate::accounts) const TABLE: &[(&str, &str, Access)] = &[
    ("post", "/v1/send", Access::Send(&["send"])),
    ("post", "/v1/track", Access::Track(&["send", "contacts"])),
    ("get", "/contacts", Access::Project(READ_CONTACTS)),
    ("post", "/contacts", Access::Project(WRITE_CONTACTS)),
    ("post", "/contacts/lookup", Access::Project(READ_CONTACTS)),
    ("get", "/contacts/fields", Access::Project(READ_CONTACTS)),
    ("get", "/contacts/fields/{field}/values", Access::Project(READ_CONTACTS)),
    ("get", "/contacts/fields/{field}/usage", Access::Project(READ_CONTACTS)),
    ("delete", "/contacts/fields/{field}", Access::Project(WRITE_CONTACTS)),
    ("get", "/contacts/{id}", Access::Project(READ_CONTACTS)),
    ("patch", "/contacts/{id}", Access::Project(WRITE_CONTACTS)),
    ("delete", "/contacts/{id}", Access::Project(WRITE_CONTACTS)),
    ("post", "/contacts/import", Access::Project(WRITE_CONTACTS)),
    ("get", "/contacts/import/{jobId}", Access::Project(READ_CONTACTS)),
    ("post", "/contacts/bulk-subscribe", Access::Project(WRITE_CONTACTS)),
    ("post", "/contacts/bulk-unsubscribe", Access::Project(WRITE_CONTACTS)),
    ("post", "/contacts/bulk-delete", Access::Project(WRITE_CONTACTS)),
    ("get", "/contacts/bulk/{jobId}", Access::Project(READ_CONTACTS)),
    ("get", "/segments", Access::Project(READ_CONTACTS)),
    ("post", "/segments", Access::Project(WRITE_CONTACTS)),
    ("get", "/segments/{id}", Access::Project(READ_CONTACTS)),
    ("patch", "/segments/{id}", Access::Project(WRITE_CONTACTS)),
    ("delete", "/segments/{id}", Access::Project(WRITE_CONTACTS)),
    ("get", "/segments/{id}/contacts", Access::Project(READ_CONTACTS)),
    ("post", "/segments/{id}/members", Access::Project(WRITE_CONTACTS)),
    ("delete", "/segments/{id}/members", Access::Project(WRITE_CONTACTS)),
    ("post", "/segments/{id}/compute", Access::Project(WRITE_CONTACTS)),
    ("post", "/segments/{id}/refresh", Access::Project(WRITE_CONTACTS)),
    ("get", "/campaigns", Access::Project(READ_CAMPAIGNS)),
    ("post", "/campaigns", Access::Project(WRITE_CAMPAIGNS)),
    ("get", "/campaigns/{id}", Access::Project(READ_CAMPAIGNS)),
    ("put", "/campaigns/{id}", Access::Project(WRITE_CAMPAIGNS)),
    ("delete", "/campaigns/{id}", Access::Project(WRITE_CAMPAIGNS)),
    ("post", "/campaigns/{id}/duplicate", Access::Project(WRITE_CAMPAIGNS)),
    ("post", "/campaigns/{id}/send", Access::Project(WRITE_CAMPAIGNS)),
    ("post", "/campaigns/{id}/cancel", Access::Project(WRITE_CAMPAIGNS)),
    ("post", "/campaigns/{id}/pause", Access::Project(WRITE_CAMPAIGNS)),
    ("post", "/campaigns/{id}/resume", Access::Project(WRITE_CAMPAIGNS)),
    ("post", "/campaigns/{id}/retry", Access::Project(WRITE_CAMPAIGNS)),
    ("post", "/campaigns/{id}/test", Access::Project(WRITE_CAMPAIGNS)),
    ("get", "/campaigns/{id}/stats", Access::Project(READ_CAMPAIGNS)),
    ("get", "/campaigns/{id}/audience", Access::Project(READ_CAMPAIGNS)),
    ("get", "/campaigns/{id}/ledger", Access::Project(READ_CAMPAIGNS)),
    ("get", "/events/stats", Access::Project(READ_CONTACTS)),
    ("get", "/events/{eventName}/usage", Access::Project(READ_CONTACTS)),
    ("delete", "/events/{eventName}", Access::Project(WRITE_CONTACTS)),
    ("get", "/contacts/public/{id}", Access::Open),
    ("post", "/contacts/public/{id}/subscribe", Access::Open),
    ("post", "/contacts/public/{id}/unsubscribe", Access::Open),
    ("get", "/templates", Access::Project(READ_CAMPAIGNS)),
    ("post", "/templates", Access::Project(WRITE_CAMPAIGNS)),
    ("get", "/templates/{id}", Access::Project(READ_CAMPAIGNS)),
    ("patch", "/templates/{id}", Access::Project(WRITE_CAMPAIGNS)),
    ("delete", "/templates/{id}", Access::Project(WRITE_CAMPAIGNS)),
    ("post", "/templates/{id}/duplicate", Access::Project(WRITE_CAMPAIGNS)),
    ("get", "/templates/{id}/usage", Access::Project(READ_CAMPAIGNS)),
    ("post", "/events/track", Access::Project(RECORD)),
    ("get", "/events", Access::Project(READ_CONTACTS)),
    ("get", "/events/names", Access::Project(READ_CONTACTS)),
    ("get", "/events/contact/{contactId}", Access::Project(READ_CONTACTS)),
    ("post", "/domains", Access::Project(MANAGE)),
    ("get", "/domains/project/{projectId}", Access::Path(READ_PROJECT)),
    ("get", "/domains/{id}/verify", Access::Project(READ_PROJECT)),
    ("delete", "/domains/{id}", Access::Project(MANAGE)),
    ("get", "/emails", Access::Project(READ_MAIL)),
    ("get", "/emails/{id}", Access::Project(READ_MAIL)),
    ("get", "/mailbox", Access::Project(READ_MAIL)),
    ("delete", "/mailbox", Access::Project(WRITE_MAIL)),
    ("get", "/mailbox/{id}", Access::Project(READ_MAIL)),
    ("delete", "/mailbox/{id}", Access::Project(WRITE_MAIL)),
    ("get", "/mailbox/{id}/raw", Access::Project(READ_MAIL)),
    ("post", "/auth/signup", Access::Open),
    ("post", "/auth/login", Access::Open),
    ("get", "/auth/logout", Access::Open),
    ("get", "/auth/verify-email", Access::Open),
    ("post", "/auth/verify-email", Access::Open),
    ("post", "/auth/request-verification", Access::User),
    ("post", "/auth/request-password-reset", Access::Open),
    ("get", "/auth/reset-password", Access::Open),
    ("post", "/auth/reset-password", Access::Open),
    ("get", "/auth/invitation", Access::Open),
    ("post", "/auth/invitation", Access::Open),
    ("get", "/auth/oauth-config", Access::Open),
    ("get", "/oauth/github/outbound", Access::Open),
    ("get", "/oauth/github/callback", Access::Open),
    ("get", "/oauth/google/outbound", Access::Open),
    ("get", "/oauth/google/callback", Access::Open),
    ("get", "/users/@me", Access::User),
    ("patch", "/users/@me", Access::User),
    ("delete", "/users/@me", Access::User),
    ("post", "/users/@me/password", Access::User),
    ("post", "/users/@me/invitations", Access::User),
    ("get", "/users/@me/totp", Access::User),
    ("post", "/users/@me/totp", Access::User),
    ("delete", "/users/@me/totp", Access::User),
    ("post", "/users/@me/totp/confirm", Access::User),
    ("post", "/users/@me/totp/recovery-codes", Access::User),
    ("get", "/users/@me/sessions", Access::User),
    ("delete", "/users/@me/sessions/{id}", Access::User),
    ("get", "/users/@me/projects", Access::User),
    ("post", "/users/@me/projects", Access::User),
    ("patch", "/users/@me/projects/{id}", Access::Mine(PEOPLE_MANAGE)),
    ("delete", "/users/@me/projects/{id}", Access::Mine(PEOPLE_MANAGE)),
    ("post", "/users/@me/projects/{id}/regenerate-keys", Access::Mine(PEOPLE_MANAGE)),
    ("post", "/users/@me/projects/{id}/reset", Access::Mine(PEOPLE_MANAGE)),
    ("get", "/users/@me/projects/{id}/security", Access::Mine(READ_PROJECT)),
    ("get", "/projects/{id}/security", Access::Path(READ_PROJECT)),
    ("get", "/projects/{id}/setup-state", Access::Path(READ_PROJECT)),
    ("get", "/projects/{id}/members", Access::Path(READ_PROJECT)),
    ("post", "/projects/{id}/members", Access::Path(MANAGE)),
    // members take what they are offered and leave by themselves; that they cannot do more is in `members/`
    ("patch", "/projects/{id}/members/{userId}", Access::Path(READ_PROJECT)),
    ("delete", "/projects/{id}/members/{userId}", Access::Path(READ_PROJECT)),
    ("get", "/projects/{id}/invitations", Access::Path(READ_PROJECT)),
    ("delete", "/projects/{id}/invitations/{invitationId}", Access::Path(MANAGE)),
    ("post", "/projects/{id}/invitations/{invitationId}/confirm", Access::Mine(PEOPLE_MANAGE)),
    ("get", "/projects/{id}/keys", Access::Path(READ_PROJECT)),
    ("post", "/projects/{id}/keys", Access::Mine(PEOPLE_MANAGE)),
    ("delete", "/projects/{id}/keys/{keyId}", Access::Mine(PEOPLE_MANAGE)),
    ("get", "/projects/{id}/audit", Access::Path(MANAGE)),
    ("get", "/unsubscribe/{id}", Access::Open),
    ("post", "/unsubscribe/{id}", Access::Open),
    ("get", "/subscribe/{id}", Access::Open),
    ("post", "/subscribe/{id}", Access::Open),
    ("get", "/manage/{id}", Access::Open),
    ("get", "/config", Access::Open),
    ("get", "/health", Access::Open),
    ("get", "/ready", Access::Open),
    ("get", "/metrics", Access::Open),
];

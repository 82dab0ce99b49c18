//! Members of projects, and invitations.

mod invitation;
mod membership;

pub use self::invitation::{
    Invitation, Inviter, Opened, count_invitations, find_by_token, forget_invitation, invitation,
    invitations, invite, invited_to, is_invited, is_invited_by_person, opened, sweep, take, take_by_token,
    withdraw, withdraw_of_member, withdraw_of_revoked,
};
pub use self::membership::{
    Member, accept, add, authorize, count, get, list, offer, owners, remove, set_role,
};

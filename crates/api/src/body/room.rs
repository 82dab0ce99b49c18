//! The shares of the room for bodies: who holds how much, and who finds room for more. The module above explains them.

use std::collections::HashMap;

use mailwright_app::account::client_key::ClientKey;
use mailwright_core::ids::ProjectNumber;

/// The first bytes of a body, which find room even where large bodies find none.
pub(super) const SMALL: usize = 64 * 1024;
/// In 64ths of all room: what strangers have together, and each of them.
pub(super) const STRANGERS: (usize, usize) = (8, 2);
/// The same for public keys: all of them, those of a project, and a client.
const PUBLIC: (usize, usize, usize) = (16, 4, 1);
/// The same for small bodies with a secret key or session: all of them, and those of a project or a client.
const SMALL_ONES: (usize, usize) = (24, 8);
/// The same for large ones: those of a project or a client while a quarter of the room stays free, and else.
const LARGE_ONES: (usize, usize) = (32, 16);
/// How much of the room is filled when less than a quarter stays free.
const TIGHT: usize = 48;
/// How much of the room all bodies together may fill, in 64ths: before a credential was checked, large ones, and small
/// ones.
const FILLED: (usize, usize, usize) = (62, 60, 64);
/// How much of what stays free a client or a project may hold, in quarters: of large bodies, and of all others.
const OF_FREE: (usize, usize) = (16, 1);

/// What all bodies hold, together and by shares.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) all: usize,
    pub(super) shares: HashMap<Share, usize>,
}

/// Which credential was checked before the body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Standing {
    /// A secret key, or a session.
    Known,
    /// A public key.
    Public,
    /// Nothing.
    Stranger,
}

/// Whose body it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) standing: Standing,
    pub(super) client: ClientKey,
    /// The project of the key; `None` without a key.
    pub(super) project: Option<ProjectNumber>,
}

/// What a body holds of the room.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hold {
    pub(super) owner: Owner,
    pub(super) taken: usize,
    /// How long it will be, as far as the client says so.
    pub(super) announced: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Stranger,
    Public,
    /// A small body of a request with a secret key or session.
    Small,
    /// A large one.
    Large,
}

/// What part of the room is counted by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Share {
    All(Kind),
    Client(Kind, ClientKey),
    Project(Kind, ProjectNumber),
}

/// What a body counts in a share, and how much that may hold, in 64ths of all room.
struct Part {
    share: Share,
    bytes: usize,
    most: usize,
}

impl Hold {
    pub(super) fn with(self, bytes: usize) -> Self {
        Self { taken: self.taken + bytes, ..self }
    }

    fn kind(self) -> Kind {
        match self.owner.standing {
            Standing::Stranger => Kind::Stranger,
            Standing::Public => Kind::Public,
            Standing::Known if self.taken <= SMALL => Kind::Small,
            Standing::Known => Kind::Large,
        }
    }

    fn parts(self, is_tight: bool) -> impl Iterator<Item = Part> {
        let (kind, bytes) = (self.kind(), self.taken);
        let (all, project, client) = match kind {
            Kind::Stranger => (STRANGERS.0, STRANGERS.0, STRANGERS.1),
            Kind::Public => PUBLIC,
            Kind::Small => (SMALL_ONES.0, SMALL_ONES.1, SMALL_ONES.1),
            Kind::Large if is_tight => (FILLED.1, LARGE_ONES.1, LARGE_ONES.1),
            Kind::Large => (FILLED.1, LARGE_ONES.0, LARGE_ONES.0),
        };
        // not for the client: those who have nothing to do with each other may come from one address
        let whole = if kind == Kind::Large { bytes.max(self.announced) } else { bytes };
        let of_project = self.owner.project.map(|number| Part {
            share: Share::Project(kind, number),
            bytes: whole,
            most: project,
        });
        let of_client = Part { share: Share::Client(kind, self.owner.client), bytes, most: client };
        [Part { share: Share::All(kind), bytes, most: all }, of_client].into_iter().chain(of_project)
    }
}

impl Held {
    /// Whether one more fits into so much room.
    fn has_room(&self, hold: Hold, budget: usize) -> bool {
        let part = |of_64: usize| budget / 64 * of_64;
        let filled = self.all + hold.taken;
        let (most, quarters) = match hold.kind() {
            Kind::Stranger | Kind::Public => (FILLED.0, OF_FREE.1),
            Kind::Large => (FILLED.1, OF_FREE.0),
            Kind::Small => (FILLED.2, OF_FREE.1),
        };
        let Some(mut free) = part(most).checked_sub(filled) else { return false };
        hold.parts(filled > part(TIGHT)).all(|of| {
            let others = self.shares.get(&of.share).copied().unwrap_or_default();
            let Some(left) = part(of.most).checked_sub(others.saturating_add(of.bytes)) else { return false };
            if let Share::All(_) = of.share {
                free = free.min(left);
                return true;
            }
            others + of.bytes <= free.saturating_mul(quarters) / 4
        })
    }

    /// Takes out a body, and puts it in again with what it has then, if that fits.
    pub(super) fn exchange(&mut self, before: Hold, after: Hold, budget: usize) -> bool {
        self.remove(before);
        let fits = self.has_room(after, budget);
        if fits {
            self.add(after);
        }
        fits
    }

    pub(super) fn add(&mut self, hold: Hold) {
        if hold.taken == 0 {
            return;
        }
        self.all += hold.taken;
        for of in hold.parts(false) {
            *self.shares.entry(of.share).or_default() += of.bytes;
        }
    }

    pub(super) fn remove(&mut self, hold: Hold) {
        self.all -= hold.taken;
        for of in hold.parts(false) {
            if let Some(all) = self.shares.get_mut(&of.share) {
                *all -= of.bytes;
                if *all == 0 {
                    self.shares.remove(&of.share);
                }
            }
        }
    }
}

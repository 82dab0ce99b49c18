//! Where the links of a mail lead, by their numbers.

use std::sync::Arc;

use mailwright_core::ids::ProjectNumber;
use mailwright_store::Rx;
use mailwright_store::feedback::link;
use serde_json::Value;

use super::tracked::LinkNumber;
use crate::sending::content::{Link, links_from_json};

/// The links of a mail.
pub(super) struct MailLinks {
    /// Those of its content.
    pub(super) content: Arc<Vec<Link>>,
    /// The targets that its values made: an array of the number of a link and an address.
    pub(super) own: Option<Value>,
}

impl MailLinks {
    /// How many different ones there are.
    pub(super) fn count(&self) -> usize {
        let fixed = self.content.iter().filter(|link| link.target.is_some()).count();
        fixed + self.own.as_ref().and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// Where a link leads; `None` where the mail has no such link.
    pub(super) fn target(&self, number: u32) -> Option<String> {
        let LinkNumber { link, own } = LinkNumber::of(number);
        match own {
            Some(place) => {
                let target = &self.own.as_ref()?[place];
                if target[0] == link { target[1].as_str().map(str::to_owned) } else { None }
            }
            None => self.content.get(link as usize)?.target.clone(),
        }
    }
}

/// The links of a content, as they are stored.
pub(super) async fn stored_links(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    hash: &[u8],
) -> mailwright_store::Result<Arc<Vec<Link>>> {
    let stored = link::of_content(rx, project, hash).await?;
    Ok(Arc::new(stored.as_ref().map(links_from_json).unwrap_or_default()))
}

//! Where the links of a mail lead, by their numbers.

use std::sync::Arc;

use mailwright_core::ids::ProjectNumber;
use mailwright_store::Rx;
use mailwright_store::feedback::link;
use serde_json::Value;

use super::tracked::{FOREIGN, LinkNumber};
use crate::sending::content::{Link, Prepared, links_from_json};

/// The links of a mail.
pub(super) struct MailLinks {
    /// Those of its content.
    pub(super) content: Arc<Vec<Link>>,
    /// The targets that its values made: an array of the number of a link and an address; null for the address of a
    /// link that the mail does not have.
    pub(super) own: Option<Value>,
}

impl MailLinks {
    /// How many different ones there are.
    pub(super) fn count(&self) -> usize {
        let fixed = self.content.iter().filter(|link| link.target.is_some()).count();
        let noted = || self.own.as_ref().and_then(Value::as_array).into_iter().flatten();
        let (own, missing) =
            (noted().filter(|one| !one[1].is_null()), noted().filter(|one| one[1].is_null()));
        (fixed + own.count()).saturating_sub(missing.count())
    }

    /// The number of the first link that leads to an address; that of links of nowhere else where none does.
    pub(super) fn number_of(&self, address: &str) -> u32 {
        let mut fixed = self.content.iter().enumerate();
        let fixed = fixed
            .find(|(n, link)| link.target.as_deref() == Some(address) && !self.is_missing(*n as u32))
            .map(|(n, _)| n);
        let own = || {
            let targets = self.own.as_ref()?.as_array()?;
            let place = targets.iter().position(|target| target[1] == address)?;
            let link = u32::try_from(targets[place][0].as_u64()?).ok()?;
            Some(LinkNumber { link, own: Some(place) })
        };
        let number = fixed.map(|link| LinkNumber { link: link as u32, own: None }).or_else(own);
        number.unwrap_or(LinkNumber { link: FOREIGN, own: None }).to_number()
    }

    /// Whether a link of the content stands in a part of it that the mail does not have.
    fn is_missing(&self, link: u32) -> bool {
        let noted = self.own.as_ref().and_then(Value::as_array).into_iter().flatten();
        noted.into_iter().any(|noted| noted[0] == link && noted[1].is_null())
    }

    /// Where a link leads; `None` where the mail has no such link.
    pub(super) fn target(&self, number: u32) -> Option<String> {
        let LinkNumber { link, own } = LinkNumber::of(number);
        match own {
            Some(place) => {
                let target = &self.own.as_ref()?[place];
                if target[0] == link { target[1].as_str().map(str::to_owned) } else { None }
            }
            None if self.is_missing(link) => None,
            None => self.content.get(link as usize)?.target.clone(),
        }
    }
}

/// Where links with these numbers lead of a mail that is rendered and not stored. `own` are the targets that its values
/// made, as JSON text.
pub(crate) fn led_to_unstored(
    content: &Prepared,
    own: Option<&str>,
    numbers: &[Option<u32>],
) -> Vec<Option<String>> {
    let own = own.and_then(|own| serde_json::from_str(own).ok());
    let links = MailLinks { content: Arc::new(content.links.all.clone()), own };
    numbers.iter().map(|number| links.target((*number)?)).collect()
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

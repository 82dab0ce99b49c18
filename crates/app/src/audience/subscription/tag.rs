//! The tags in the links of mails.

use mailwright_core::ids::{ContactId, ProjectNumber};

use crate::App;
use crate::error::Result;

/// Purpose under which the tags of links are derived.
const PURPOSE: &str = "recipient";
/// Bytes of a tag.
pub(crate) const TAG: usize = 16;

/// The content of a tag that is valid for its contact.
pub(super) struct Tagged {
    pub(super) project: Option<ProjectNumber>,
}

impl App {
    /// The tag for links in mails to a contact: a signature of the contact's id, then the number of its project, masked
    /// so that only the service can read it.
    pub(crate) fn link_tag(&self, project: ProjectNumber, id: ContactId) -> Result<String> {
        let signature = self.0.secret.sign(PURPOSE, id.as_uuid().as_bytes())?;
        let (tag, mask) = signature.split_at(TAG);
        Ok(hex::encode([tag, &masked(project.0.to_be_bytes(), mask)].concat()))
    }

    /// Reads a tag; `None` when it is not that of the contact. The time taken tells nothing of the right one.
    pub(super) fn read_tag(&self, id: ContactId, given: &str) -> Option<Tagged> {
        let signature = self.0.secret.sign(PURPOSE, id.as_uuid().as_bytes()).ok()?;
        let (right, mask) = signature.split_at(TAG);
        let given = hex::decode(given).ok()?;
        let (tag, number) = given.split_at_checked(TAG)?;
        let differs = right.iter().zip(tag).fold(0, |all, (a, b)| all | (a ^ b));
        let project = <[u8; 8]>::try_from(number).ok();
        let project = project.map(|number| ProjectNumber(i64::from_be_bytes(masked(number, mask))));
        // tags made by earlier versions name no project
        (differs == 0 && (project.is_some() || number.is_empty())).then_some(Tagged { project })
    }
}

/// A project's number, hidden or shown by a mask.
pub(crate) fn masked(mut number: [u8; 8], mask: &[u8]) -> [u8; 8] {
    number.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    number
}

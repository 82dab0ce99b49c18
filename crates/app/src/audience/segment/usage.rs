//! Which segments refer to a field or an event.

use mailwright_core::filter::References;
use mailwright_core::project::Project;
use mailwright_core::segment::{Segment, SegmentType};
use mailwright_store::audience::segment as store;

use crate::App;
use crate::error::Result;

impl App {
    /// The segments whose condition looks at a field: `email`, `data.plan`.
    pub async fn segments_with_field(&self, project: &Project, field: &str) -> Result<Vec<Segment>> {
        self.segments_referring(project, |references| references.fields.contains(field)).await
    }

    /// The segments whose condition looks at events of a name.
    pub async fn segments_with_event(&self, project: &Project, name: &str) -> Result<Vec<Segment>> {
        self.segments_referring(project, |references| references.events.contains(name)).await
    }

    async fn segments_referring(
        &self,
        project: &Project,
        does: impl Fn(&References) -> bool,
    ) -> Result<Vec<Segment>> {
        let mut segments = self.segments(project).await?;
        segments.retain(|segment| {
            segment.kind == SegmentType::Dynamic
                && store::tree_of(segment).is_ok_and(|tree| does(&tree.references()))
        });
        Ok(segments)
    }
}

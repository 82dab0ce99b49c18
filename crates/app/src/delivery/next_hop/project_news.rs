//! What is to be told of single projects.

use mailwright_core::ids::ProjectNumber;

/// Most projects that lines are written about at a time.
const MOST_LINES: usize = 16;

/// What is to be told of single projects.
#[derive(Debug, Default)]
pub(super) struct News(pub(super) Vec<(ProjectNumber, Line, String)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Line {
    Slowed,
    Held,
}

impl News {
    /// A project is slowed down.
    pub(super) fn slowed(&mut self, project: ProjectNumber, codes: String) {
        self.add(project, Line::Slowed, codes);
    }

    /// Mail of a project waits.
    pub(super) fn held(&mut self, project: ProjectNumber, codes: String) {
        self.add(project, Line::Held, codes);
    }

    fn add(&mut self, project: ProjectNumber, line: Line, codes: String) {
        if self.0.len() < MOST_LINES {
            self.0.push((project, line, codes));
        }
    }
}

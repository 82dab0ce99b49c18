//! Rows of several projects, project by project: where the tables are divided by project, a statement for all of them
//! would go to every server.

use std::collections::BTreeMap;

use crate::database::value::Arg;

/// The arguments of a statement whose rows begin with their project, for each of the projects: the project, and the rows
/// of it in the columns that follow. Columns that are as long as the first are rows, as elsewhere
/// ([`Tx::each`](super::Tx::each)).
pub(super) fn by_project<'a>(args: &'a [Arg<'_>]) -> Vec<Vec<Arg<'a>>> {
    let Some((Arg::Ints(projects), others)) = args.split_first() else { return Vec::new() };
    let mut rows: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (row, project) in projects.iter().enumerate() {
        // a row without a project is nobody's
        if let Some(project) = project {
            rows.entry(*project).or_default().push(row);
        }
    }
    let of_project = |(project, rows): (i64, Vec<usize>)| {
        let first = std::iter::once(Arg::Int(project));
        first.chain(others.iter().map(|arg| arg.of_rows(&rows))).collect()
    };
    rows.into_iter().map(of_project).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_project_has_its_rows() {
        let args = [
            Arg::Ints(vec![Some(2), Some(1), Some(2)]),
            Arg::Texts(vec![Some("a".into()), None, Some("c".into())]),
            Arg::Int(7),
        ];
        let parts = format!("{:?}", by_project(&args));
        assert_eq!(
            parts,
            "[[Int(1), Texts([None]), Int(7)], [Int(2), Texts([Some(\"a\"), Some(\"c\")]), Int(7)]]"
        );
    }
}

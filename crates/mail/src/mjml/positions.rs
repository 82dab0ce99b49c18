//! Where what stands in a changed text stood before.

/// The places of a text that was made from another one piece by piece.
#[derive(Debug, Default)]
pub(super) struct Positions {
    /// Where pieces begin, in the text that was made and in the one it was made from.
    pieces: Vec<(usize, usize)>,
}

impl Positions {
    /// Notes that a piece which begins at `made` was made from what stands at `source`.
    pub(super) fn note(&mut self, made: usize, source: usize) {
        self.pieces.push((made, source));
    }

    /// Where what stands at `made` stood before. In a piece that was written anew it is where that began, or soon
    /// after.
    pub(super) fn source(&self, made: usize) -> usize {
        let next = self.pieces.partition_point(|(begin, _)| *begin <= made);
        let Some((begin, source)) = next.checked_sub(1).map(|at| self.pieces[at]) else { return made };
        let end = self.pieces.get(next).map_or(usize::MAX, |(_, source)| *source);
        (source + (made - begin)).min(end)
    }
}

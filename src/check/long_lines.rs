//! Long lines that many refs name: all their boundaries are looked for in one pass.

use super::pages::{Documents, Pages};
use crate::limits::{LONG_LINE_BYTES, MANY_BOUNDARIES};
use crate::model::{Annotation, Boundary, Session};
use crate::text::{Occurrence, find_each_once};
use std::collections::HashMap;

/// The boundaries of a record that were looked for together.
#[derive(Default)]
pub(super) struct LongLines {
    /// By the number of the ref, the start and the end.
    known: HashMap<usize, [Option<Occurrence>; 2]>,
}

/// A boundary on a long line. Sorting brings those on one line together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    document: u32,
    line: i64,
    number: usize,
    side: usize,
}

impl LongLines {
    /// What is known of the start and the end of ref `number`.
    #[inline]
    pub(super) fn known(&self, number: usize) -> [Option<Occurrence>; 2] {
        if self.known.is_empty() { [None; 2] } else { self.known.get(&number).copied().unwrap_or_default() }
    }

    /// Looks for the boundaries of all refs, whose documents are `targets`, on lines that are long and
    /// named often.
    pub(super) fn find(
        &mut self,
        session: &Session<'_>,
        documents: Documents<'_>,
        pages: &Pages,
        targets: &[Option<u32>],
    ) {
        self.known.clear();
        if targets.len() < MANY_BOUNDARIES / 2 || !pages.have_long_lines() {
            return;
        }
        let refs: Vec<[Boundary<'_>; 2]> =
            session.annotations.iter().flat_map(|annotation| boundaries(session, annotation)).collect();
        let mut wanted = Vec::new();
        for (number, (boundaries, target)) in refs.iter().zip(targets).enumerate() {
            let Some(document) = *target else { continue };
            let page = pages.page(documents, document);
            for (side, boundary) in boundaries.iter().enumerate() {
                let Some(line) = boundary.line.small() else { continue };
                if page.with_line(line, |_, range, _| range.len() >= LONG_LINE_BYTES) == Some(true) {
                    wanted.push(Wanted { document, line, number, side });
                }
            }
        }
        wanted.sort_unstable();
        for group in wanted.chunk_by(|a, b| (a.document, a.line) == (b.document, b.line)) {
            if group.len() >= MANY_BOUNDARIES {
                self.find_group(documents, pages, &refs, group);
            }
        }
    }

    fn find_group(
        &mut self,
        documents: Documents<'_>,
        pages: &Pages,
        refs: &[[Boundary<'_>; 2]],
        group: &[Wanted],
    ) {
        let Some(Wanted { document, line, .. }) = group.first().copied() else { return };
        let page = pages.page(documents, document);
        let needle = |wanted: &Wanted| refs[wanted.number][wanted.side].str.as_bytes();
        let needles: Vec<&[u8]> = group.iter().map(needle).collect();
        let found = page.with_line(line, |text, range, _| find_each_once(&text[range], &needles));
        for (wanted, occurrence) in group.iter().zip(found.unwrap_or_default()) {
            self.known.entry(wanted.number).or_default()[wanted.side] = Some(occurrence);
        }
    }
}

/// The boundaries of an annotation's refs, in the record's order.
fn boundaries<'s, 'r>(
    session: &'s Session<'r>,
    annotation: &'s Annotation<'r>,
) -> impl Iterator<Item = [Boundary<'r>; 2]> + 's {
    let sources = session.sources_of(annotation).iter().map(|source| &source.reference);
    std::iter::once(&annotation.claim).chain(sources).map(|reference| [reference.start, reference.end])
}

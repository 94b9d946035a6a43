//! Columns of places on a line, in code points.

use crate::limits::LONG_LINE_BYTES;
use crate::resolve::Page;
use std::collections::HashMap;

/// Counts code points before a place. Long lines that are asked for often are counted once: at every
/// [`LONG_LINE_BYTES`] how many code points stand before.
#[derive(Default)]
pub(super) struct Columns {
    long: HashMap<(u32, i64), Vec<u64>>,
}

impl Columns {
    pub(super) fn reset(&mut self) {
        self.long.clear();
    }

    /// The columns, from 1, of two places on a line of a document.
    pub(super) fn of(&mut self, document: u32, page: Page<'_>, line: i64, places: [usize; 2]) -> [u64; 2] {
        let columns = page.with_line(line, |text, range, start| {
            let text = &text[range];
            let mut column = |at: usize| 1 + self.before(document, line, text, at);
            places.map(|place| column(place - start))
        });
        columns.unwrap_or_default()
    }

    fn before(&mut self, document: u32, line: i64, text: &[u8], at: usize) -> u64 {
        if text.len() < LONG_LINE_BYTES {
            return count(&text[..at]);
        }
        let counts = self.long.entry((document, line)).or_insert_with(|| {
            let blocks = text.chunks(LONG_LINE_BYTES).scan(0, |before, block| {
                let here = *before;
                *before += count(block);
                Some(here)
            });
            blocks.collect()
        });
        let block = at / LONG_LINE_BYTES;
        counts.get(block).copied().unwrap_or(0) + count(&text[block * LONG_LINE_BYTES..at])
    }
}

/// Code points that begin in a part of a text.
fn count(part: &[u8]) -> u64 {
    part.iter().filter(|byte| (**byte as i8) >= -64).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::LineIndex;
    use proptest::prelude::*;

    proptest! {
        /// The naive twin: count from the line's start.
        #[test]
        fn agree_with_their_naive_twin(unit in "[aé的😀]{1,7}", times in 1usize..900, share in 0.0f64..1.0) {
            let text = format!("x\n{}", unit.repeat(times));
            let index = LineIndex::new(&text);
            let mut at = 2 + ((text.len() - 2) as f64 * share) as usize;
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let mut columns = Columns::default();
            let naive = text[2..at].chars().count() as u64 + 1;
            for _ in 0..2 {
                prop_assert_eq!(columns.of(0, Page::Text(text.as_bytes(), &index), 2, [at, 2]), [naive, 1]);
            }
        }
    }
}

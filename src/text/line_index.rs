//! Where the lines of a document begin. Lines end at LF (0x0A) and at nothing else (contract,
//! section 4): not at CR, U+0085, U+2028, VT or FF.

use std::ops::Range;

/// The starts of a text's LF lines, in bytes.
///
/// A text with n LFs has n + 1 lines: `""` has one, `"a\n"` has two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineIndex {
    starts: Vec<u32>,
    bytes: u32,
}

impl LineIndex {
    /// The index of `text`, which is shorter than 4 GiB.
    pub fn new(text: &str) -> Self {
        let mut index = Self::default();
        index.rebuild(text);
        index
    }

    /// Makes this the index of `text`, keeping its memory.
    pub fn rebuild(&mut self, text: &str) {
        let starts = self.begin();
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at as u32 + 1));
        self.end(text.len());
    }

    /// Begins the index of another text; where each line but the first begins is to be added.
    pub(super) fn begin(&mut self) -> &mut Vec<u32> {
        self.starts.clear();
        self.starts.push(0);
        &mut self.starts
    }

    /// Ends what [`LineIndex::begin`] began, with the text's length.
    pub(super) fn end(&mut self, bytes: usize) {
        self.bytes = bytes as u32;
    }

    /// How many lines the text has; at least 1.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether the index has been built for no text yet.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The bytes of line `number` (from 1) without its LF; `None` where there is no such line.
    pub fn line(&self, number: i64) -> Option<Range<usize>> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        let start = *self.starts.get(index)? as usize;
        let end = match self.starts.get(index + 1) {
            Some(next) => *next as usize - 1,
            None => self.bytes as usize,
        };
        Some(start..end)
    }

    /// Bytes of the longest line, without its LF.
    pub(crate) fn longest(&self) -> usize {
        let ends = self.starts.iter().skip(1).map(|next| next - 1).chain([self.bytes]);
        self.starts.iter().zip(ends).map(|(start, end)| end - start).max().unwrap_or(0) as usize
    }

    /// The number (from 1) of the line that holds byte `at`; an LF belongs to the line that it ends.
    pub fn line_of(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start as usize <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The naive twin: split on LF and count.
    fn naive(text: &str) -> Vec<Range<usize>> {
        let mut at = 0;
        text.split('\n')
            .map(|line| {
                let range = at..at + line.len();
                at += line.len() + 1;
                range
            })
            .collect()
    }

    #[test]
    fn only_lf_ends_a_line() {
        assert_eq!(LineIndex::new("").len(), 1);
        assert_eq!(LineIndex::new("a\n").len(), 2);
        assert_eq!(LineIndex::new("a\r\u{b}\u{c}\u{85}\u{2028}\u{2029}b").len(), 1);
        assert_eq!(LineIndex::new("a\r\nb").line(1), Some(0..2));
    }

    #[test]
    fn lines_that_do_not_exist() {
        let index = LineIndex::new("a\nb");
        for number in [i64::MIN, -1, 0, 3, i64::MAX] {
            assert_eq!(index.line(number), None, "{number}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_its_naive_twin(text in "[ab\\n\\r\u{85}é😀]{0,40}") {
            let index = LineIndex::new(&text);
            let lines = naive(&text);
            prop_assert_eq!(index.len(), lines.len());
            prop_assert_eq!(Some(index.longest()), lines.iter().map(ExactSizeIterator::len).max());
            for (i, range) in lines.iter().enumerate() {
                prop_assert_eq!(index.line(i as i64 + 1), Some(range.clone()));
                for at in range.start..=range.end {
                    prop_assert_eq!(index.line_of(at), i + 1);
                }
            }
        }
    }
}

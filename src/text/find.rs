//! Does a string occur exactly once on a line? Occurrences may overlap: `aa` occurs twice in `aaa`.

use super::block::{Block, WINDOW, Window, low_bits};
use crate::limits::SHORT_LINE_BYTES;
use memchr::memmem;
use std::ops::Range;

/// How often a string occurs on a line, and where, in bytes from the line's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// Nowhere.
    None,
    /// Exactly once, at this byte.
    Once(usize),
    /// More than once; the first two.
    Many(usize, usize),
}

/// Finds out whether `needle` occurs exactly once in `line`, comparing bytes.
///
/// Both are UTF-8 text, so that equal bytes are equal code points. An empty needle occurs nowhere:
/// the contract has a code of its own for it. Takes time in proportion to the line's length,
/// whatever the two hold.
pub fn find_once(line: &[u8], needle: &[u8]) -> Occurrence {
    find_once_on(line, 0..line.len(), needle)
}

/// The same on the line that stands at `line` in `text`. What follows the line may be read, which spares
/// a short line a copy.
#[inline]
pub(crate) fn find_once_on(text: &[u8], line: Range<usize>, needle: &[u8]) -> Occurrence {
    if needle.is_empty() || needle.len() > line.len() {
        return Occurrence::None;
    }
    if line.len() <= SHORT_LINE_BYTES
        && let Some(found) = find_once_short(text, line.clone(), needle)
    {
        return found;
    }
    let line = &text[line];
    let finder = memmem::Finder::new(needle);
    let Some(first) = finder.find(line) else { return Occurrence::None };
    // From one byte after the first hit, so that overlaps count.
    match finder.find(&line[first + 1..]) {
        None => Occurrence::Once(first),
        Some(after) => Occurrence::Many(first, first + 1 + after),
    }
}

/// For short lines, where setting up a searcher costs more than searching: a place is compared in
/// full only where the needle's first two bytes and its last byte fit, 64 places at a time. Gives up
/// (`None`) when places fit so often that the work is no longer linear.
#[inline]
fn find_once_short(text: &[u8], line: Range<usize>, needle: &[u8]) -> Option<Occurrence> {
    let last = needle.len() - 1;
    let marks = [0, last.min(1), last].map(|at| (at, Block::each(needle[at])));
    let places = line.len() - last;
    let mut search = Search::new(text, line, needle);
    let mut at = 0;
    loop {
        let fits = marks
            .map(|(mark, byte)| Window::at(text, search.start + at + mark).bits(|block| block.equals(byte)));
        let fits = fits[0] & fits[1] & fits[2] & low_bits(places - at);
        if fits != 0 && search.compare(at, fits) {
            break;
        }
        at += WINDOW;
        if at >= places {
            break;
        }
    }
    search.result()
}

/// A search that is under way.
struct Search<'s> {
    text: &'s [u8],
    /// Where the line begins.
    start: usize,
    needle: &'s [u8],
    /// The needle's first bytes, as far as a word holds them, and which bits of the word they are.
    head: u64,
    head_bits: u64,
    /// Bytes that may still be compared.
    budget: Option<usize>,
    first: Option<usize>,
    second: Option<usize>,
}

/// Bytes that are compared as one.
const WORD: usize = 8;

impl<'s> Search<'s> {
    #[inline]
    fn new(text: &'s [u8], line: Range<usize>, needle: &'s [u8]) -> Self {
        let (head, head_bits) = match needle.first_chunk() {
            Some(head) => (u64::from_le_bytes(*head), u64::MAX),
            None => {
                let head = needle.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
                (head, low_bits(8 * needle.len()))
            }
        };
        let budget = Some(8 * line.len() + SHORT_LINE_BYTES);
        Self { text, start: line.start, needle, head, head_bits, budget, first: None, second: None }
    }

    /// Compares at the places after `at` whose bit is set; true where nothing is left to find.
    #[inline]
    fn compare(&mut self, at: usize, mut fits: u64) -> bool {
        while fits != 0 {
            let place = at + fits.trailing_zeros() as usize;
            fits &= fits - 1;
            self.budget = self.budget.and_then(|budget| budget.checked_sub(self.needle.len()));
            if self.budget.is_none() {
                return true;
            }
            if !self.is_at(place) {
                continue;
            }
            if self.first.is_some() {
                self.second = Some(place);
                return true;
            }
            self.first = Some(place);
        }
        false
    }

    /// Whether the needle stands at `place`, where there is room for it and three of its bytes fit.
    #[inline]
    fn is_at(&self, place: usize) -> bool {
        if self.needle.len() <= 3 {
            return true;
        }
        let rest = &self.text[self.start + place..];
        match rest.first_chunk() {
            Some(word) if (u64::from_le_bytes(*word) ^ self.head) & self.head_bits != 0 => false,
            Some(_) if self.needle.len() <= WORD => true,
            _ => rest.starts_with(self.needle),
        }
    }

    #[inline]
    fn result(&self) -> Option<Occurrence> {
        self.budget?;
        Some(match (self.first, self.second) {
            (None, _) => Occurrence::None,
            (Some(first), None) => Occurrence::Once(first),
            (Some(first), Some(second)) => Occurrence::Many(first, second),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The naive twin: try every position.
    fn naive(line: &[u8], needle: &[u8]) -> Occurrence {
        if needle.is_empty() {
            return Occurrence::None;
        }
        let mut hits = (0..line.len()).filter(|&i| line[i..].starts_with(needle));
        match (hits.next(), hits.next()) {
            (None, _) => Occurrence::None,
            (Some(first), None) => Occurrence::Once(first),
            (Some(first), Some(second)) => Occurrence::Many(first, second),
        }
    }

    #[test]
    fn overlaps_count() {
        assert_eq!(find_once(b"aaa", b"aa"), Occurrence::Many(0, 1));
        assert_eq!(find_once(b"aa", b"aa"), Occurrence::Once(0));
        assert_eq!(find_once("a\u{301}a".as_bytes(), b"a"), Occurrence::Many(0, 3));
    }

    #[test]
    fn long_and_hostile_lines_stay_exact() {
        for n in [SHORT_LINE_BYTES - 1, SHORT_LINE_BYTES, SHORT_LINE_BYTES + 1, 3 * SHORT_LINE_BYTES] {
            let line = vec![b'a'; n];
            let mut needle = vec![b'a'; n / 2];
            needle[n / 4] = b'b';
            assert_eq!(find_once(&line, &needle), Occurrence::None, "{n}");
            assert_eq!(find_once(&line, &line[..n - 1]), Occurrence::Many(0, 1), "{n}");
            assert_eq!(find_once(&line, &line), Occurrence::Once(0), "{n}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        /// What stands around the line changes nothing.
        #[test]
        fn only_the_line_is_searched(text in "[ab\0]{0,300}", from in 0usize..300, len in 0usize..150, needle in "[ab\0]{1,4}") {
            let from = from.min(text.len());
            let line = from..(from + len).min(text.len());
            let found = find_once_on(text.as_bytes(), line.clone(), needle.as_bytes());
            prop_assert_eq!(found, naive(&text.as_bytes()[line], needle.as_bytes()));
        }

        #[test]
        fn agrees_with_its_naive_twin(line in "[ab]{0,200}", needle in "[ab]{0,6}") {
            prop_assert_eq!(find_once(line.as_bytes(), needle.as_bytes()), naive(line.as_bytes(), needle.as_bytes()));
        }

        #[test]
        fn agrees_on_needles_cut_from_the_line(line in "[abcé 的😀]{1,120}", from in 0usize..120, len in 1usize..20) {
            let needle: String = line.chars().skip(from).take(len).collect();
            prop_assert_eq!(find_once(line.as_bytes(), needle.as_bytes()), naive(line.as_bytes(), needle.as_bytes()));
        }
    }
}

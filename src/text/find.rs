//! Does a string occur exactly once on a line? Occurrences may overlap: `aa` occurs twice in `aaa`.

use super::block::{WINDOW, Window, low_bits};
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
    let Some(padded) = text.get(line.start..line.end + WINDOW) else {
        return find_in_copy(&text[line], needle);
    };
    let last = needle.len() - 1;
    let (places, second) = (line.len() - last, last.min(1));
    let (head, head_bits) = head(needle);
    let mut budget = 8 * line.len() + SHORT_LINE_BYTES;
    let mut first = None;
    for at in (0..places).step_by(WINDOW) {
        let fits = bits_at(padded, at, needle[0])
            & bits_at(padded, at + second, needle[second])
            & bits_at(padded, at + last, needle[last]);
        let mut fits = fits & low_bits(places - at);
        while fits != 0 {
            let place = at + fits.trailing_zeros() as usize;
            fits &= fits - 1;
            // Of three bytes or fewer all were compared.
            if needle.len() > 3 {
                budget = budget.checked_sub(needle.len())?;
                let here = u64::from_le_bytes(*padded[place..].first_chunk()?);
                let is_here = (here ^ head) & head_bits == 0
                    && (needle.len() <= WORD || padded[place..].starts_with(needle));
                if !is_here {
                    continue;
                }
            }
            match first {
                None => first = Some(place),
                Some(first) => return Some(Occurrence::Many(first, place)),
            }
        }
    }
    Some(first.map_or(Occurrence::None, Occurrence::Once))
}

/// The same on a line after which its text ends too soon.
#[cold]
fn find_in_copy(line: &[u8], needle: &[u8]) -> Option<Occurrence> {
    let mut copy = Vec::with_capacity(line.len() + WINDOW);
    copy.extend_from_slice(line);
    copy.resize(line.len() + WINDOW, 0);
    find_once_short(&copy, 0..line.len(), needle)
}

/// A bit for each of the 64 bytes from `at` on that is `byte`.
#[inline(always)]
fn bits_at(text: &[u8], at: usize, byte: u8) -> u64 {
    text[at..].first_chunk().map_or(0, |bytes| Window::new(bytes).bits(|block| block.is(byte)))
}

/// Bytes that are compared as one.
const WORD: usize = 8;

/// The needle's first bytes, as far as a word holds them, and which bits of the word they are.
#[inline]
fn head(needle: &[u8]) -> (u64, u64) {
    match needle.first_chunk() {
        Some(head) => (u64::from_le_bytes(*head), u64::MAX),
        None => {
            let head = needle.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            (head, low_bits(8 * needle.len()))
        }
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

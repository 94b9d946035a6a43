//! Does a string occur exactly once on a line? Occurrences may overlap: `aa` occurs twice in `aaa`.

use super::simd::{Simd, WINDOW, Window, Work, low_bits, run};
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
#[inline(always)]
pub(crate) fn find_once_on(text: &[u8], line: Range<usize>, needle: &[u8]) -> Occurrence {
    if needle.is_empty() || needle.len() > line.len() {
        return Occurrence::None;
    }
    if line.len() <= SHORT_LINE_BYTES
        && let Some(found) = find_once_short(text, line.clone(), needle)
    {
        return found;
    }
    find_once_long(&text[line], needle)
}

#[inline(never)]
fn find_once_long(line: &[u8], needle: &[u8]) -> Occurrence {
    let finder = memmem::Finder::new(needle);
    let Some(first) = finder.find(line) else { return Occurrence::None };
    // From one byte after the first hit, so that overlaps count.
    match finder.find(&line[first + 1..]) {
        None => Occurrence::Once(first),
        Some(after) => Occurrence::Many(first, first + 1 + after),
    }
}

/// For short lines, where setting up a searcher costs more than searching. Gives up (`None`) when places
/// fit so often that the work is no longer linear.
#[inline(always)]
fn find_once_short(text: &[u8], line: Range<usize>, needle: &[u8]) -> Option<Occurrence> {
    match text.get(line.start..line.end + WINDOW) {
        Some(padded) => run(ShortSearch { padded, line: line.len(), needle }),
        None => find_in_copy(&text[line], needle),
    }
}

/// The same on a line after which its text ends too soon.
#[cold]
fn find_in_copy(line: &[u8], needle: &[u8]) -> Option<Occurrence> {
    let mut copy = Vec::with_capacity(line.len() + WINDOW);
    copy.extend_from_slice(line);
    copy.resize(line.len() + WINDOW, 0);
    find_once_short(&copy, 0..line.len(), needle)
}

/// A place is compared in full only where the needle's first two bytes and its last byte fit, 64 places
/// at a time.
struct ShortSearch<'s> {
    /// The line, and a window more.
    padded: &'s [u8],
    /// The line's length.
    line: usize,
    needle: &'s [u8],
}

impl Work for ShortSearch<'_> {
    type Output = Option<Occurrence>;

    #[inline(always)]
    fn work<S: Simd>(self, simd: S) -> Option<Occurrence> {
        let Self { padded, line, needle } = self;
        let last = needle.len() - 1;
        let (places, second) = (line - last, last.min(1));
        let mut budget = 8 * line + SHORT_LINE_BYTES;
        let mut first = None;
        for at in (0..places).step_by(WINDOW) {
            let is =
                |mark: usize| Some(Window::new(simd, padded[at + mark..].first_chunk()?).is(needle[mark]));
            let mut fits = (is(0)? & is(second)? & is(last)?).bits() & low_bits(places - at);
            while fits != 0 {
                let place = at + fits.trailing_zeros() as usize;
                fits &= fits - 1;
                // Of three bytes or fewer all were compared.
                if needle.len() > 3 {
                    budget = budget.checked_sub(needle.len())?;
                    if !stands_at(&padded[place..], needle) {
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
}

/// Whether a text begins with a needle of four bytes or more. Short ones are compared as two words that
/// may overlap.
#[inline(always)]
fn stands_at(text: &[u8], needle: &[u8]) -> bool {
    if let (Some(here), Some(head)) = (text.first_chunk::<8>(), needle.first_chunk::<8>()) {
        return here == head && (needle.len() == 8 || text.starts_with(needle));
    }
    let last = needle.len() - 4;
    let ends = [0, last].map(|at| text[at..].first_chunk::<4>() == needle[at..].first_chunk::<4>());
    ends[0] && ends[1]
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

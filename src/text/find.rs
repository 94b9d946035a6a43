//! Does a string occur exactly once on a line? Occurrences may overlap: `aa` occurs twice in `aaa`.

use crate::limits::SHORT_LINE_BYTES;
use memchr::{memchr, memmem};

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

/// Positions that are compared at a time: two vectors of the smallest kind that every machine has.
const BLOCK: usize = 32;

/// Finds out whether `needle` occurs exactly once in `line`, comparing bytes.
///
/// Both are UTF-8 text, so that equal bytes are equal code points. An empty needle occurs nowhere:
/// the contract has a code of its own for it. Takes time in proportion to the line's length,
/// whatever the two hold.
pub fn find_once(line: &[u8], needle: &[u8]) -> Occurrence {
    if needle.is_empty() || needle.len() > line.len() {
        return Occurrence::None;
    }
    if needle.len() == 1 {
        return with(line, 1, |rest| memchr(needle[0], rest));
    }
    if line.len() <= SHORT_LINE_BYTES
        && let Some(found) = find_once_short(line, needle)
    {
        return found;
    }
    let finder = memmem::Finder::new(needle);
    with(line, needle.len(), |rest| finder.find(rest))
}

/// Looks twice, the second time from one byte after the first hit, so that overlaps count.
fn with(line: &[u8], len: usize, find: impl Fn(&[u8]) -> Option<usize>) -> Occurrence {
    let Some(first) = find(line) else { return Occurrence::None };
    if line.len() - first == len {
        return Occurrence::Once(first);
    }
    match find(&line[first + 1..]) {
        None => Occurrence::Once(first),
        Some(after) => Occurrence::Many(first, first + 1 + after),
    }
}

/// For short lines, where setting up a searcher costs more than searching: a position is compared
/// in full only where the needle's first and last byte both fit. Gives up (`None`) when that
/// happens so often that the work is no longer linear.
fn find_once_short(line: &[u8], needle: &[u8]) -> Option<Occurrence> {
    let (first, last) = (needle[0], needle[needle.len() - 1]);
    let heads = &line[..=line.len() - needle.len()];
    let tails = &line[needle.len() - 1..];
    let mut budget = 8 * line.len() + SHORT_LINE_BYTES;
    let mut hit = None;
    let mut at = 0;
    while at < heads.len() {
        let end = (at + BLOCK).min(heads.len());
        let (head, tail) = (&heads[at..end], &tails[at..end]);
        if fits_somewhere(head, tail, first, last) {
            for i in (at..end).filter(|&i| heads[i] == first && tails[i] == last) {
                budget = budget.checked_sub(needle.len())?;
                if line[i..i + needle.len()] != *needle {
                    continue;
                }
                match hit {
                    None => hit = Some(i),
                    Some(before) => return Some(Occurrence::Many(before, i)),
                }
            }
        }
        at = end;
    }
    Some(hit.map_or(Occurrence::None, Occurrence::Once))
}

/// Whether any position of the block begins with `first` and ends with `last`. Written so that the
/// compiler makes vector code of it.
fn fits_somewhere(heads: &[u8], tails: &[u8], first: u8, last: u8) -> bool {
    let fits = |h: &u8, t: &u8| u8::from(*h == first) & u8::from(*t == last);
    if let (Ok(heads), Ok(tails)) = (<&[u8; BLOCK]>::try_from(heads), <&[u8; BLOCK]>::try_from(tails)) {
        return heads.iter().zip(tails).fold(0, |any, (h, t)| any | fits(h, t)) != 0;
    }
    heads.iter().zip(tails).fold(0, |any, (h, t)| any | fits(h, t)) != 0
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

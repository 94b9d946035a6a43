//! Does a string occur exactly once on a line? Occurrences may overlap: `aa` occurs twice in `aaa`.

use crate::limits::SHORT_LINE_BYTES;
use memchr::memmem;

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
    if needle.is_empty() || needle.len() > line.len() {
        return Occurrence::None;
    }
    if line.len() <= SHORT_LINE_BYTES
        && let Some(found) = find_once_short(line, needle)
    {
        return found;
    }
    let finder = memmem::Finder::new(needle);
    let Some(first) = finder.find(line) else { return Occurrence::None };
    // From one byte after the first hit, so that overlaps count.
    match finder.find(&line[first + 1..]) {
        None => Occurrence::Once(first),
        Some(after) => Occurrence::Many(first, first + 1 + after),
    }
}

/// For short lines, where setting up a searcher costs more than searching: a place is compared in
/// full only where the needle's first and last byte both fit. Gives up (`None`) when that happens so
/// often that the work is no longer linear.
fn find_once_short(line: &[u8], needle: &[u8]) -> Option<Occurrence> {
    let mut search = Search { line, needle, budget: 8 * line.len() + SHORT_LINE_BYTES, first: None };
    let (first, last) = (needle[0], needle[needle.len() - 1]);
    let (heads, tails) = (&line[..=line.len() - needle.len()], &line[needle.len() - 1..]);
    let (head_words, rest) = heads.as_chunks::<WORD>();
    let (tail_words, _) = tails.as_chunks::<WORD>();
    for (i, (head, tail)) in head_words.iter().zip(tail_words).enumerate() {
        if let Some(second) = search.compare_all(i * WORD, fitting(*head, *tail, first, last))? {
            return Some(second);
        }
    }
    if let (false, Some(head), Some(tail)) = (rest.is_empty(), heads.last_chunk(), tails.last_chunk()) {
        // The word that ends with the last place, without the places that were looked at before.
        let looked_at = 8 * (WORD - rest.len());
        let fits = fitting(*head, *tail, first, last) >> looked_at << looked_at;
        if let Some(second) = search.compare_all(heads.len() - WORD, fits)? {
            return Some(second);
        }
    } else {
        for at in (0..rest.len()).filter(|at| heads[*at] == first && tails[*at] == last) {
            if let Some(second) = search.compare(at)? {
                return Some(second);
            }
        }
    }
    Some(search.first.map_or(Occurrence::None, Occurrence::Once))
}

/// Places that are compared at a time.
const WORD: usize = 8;

/// The places of a word that begin with `first` and end with `last`, as the top bit of a byte each.
#[inline]
fn fitting(heads: [u8; WORD], tails: [u8; WORD], first: u8, last: u8) -> u64 {
    const LOW: u64 = u64::from_le_bytes([0x7f; WORD]);
    let each = |byte: u8| u64::from_le_bytes([byte; WORD]);
    // A byte is zero where both fit; adding 0x7f to its low bits carries into the top bit otherwise.
    let differ = (u64::from_le_bytes(heads) ^ each(first)) | (u64::from_le_bytes(tails) ^ each(last));
    !(((differ & LOW) + LOW) | differ | LOW)
}

/// A search that is under way.
struct Search<'s> {
    line: &'s [u8],
    needle: &'s [u8],
    /// Bytes that may still be compared.
    budget: usize,
    first: Option<usize>,
}

impl Search<'_> {
    /// Compares at each place of the word at `at` that fits.
    #[inline]
    fn compare_all(&mut self, at: usize, mut fits: u64) -> Option<Option<Occurrence>> {
        while fits != 0 {
            let found = self.compare(at + fits.trailing_zeros() as usize / 8)?;
            if found.is_some() {
                return Some(found);
            }
            fits &= fits - 1;
        }
        Some(None)
    }

    /// Compares at one place. `Some(Some(_))` at the second occurrence; `None` when the budget is
    /// used up.
    fn compare(&mut self, at: usize) -> Option<Option<Occurrence>> {
        self.budget = self.budget.checked_sub(self.needle.len())?;
        if self.line[at..at + self.needle.len()] != *self.needle {
            return Some(None);
        }
        match self.first {
            None => {
                self.first = Some(at);
                Some(None)
            }
            Some(first) => Some(Some(Occurrence::Many(first, at))),
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

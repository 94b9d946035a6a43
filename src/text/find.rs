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
/// full only where the needle's first and last byte both fit, eight places at a time. Gives up
/// (`None`) when places fit so often that the work is no longer linear.
fn find_once_short(line: &[u8], needle: &[u8]) -> Option<Occurrence> {
    let mut search = Search::new(line, needle);
    let (first, last) = (each(needle[0]), each(needle[needle.len() - 1]));
    let (heads, tails) = (&line[..=line.len() - needle.len()], &line[needle.len() - 1..]);
    let (head_words, rest) = heads.as_chunks::<WORD>();
    let (tail_words, _) = tails.as_chunks::<WORD>();
    let mut at = 0;
    for (head, tail) in head_words.iter().zip(tail_words) {
        let fits = zeros((word(head) ^ first) | (word(tail) ^ last));
        if fits != 0 && search.compare(at, fits) {
            return search.result();
        }
        at += WORD;
    }
    if !rest.is_empty() {
        let fits = match (heads.last_chunk(), tails.last_chunk()) {
            // The word that ends with the last place; places that were looked at are shifted out.
            (Some(head), Some(tail)) => {
                zeros((word(head) ^ first) | (word(tail) ^ last)) >> (8 * (WORD - rest.len()))
            }
            _ => fits_one_by_one(heads, tails, needle[0], needle[needle.len() - 1]),
        };
        search.compare(at, fits);
    }
    search.result()
}

/// Places that are looked at together.
const WORD: usize = 8;

fn word(bytes: &[u8; WORD]) -> u64 {
    u64::from_le_bytes(*bytes)
}

fn each(byte: u8) -> u64 {
    u64::from_le_bytes([byte; WORD])
}

/// The top bit of each byte that is zero. Adding 0x7f to the low bits of any other carries into it.
fn zeros(word: u64) -> u64 {
    const LOW: u64 = u64::from_le_bytes([0x7f; WORD]);
    !(((word & LOW) + LOW) | word | LOW)
}

/// The same for fewer places than a word holds.
fn fits_one_by_one(heads: &[u8], tails: &[u8], first: u8, last: u8) -> u64 {
    let fits = heads.iter().zip(tails).map(|(head, tail)| *head == first && *tail == last);
    fits.enumerate().fold(0, |all, (i, fits)| all | u64::from(fits) << (8 * i + 7))
}

/// A search that is under way.
struct Search<'s> {
    line: &'s [u8],
    needle: &'s [u8],
    /// Bytes that may still be compared.
    budget: Option<usize>,
    first: Option<usize>,
    second: Option<usize>,
}

impl<'s> Search<'s> {
    fn new(line: &'s [u8], needle: &'s [u8]) -> Self {
        Self { line, needle, budget: Some(8 * line.len() + SHORT_LINE_BYTES), first: None, second: None }
    }

    /// Compares at the places after `at` whose top bit is set; true where nothing is left to find.
    #[inline(never)]
    fn compare(&mut self, at: usize, mut fits: u64) -> bool {
        while fits != 0 {
            let place = at + fits.trailing_zeros() as usize / 8;
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

    /// Whether the needle stands at `place`. Short ones are compared as one word.
    fn is_at(&self, place: usize) -> bool {
        let rest = &self.line[place..];
        if let (Some(here), Some(needle)) = (rest.first_chunk(), self.needle.first_chunk())
            && word(here) != word(needle)
        {
            return false;
        }
        rest.starts_with(self.needle)
    }

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

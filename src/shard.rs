//! One part of a corpus that is checked in several, each on a machine of its own.

use crate::error::Error;
use std::fmt;

/// The part K of N. The inputs are laid end to end by their stored size and cut at ⌊total·k/N⌋ for k = 0
/// to N; a line belongs to the part that holds its first byte. What cannot be read from the middle, a
/// compressed input or one that is a single record, belongs to the part of its own first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u64,
    of: u64,
}

/// What a shard has of one input, in stored bytes: lines that begin at `from` or later, and before `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) from: u64,
    /// `None` up to its end, wherever that is.
    pub(crate) to: Option<u64>,
}

impl Cut {
    pub(crate) const WHOLE: Self = Self { from: 0, to: None };
}

impl Shard {
    /// Reads `K/N`, with K from 1 to N.
    ///
    /// # Errors
    /// Anything else; the message says how a shard is written.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let number = |part: &str| {
            let is_plain = part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse::<u64>().ok().filter(|number| is_plain && *number > 0)
        };
        let parts = text.split_once('/').and_then(|(k, n)| Some((number(k)?, number(n)?)));
        match parts {
            Some((number, of)) if number <= of => Ok(Self { number, of }),
            _ => Err(Error::setting(format!(
                "{text:?} is no shard; write K/N with K from 1 to N, such as 1/4 for the first of four parts"
            ))),
        }
    }

    /// K, from 1.
    pub fn number(self) -> u64 {
        self.number
    }

    /// N.
    pub fn of(self) -> u64 {
        self.of
    }

    /// Where it begins and ends among so many bytes.
    fn bounds(self, total: u64) -> (u64, u64) {
        // No more than the total, since k is no more than N.
        let cut = |k: u64| (u128::from(total) * u128::from(k) / u128::from(self.of)) as u64;
        (cut(self.number - 1), cut(self.number))
    }

    /// Bytes of inputs with these sizes between its ends.
    pub fn bytes(self, sizes: impl Iterator<Item = u64>) -> u64 {
        let (from, to) = self.bounds(sizes.sum());
        to - from
    }

    /// What it has of inputs with these sizes; `None` of those that it has nothing of. An empty input is the
    /// shard's that has the byte after it, or the last one's.
    pub(crate) fn cuts(self, sizes: &[u64]) -> Vec<Option<Cut>> {
        let total = sizes.iter().sum();
        let (from, to) = self.bounds(total);
        let mut begin = 0;
        let mut cuts = Vec::with_capacity(sizes.len());
        for size in sizes {
            let end = begin + size;
            let is_last_of_all = *size == 0 && begin == total && self.number == self.of;
            let has_some = from < to && begin < to && (end > from || (*size == 0 && begin >= from));
            let cut = || Cut { from: from.saturating_sub(begin), to: (end > to).then(|| to - begin) };
            cuts.push(if is_last_of_all { Some(Cut::WHOLE) } else { has_some.then(cut) });
            begin = end;
        }
        cuts
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_shard_is_written_k_of_n() {
        assert_eq!(Shard::parse("3/16").unwrap().to_string(), "3/16");
        for wrong in
            ["", "1", "/", "0/4", "5/4", "1/0", "+1/4", "1/4/2", "a/b", " 1/4", "1/99999999999999999999"]
        {
            let message = Shard::parse(wrong).unwrap_err().to_string();
            assert!(message.contains("K/N"), "{message}");
        }
    }

    fn shards(of: u64) -> impl Iterator<Item = Shard> {
        (1..=of).map(move |number| Shard { number, of })
    }

    #[test]
    fn an_empty_corpus_is_the_last_shards() {
        let cuts: Vec<_> = shards(3).map(|shard| shard.cuts(&[0, 0])).collect();
        assert_eq!(cuts, [vec![None; 2], vec![None; 2], vec![Some(Cut::WHOLE); 2]]);
    }

    #[test]
    fn sizes_are_beyond_what_a_product_holds() {
        let size = u64::MAX / 2;
        let last = Shard { number: 7, of: 7 }.cuts(&[size])[0].unwrap();
        assert_eq!(last, Cut { from: (u128::from(size) * 6 / 7) as u64, to: None });
    }

    #[test]
    fn a_shard_without_bytes_has_nothing_of_an_input_around_it() {
        let cuts: Vec<_> = shards(4).map(|shard| shard.cuts(&[2])[0]).collect();
        let cut = |from, to| Some(Cut { from, to });
        assert_eq!(cuts, [None, cut(0, Some(1)), None, cut(1, None)]);
    }

    proptest! {
        /// The naive twin: where each byte lies, byte by byte.
        #[test]
        fn every_byte_and_every_input_is_in_one_shard(
            sizes in proptest::collection::vec(0u64..9, 0..6),
            of in 1u64..9,
        ) {
            let total: u64 = sizes.iter().sum();
            let mut held = vec![Vec::new(); sizes.len()];
            for shard in shards(of) {
                let (from, to) = (total * (shard.number - 1) / of, total * shard.number / of);
                let mut begin = 0;
                for ((i, size), cut) in sizes.iter().enumerate().zip(shard.cuts(&sizes)) {
                    let bytes: Vec<u64> = (0..*size).filter(|at| (from..to).contains(&(begin + at))).collect();
                    match cut {
                        Some(cut) if *size > 0 => {
                            let until = cut.to.unwrap_or(*size);
                            prop_assert_eq!(&bytes, &(cut.from..until).collect::<Vec<u64>>());
                            prop_assert!(cut.from < until);
                        }
                        Some(cut) => prop_assert_eq!(cut, Cut::WHOLE),
                        None => prop_assert!(bytes.is_empty()),
                    }
                    held[i].extend(cut.filter(|cut| cut.from == 0).map(|_| shard.number));
                    begin += size;
                }
            }
            prop_assert!(held.iter().all(|shards| shards.len() == 1), "{held:?}");
        }
    }
}

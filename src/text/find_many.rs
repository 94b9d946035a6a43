//! The same question as `find_once`, for very many strings and one long line.
//!
//! A pass over the line per class of lengths looks up every window of the class's size by its hash.
//! That is fast on text and can be slow on lines and strings that repeat themselves, so its work is
//! on a budget; what is open when the budget is spent goes to an automaton, slower and steady.

use super::find::{Occurrence, find_once};
use crate::limits::{FIND_MANY_GROUP_BYTES, FIND_MANY_STEPS};
use std::collections::HashMap;

/// For each needle what `find_once(line, needle)` gives, in one go however many needles there are.
///
/// Takes time in proportion to the line's length and that of all needles together (and, where needles
/// have to be sorted, the logarithm of their number), whatever they hold.
pub(crate) fn find_each_once(line: &[u8], needles: &[&[u8]]) -> Vec<Occurrence> {
    let bounds =
        Bounds { steps: FIND_MANY_STEPS * line.len(), group: FIND_MANY_GROUP_BYTES.max(line.len() / 4) };
    find_each_within(line, needles, bounds)
}

/// What one part of a search may take.
#[derive(Clone, Copy)]
struct Bounds {
    /// Steps of the pass for one class.
    steps: usize,
    /// States of one automaton.
    group: usize,
}

/// Sizes of the classes: a needle is looked up by so many of its first bytes, the most that it has.
/// Strings in a text begin with the same 8 bytes so often that 12 are worth a pass of their own.
const SIZES: [usize; 8] = [1, 2, 4, 8, 12, 16, 32, 64];

/// No index. Places and numbers of needles are kept in 32 bits and are below it.
const NONE: u32 = u32::MAX;

fn find_each_within(line: &[u8], needles: &[&[u8]], bounds: Bounds) -> Vec<Occurrence> {
    if line.len().max(needles.len()) >= NONE as usize {
        // Larger than any record.
        return needles.iter().map(|needle| find_once(line, needle)).collect();
    }
    let (distinct, numbers) = distinct(needles);
    let mut search = Search { line, found: vec![Occurrence::None; distinct.len()], needles: distinct };
    let open = search.by_classes(bounds.steps);
    search.by_automata(open, bounds.group);
    numbers.into_iter().map(|number| search.found[number as usize]).collect()
}

/// The different needles, and for each needle its number among them.
fn distinct<'n>(needles: &[&'n [u8]]) -> (Vec<&'n [u8]>, Vec<u32>) {
    let mut distinct = Vec::with_capacity(needles.len());
    let mut known = HashMap::with_capacity(needles.len());
    let numbers = needles.iter().map(|&needle| {
        *known.entry(needle).or_insert_with(|| {
            distinct.push(needle);
            distinct.len() as u32 - 1
        })
    });
    let numbers = numbers.collect();
    (distinct, numbers)
}

/// A search that is under way.
struct Search<'s> {
    line: &'s [u8],
    /// All different.
    needles: Vec<&'s [u8]>,
    /// What is known of each.
    found: Vec<Occurrence>,
}

impl Search<'_> {
    /// Searches class by class; gives back the needles that are still open.
    fn by_classes(&mut self, steps: usize) -> Vec<u32> {
        let mut classes: [Vec<u32>; SIZES.len()] = Default::default();
        for (number, needle) in self.needles.iter().enumerate() {
            // Others occur nowhere.
            if !needle.is_empty() && needle.len() <= self.line.len() {
                let class = SIZES.partition_point(|&size| size <= needle.len()) - 1;
                classes[class].push(number as u32);
            }
        }
        let mut open = Vec::new();
        for (class, numbers) in classes.into_iter().enumerate() {
            open.extend(match SIZES[class] {
                1 => self.by_class::<1>(numbers, steps),
                2 => self.by_class::<2>(numbers, steps),
                4 => self.by_class::<4>(numbers, steps),
                8 => self.by_class::<8>(numbers, steps),
                12 => self.by_class::<12>(numbers, steps),
                16 => self.by_class::<16>(numbers, steps),
                32 => self.by_class::<32>(numbers, steps),
                _ => self.by_class::<64>(numbers, steps),
            });
        }
        open
    }

    /// Searches for needles of at least `N` bytes by the hash of their first `N`.
    fn by_class<const N: usize>(&mut self, mut numbers: Vec<u32>, steps: usize) -> Vec<u32> {
        if numbers.is_empty() {
            return numbers;
        }
        // Comparing a needle with its first two places is never bad luck.
        let bytes: usize = numbers.iter().map(|&number| self.needles[number as usize].len()).sum();
        let steps = if steps == 0 { 0 } else { steps + 2 * (bytes + STEP * numbers.len()) };
        if Class::<N>::new(&self.needles, &numbers).scan(self, steps).is_some() {
            numbers.clear();
        }
        numbers.retain(|&number| !matches!(self.found[number as usize], Occurrence::Many(..)));
        numbers
    }

    /// Notes a place of a needle, later than those before; true where nothing is left to find.
    fn note(&mut self, number: u32, at: usize) -> bool {
        let found = &mut self.found[number as usize];
        *found = match *found {
            Occurrence::None => Occurrence::Once(at),
            Occurrence::Once(first) | Occurrence::Many(first, _) => Occurrence::Many(first, at),
        };
        matches!(found, Occurrence::Many(..))
    }
}

/// What going to the next needle of a bucket takes, in bytes compared.
const STEP: usize = 8;

/// Needles of at least `N` bytes, in buckets by the hash of their first `N`.
struct Class<const N: usize> {
    /// A bit for every hash that some needle has: small enough for a near cache, and asked first.
    bits: Vec<u64>,
    bits_shift: u32,
    /// The first entry of each bucket.
    buckets: Vec<u32>,
    buckets_shift: u32,
    entries: Vec<Entry>,
    /// Needles that are not found twice yet.
    left: usize,
}

#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    /// The needle's last word, which tells needles apart that begin alike.
    tail: u64,
    len: u32,
    number: u32,
    /// The next entry of the bucket.
    next: u32,
}

impl<const N: usize> Class<N> {
    fn new(needles: &[&[u8]], numbers: &[u32]) -> Self {
        // Up to 128 KiB of bits, sixteen a needle; buckets for at most half a needle each.
        let bits = (16 * numbers.len()).next_power_of_two().ilog2().clamp(16, 20);
        let buckets = (2 * numbers.len()).next_power_of_two().ilog2();
        let mut class = Self {
            bits: vec![0; 1 << (bits - 6)],
            bits_shift: u64::BITS - bits,
            buckets: vec![NONE; 1 << buckets],
            buckets_shift: u64::BITS - buckets,
            entries: Vec::with_capacity(numbers.len()),
            left: numbers.len(),
        };
        let hashed = numbers.iter().filter_map(|&number| {
            let needle = needles[number as usize];
            Some((hash::<N>(needle.first_chunk()?), number))
        });
        let mut hashed: Vec<_> = hashed.collect();
        // So that the entries of a bucket are neighbours in memory.
        hashed.sort_unstable();
        for (hash, number) in hashed {
            class.insert(hash, number, needles[number as usize]);
        }
        class
    }

    fn insert(&mut self, hash: u64, number: u32, needle: &[u8]) {
        let bit = hash >> self.bits_shift;
        self.bits[bit as usize / 64] |= 1 << (bit % 64);
        let bucket = &mut self.buckets[(hash >> self.buckets_shift) as usize];
        let (tail, len) = (last_word(needle), needle.len() as u32);
        self.entries.push(Entry { hash, tail, len, number, next: *bucket });
        *bucket = self.entries.len() as u32 - 1;
    }

    /// Looks at every window of the line, in order; `None` when the steps do not suffice.
    fn scan(&mut self, search: &mut Search<'_>, mut steps: usize) -> Option<()> {
        for (at, window) in search.line.windows(N).enumerate() {
            let hash = hash::<N>(window.first_chunk()?);
            let bit = hash >> self.bits_shift;
            if self.bits[bit as usize / 64] >> (bit % 64) & 1 != 0 {
                steps = self.look(search, at, hash, steps)?;
                if self.left == 0 {
                    break;
                }
            }
        }
        Some(())
    }

    /// Compares the needles of a bucket with the line at `at`; gives back the steps that are left.
    /// Needles that are found twice leave the bucket.
    fn look(&mut self, search: &mut Search<'_>, at: usize, hash: u64, mut steps: usize) -> Option<usize> {
        let bucket = (hash >> self.buckets_shift) as usize;
        let mut before = NONE;
        let mut here = self.buckets[bucket];
        while here != NONE {
            let entry = self.entries[here as usize];
            steps = steps.checked_sub(STEP)?;
            let mut leaves = false;
            if entry.hash == hash
                && let Some(text) = search.line.get(at..at + entry.len as usize)
                && last_word(text) == entry.tail
            {
                steps = steps.checked_sub(text.len())?;
                leaves = text == search.needles[entry.number as usize] && search.note(entry.number, at);
            }
            if !leaves {
                before = here;
            } else if before == NONE {
                self.buckets[bucket] = entry.next;
            } else {
                self.entries[before as usize].next = entry.next;
            }
            self.left -= usize::from(leaves);
            here = entry.next;
        }
        Some(steps)
    }
}

/// Its upper bits depend on every byte. Good enough to filter; a clash costs steps.
#[inline]
fn hash<const N: usize>(bytes: &[u8; N]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = bytes.as_chunks();
    let rest = rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let words = words.iter().map(|&word| u64::from_le_bytes(word));
    words.fold(rest.wrapping_mul(ODD), |hash, word| (hash.rotate_left(29) ^ word).wrapping_mul(ODD))
}

/// The last eight bytes, where there are as many.
fn last_word(bytes: &[u8]) -> u64 {
    bytes.last_chunk().map_or(0, |&word| u64::from_le_bytes(word))
}

impl Search<'_> {
    /// Searches for needles with automata of bounded size, one after the other.
    fn by_automata(&mut self, mut open: Vec<u32>, group: usize) {
        open.retain(|&number| {
            let needle = self.needles[number as usize];
            let fits = needle.len() <= group;
            if !fits {
                // So long that a pass over the line is in proportion to the needle.
                self.found[number as usize] = find_once(self.line, needle);
            }
            fits
        });
        open.sort_unstable_by_key(|&number| self.needles[number as usize]);
        let mut rest = &open[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(self.group_len(rest, group));
            self.by_automaton(now);
            rest = later;
        }
    }

    /// How many of the sorted needles fit an automaton of `group` states: what a needle shares with
    /// the one before it has states already.
    fn group_len(&self, sorted: &[u32], group: usize) -> usize {
        let mut states = 0;
        let mut before: &[u8] = &[];
        for (i, &number) in sorted.iter().enumerate() {
            let needle = self.needles[number as usize];
            states += needle.len() - before.iter().zip(needle).take_while(|(a, b)| a == b).count();
            if states > group && i > 0 {
                return i;
            }
            before = needle;
        }
        sorted.len()
    }

    fn by_automaton(&mut self, sorted: &[u32]) {
        let needles: Vec<&[u8]> = sorted.iter().map(|&number| self.needles[number as usize]).collect();
        let (mut automaton, states) = Automaton::new(&needles);
        automaton.link();
        automaton.scan(self.line);
        automaton.push_up();
        for ((&number, needle), state) in sorted.iter().zip(needles).zip(states) {
            let start = |end: u32| end as usize - needle.len();
            self.found[number as usize] = match automaton.states[state as usize].ends {
                [0, _] => Occurrence::None,
                [end, 0] => Occurrence::Once(start(end)),
                [end, other] => Occurrence::Many(start(end), start(other)),
            };
        }
    }
}

/// A trie with suffix links (Aho and Corasick), its states in order of depth: the children of a state
/// are neighbours, and the children of states in order are in order.
struct Automaton {
    /// After the last one stands one more, so that the children of each end where those of the next
    /// begin.
    states: Vec<State>,
    /// The byte that leads to each state.
    bytes: Vec<u8>,
}

#[derive(Clone, Copy)]
struct State {
    /// The first child.
    children: u32,
    /// The state of the longest proper suffix that has one.
    suffix: u32,
    /// Where on the line its string ends: the first two places, from 1; 0 for none.
    ends: [u32; 2],
}

const ROOT: u32 = 0;

impl Automaton {
    /// The trie of needles that are sorted and all different, and the state of each.
    fn new(needles: &[&[u8]]) -> (Self, Vec<u32>) {
        let mut trie = Self { states: Vec::new(), bytes: vec![0] };
        let mut ends = vec![ROOT; needles.len()];
        // The needles that begin with a state's string, for the states of one depth.
        let mut level = vec![(0, needles.len())];
        let mut depth = 0;
        while !level.is_empty() {
            let mut deeper = Vec::new();
            for (mut from, to) in level {
                if needles[from].len() == depth {
                    ends[from] = trie.states.len() as u32;
                    from += 1;
                }
                trie.states.push(State::new(trie.bytes.len()));
                while from < to {
                    let next = from + same_byte(&needles[from..to], depth);
                    trie.bytes.push(needles[from][depth]);
                    deeper.push((from, next));
                    from = next;
                }
            }
            level = deeper;
            depth += 1;
        }
        trie.states.push(State::new(trie.bytes.len()));
        (trie, ends)
    }

    /// Sets the suffix links. Those of lesser depth, which lead to the others, come first.
    fn link(&mut self) {
        for state in 0..self.bytes.len() {
            let suffix = self.states[state].suffix;
            for child in self.children(state as u32) {
                // A suffix is proper: the one of a single byte is empty.
                let link = if state as u32 == ROOT { ROOT } else { self.step(suffix, self.bytes[child]) };
                self.states[child].suffix = link;
            }
        }
    }

    fn scan(&mut self, line: &[u8]) {
        let mut state = ROOT;
        for (at, &byte) in line.iter().enumerate() {
            state = self.step(state, byte);
            let ends = &mut self.states[state as usize].ends;
            if ends[0] == 0 {
                ends[0] = at as u32 + 1;
            } else if ends[1] == 0 {
                ends[1] = at as u32 + 1;
            }
        }
    }

    /// Where a string ends its suffixes end too. A place is that of one state alone and goes up one
    /// way, so no place arrives twice.
    fn push_up(&mut self) {
        for state in (1..self.bytes.len()).rev() {
            let State { suffix, ends, .. } = self.states[state];
            let of_suffix = &mut self.states[suffix as usize].ends;
            for end in ends.into_iter().filter(|&end| end != 0) {
                let [first, second] = *of_suffix;
                if first == 0 || end < first {
                    *of_suffix = [end, first];
                } else if second == 0 || end < second {
                    *of_suffix = [first, end];
                }
            }
        }
    }

    /// The state of the longest string that ends with `byte`.
    fn step(&self, mut state: u32, byte: u8) -> u32 {
        loop {
            let children = self.children(state);
            if let Ok(at) = self.bytes[children.clone()].binary_search(&byte) {
                return (children.start + at) as u32;
            }
            if state == ROOT {
                return ROOT;
            }
            state = self.states[state as usize].suffix;
        }
    }

    fn children(&self, state: u32) -> std::ops::Range<usize> {
        let state = state as usize;
        self.states[state].children as usize..self.states[state + 1].children as usize
    }
}

impl State {
    fn new(children: usize) -> Self {
        Self { children: children as u32, suffix: ROOT, ends: [0; 2] }
    }
}

/// How many of the sorted needles have the first one's byte at `depth`.
fn same_byte(needles: &[&[u8]], depth: usize) -> usize {
    let byte = needles[0][depth];
    match needles.last() {
        // Mostly all of them.
        Some(last) if last[depth] == byte => needles.len(),
        _ => needles.partition_point(|needle| needle[depth] == byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const BY_CLASSES: Bounds = Bounds { steps: usize::MAX / 2, group: 0 };
    /// All needles by one automaton, by many, and by so small ones that longer needles go elsewhere.
    const BY_AUTOMATA: [Bounds; 3] =
        [Bounds { steps: 0, group: 1 << 20 }, Bounds { steps: 0, group: 40 }, Bounds { steps: 0, group: 3 }];

    fn naive(line: &[u8], needles: &[&[u8]]) -> Vec<Occurrence> {
        needles.iter().map(|needle| find_once(line, needle)).collect()
    }

    /// On every path, and on those that change from one to the other underway.
    fn agree(line: &[u8], needles: &[&[u8]]) {
        let expected = naive(line, needles);
        assert_eq!(find_each_once(line, needles), expected);
        assert_eq!(find_each_within(line, needles, BY_CLASSES), expected);
        for bounds in BY_AUTOMATA {
            assert_eq!(find_each_within(line, needles, bounds), expected, "group {}", bounds.group);
        }
        for steps in [1, 100, 1000] {
            assert_eq!(
                find_each_within(line, needles, Bounds { steps, group: 40 }),
                expected,
                "{steps} steps"
            );
        }
    }

    fn slices(needles: &[impl AsRef<[u8]>]) -> Vec<&[u8]> {
        needles.iter().map(AsRef::as_ref).collect()
    }

    /// Words that differ in few letters, so that needles share beginnings and ends.
    fn words(len: usize) -> Vec<u8> {
        let mut random = fastrand::Rng::with_seed(7);
        let mut line = Vec::with_capacity(len + 8);
        while line.len() < len {
            line.extend((0..random.usize(1..8)).map(|_| b"etaoinshr"[random.usize(..9)]));
            line.push(b' ');
        }
        line
    }

    #[test]
    fn the_edges() {
        agree(b"", &[]);
        agree(b"", &[b"", b"a"]);
        agree(b"a", &[b"", b"a", b"aa", b"b", b"a"]);
        agree(b"aaa", &[b"aa", b"aaa", b"aaaa", b"a", b"aa"]);
        agree(&[0, 255, 0, 0], &[&[0], &[255], &[0, 0], &[0, 255, 0, 0]]);
    }

    #[test]
    fn needles_of_every_length_from_every_place() {
        let line = words(300);
        let places = (0..300).step_by(3);
        let needles: Vec<_> = places.flat_map(|from| (from..=300).map(move |to| (from, to))).collect();
        let needles: Vec<_> = needles.iter().map(|&(from, to)| &line[from..to]).collect();
        agree(&line, &needles);
    }

    #[test]
    fn lines_that_repeat_themselves_stay_exact() {
        let mut line = vec![b'a'; 50_000];
        let runs = |end: &str| (1..=400).map(|k| "a".repeat(k) + end).collect::<Vec<_>>();
        let (plain, ended) = (runs(""), runs("b"));
        let mut needles = slices(&plain);
        needles.extend(slices(&ended));
        let all = line.clone();
        needles.extend([&all[..], &all[1..], &all[..25_000]]);
        agree(&line, &needles);
        line[30_000] = b'b';
        agree(&line, &needles);
    }

    #[test]
    fn the_steps_are_spent_on_needles_that_look_alike() {
        let line = vec![b'a'; 50_000];
        let needles: Vec<_> = (64..1064).map(|k| "a".repeat(k) + "b" + &"a".repeat(8)).collect();
        let needles = slices(&needles);
        let mut search = Search { line: &line, found: vec![Occurrence::None; 1000], needles };
        let open = search.by_classes(FIND_MANY_STEPS * line.len());
        assert_eq!(open.len(), 1000);
    }

    #[test]
    fn a_long_line_with_many_needles() {
        let line = words(1_000_000);
        let mut random = fastrand::Rng::with_seed(8);
        let cut = (0..20_000).map(|_| {
            let from = random.usize(..999_900);
            &line[from..from + random.usize(4..100)]
        });
        let needles: Vec<&[u8]> = cut.collect();
        let found = find_each_once(&line, &needles);
        assert_eq!(found, find_each_within(&line, &needles, Bounds { steps: 0, group: 1 << 19 }));
        for (needle, found) in needles.iter().zip(found).step_by(97) {
            assert_eq!(found, find_once(&line, needle));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn agrees_with_its_naive_twin(line in "[ab]{0,200}", needles in vec("[ab]{0,6}", 0..40)) {
            agree(line.as_bytes(), &slices(&needles));
        }

        #[test]
        fn agrees_on_needles_cut_from_the_line(
            line in "[abcé 的😀]{1,120}",
            cuts in vec((0usize..120, 1usize..40), 0..40),
            others in vec("[abcé 的😀]{0,8}", 0..10),
        ) {
            let cut = |&(from, len)| line.chars().skip(from).take(len).collect();
            let mut needles: Vec<String> = cuts.iter().map(cut).collect();
            needles.extend(others);
            agree(line.as_bytes(), &slices(&needles));
        }

        #[test]
        fn agrees_on_long_needles(line in "[ab]{0,40}(ab){0,80}[ab]{0,9}a{0,90}", cuts in vec((0usize..250, 0usize..200), 0..30)) {
            let line = line.as_bytes();
            let cut = |&(from, len): &(usize, usize)| &line[from.min(line.len())..(from + len).min(line.len())];
            agree(line, &cuts.iter().map(cut).collect::<Vec<_>>());
        }
    }
}

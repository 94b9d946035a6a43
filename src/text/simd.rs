//! Sixty-four bytes looked at together, so that a text is passed over at the speed of memory.
//!
//! What is looked for stands at places that no processor predicts, so what costs is not the looking but
//! every branch on what was found. A [`Window`] gives all places in 64 bytes as one word of bits, and
//! [`Places`] keeps them without a branch for each.
//!
//! The work is written once, as a [`Work`] over any [`Simd`], and [`run`] does it with the widest
//! instructions that the processor has.

use std::ops::{BitAnd, BitOr};
use wide::u8x16;

/// Bytes in a window.
pub(crate) const WINDOW: usize = 64;

/// A set of instructions that compares the bytes of a window.
pub(crate) trait Simd: Copy {
    /// 64 bytes, or for each of them all bits or none.
    type Bytes: Copy;

    fn load(self, bytes: &[u8; WINDOW]) -> Self::Bytes;
    fn equal(self, bytes: Self::Bytes, byte: u8) -> Self::Bytes;
    fn at_most(self, bytes: Self::Bytes, byte: u8) -> Self::Bytes;
    fn at_least(self, bytes: Self::Bytes, byte: u8) -> Self::Bytes;
    fn or(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;
    fn and(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;
    /// The top bit of each byte.
    fn top_bits(self, bytes: Self::Bytes) -> u64;
}

/// Work on windows. Everything in it must be inlined, so that the compiler may use the instructions that
/// it is run with.
pub(crate) trait Work {
    type Output;

    fn work<S: Simd>(self, simd: S) -> Self::Output;
}

/// Does the work with the widest instructions that the processor has.
#[inline]
pub(crate) fn run<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(x86::Call { simd, work });
    }
    work.work(Baseline)
}

/// What every processor of its kind has, sixteen bytes wide.
#[derive(Clone, Copy)]
struct Baseline;

impl Simd for Baseline {
    type Bytes = [u8x16; 4];

    #[inline(always)]
    fn load(self, bytes: &[u8; WINDOW]) -> Self::Bytes {
        let (blocks, _) = bytes.as_chunks();
        std::array::from_fn(|i| u8x16::new(blocks[i]))
    }

    #[inline(always)]
    fn equal(self, bytes: Self::Bytes, byte: u8) -> Self::Bytes {
        bytes.map(|block| block.cmp_eq(u8x16::new([byte; 16])))
    }

    #[inline(always)]
    fn at_most(self, bytes: Self::Bytes, byte: u8) -> Self::Bytes {
        bytes.map(|block| block.min(u8x16::new([byte; 16])).cmp_eq(block))
    }

    #[inline(always)]
    fn at_least(self, bytes: Self::Bytes, byte: u8) -> Self::Bytes {
        bytes.map(|block| block.max(u8x16::new([byte; 16])).cmp_eq(block))
    }

    #[inline(always)]
    fn or(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes {
        std::array::from_fn(|i| a[i] | b[i])
    }

    #[inline(always)]
    fn and(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes {
        std::array::from_fn(|i| a[i] & b[i])
    }

    #[inline(always)]
    fn top_bits(self, bytes: Self::Bytes) -> u64 {
        let bits = bytes.map(|block| u64::from(block.move_mask() as u16));
        bits[0] | bits[1] << 16 | bits[2] << 32 | bits[3] << 48
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Simd, WINDOW, Work};
    use pulp::NullaryFnOnce;
    use pulp::x86::V3;
    use std::arch::x86_64::__m256i;

    /// Work that is done with AVX2.
    pub(super) struct Call<W> {
        pub(super) simd: V3,
        pub(super) work: W,
    }

    impl<W: Work> NullaryFnOnce for Call<W> {
        type Output = W::Output;

        #[inline(always)]
        fn call(self) -> Self::Output {
            self.work.work(self.simd)
        }
    }

    impl Simd for V3 {
        type Bytes = [__m256i; 2];

        #[inline(always)]
        fn load(self, bytes: &[u8; WINDOW]) -> Self::Bytes {
            let (blocks, _) = bytes.as_chunks::<32>();
            [pulp::cast(blocks[0]), pulp::cast(blocks[1])]
        }

        #[inline(always)]
        fn equal(self, bytes: Self::Bytes, byte: u8) -> Self::Bytes {
            let each = self.avx._mm256_set1_epi8(byte as i8);
            [self.avx2._mm256_cmpeq_epi8(bytes[0], each), self.avx2._mm256_cmpeq_epi8(bytes[1], each)]
        }

        #[inline(always)]
        fn at_most(self, bytes: Self::Bytes, byte: u8) -> Self::Bytes {
            let each = self.avx._mm256_set1_epi8(byte as i8);
            let [a, b] = bytes;
            let least = [self.avx2._mm256_min_epu8(a, each), self.avx2._mm256_min_epu8(b, each)];
            [self.avx2._mm256_cmpeq_epi8(least[0], a), self.avx2._mm256_cmpeq_epi8(least[1], b)]
        }

        #[inline(always)]
        fn at_least(self, bytes: Self::Bytes, byte: u8) -> Self::Bytes {
            let each = self.avx._mm256_set1_epi8(byte as i8);
            let [a, b] = bytes;
            let most = [self.avx2._mm256_max_epu8(a, each), self.avx2._mm256_max_epu8(b, each)];
            [self.avx2._mm256_cmpeq_epi8(most[0], a), self.avx2._mm256_cmpeq_epi8(most[1], b)]
        }

        #[inline(always)]
        fn or(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes {
            [self.avx2._mm256_or_si256(a[0], b[0]), self.avx2._mm256_or_si256(a[1], b[1])]
        }

        #[inline(always)]
        fn and(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes {
            [self.avx2._mm256_and_si256(a[0], b[0]), self.avx2._mm256_and_si256(a[1], b[1])]
        }

        #[inline(always)]
        fn top_bits(self, bytes: Self::Bytes) -> u64 {
            let low = self.avx2._mm256_movemask_epi8(bytes[0]) as u32;
            let high = self.avx2._mm256_movemask_epi8(bytes[1]) as u32;
            u64::from(low) | u64::from(high) << 32
        }
    }
}

/// Sixty-four bytes of a text.
#[derive(Clone, Copy)]
pub(crate) struct Window<S: Simd> {
    simd: S,
    bytes: S::Bytes,
}

/// For each byte of a window whether something holds of it.
#[derive(Clone, Copy)]
pub(crate) struct Mask<S: Simd> {
    simd: S,
    bytes: S::Bytes,
}

impl<S: Simd> Window<S> {
    /// The window with these bytes.
    #[inline(always)]
    pub(crate) fn new(simd: S, bytes: &[u8; WINDOW]) -> Self {
        Self { simd, bytes: simd.load(bytes) }
    }

    /// The window that begins at byte `at` of a text; past its end, zeros.
    #[inline(always)]
    pub(crate) fn at(simd: S, text: &[u8], at: usize) -> Self {
        match text.get(at..).and_then(|rest| rest.first_chunk()) {
            Some(bytes) => Self::new(simd, bytes),
            None => Self::new(simd, &padded(text.get(at..).unwrap_or(&[]))),
        }
    }

    /// The bytes that are `byte`.
    #[inline(always)]
    pub(crate) fn is(self, byte: u8) -> Mask<S> {
        Mask { simd: self.simd, bytes: self.simd.equal(self.bytes, byte) }
    }

    /// The bytes that are at most `byte`.
    #[inline(always)]
    pub(crate) fn at_most(self, byte: u8) -> Mask<S> {
        Mask { simd: self.simd, bytes: self.simd.at_most(self.bytes, byte) }
    }

    /// The bytes that are at least `byte`.
    #[inline(always)]
    pub(crate) fn at_least(self, byte: u8) -> Mask<S> {
        Mask { simd: self.simd, bytes: self.simd.at_least(self.bytes, byte) }
    }

    /// The bytes from `first` to `last`.
    #[inline(always)]
    pub(crate) fn within(self, first: u8, last: u8) -> Mask<S> {
        self.at_least(first) & self.at_most(last)
    }

    /// The bytes that are not ASCII.
    #[inline(always)]
    pub(crate) fn not_ascii(self) -> Mask<S> {
        Mask { simd: self.simd, bytes: self.bytes }
    }
}

impl<S: Simd> Mask<S> {
    /// Bit i tells of byte i.
    #[inline(always)]
    pub(crate) fn bits(self) -> u64 {
        self.simd.top_bits(self.bytes)
    }
}

impl<S: Simd> BitAnd for Mask<S> {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self { simd: self.simd, bytes: self.simd.and(self.bytes, other.bytes) }
    }
}

impl<S: Simd> BitOr for Mask<S> {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self { simd: self.simd, bytes: self.simd.or(self.bytes, other.bytes) }
    }
}

/// Fewer bytes than a window holds, and zeros.
fn padded(bytes: &[u8]) -> [u8; WINDOW] {
    let mut window = [0; WINDOW];
    window[..bytes.len()].copy_from_slice(bytes);
    window
}

/// The lowest `count` bits, up to 64.
#[inline(always)]
pub(crate) fn low_bits(count: usize) -> u64 {
    if count < 64 { (1 << count) - 1 } else { u64::MAX }
}

/// Places in a text, in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// The first `count` of these.
    list: Vec<u32>,
    count: usize,
}

impl Places {
    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    pub(crate) fn as_slice(&self) -> &[u32] {
        &self.list[..self.count]
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Forgets all places but the first `count`.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.count = self.count.min(count);
    }

    /// Adds `base + i` for each bit i.
    #[inline(always)]
    pub(crate) fn add(&mut self, mut bits: u64, base: usize) {
        if self.list.len() < self.count + WINDOW {
            self.grow();
        }
        let mut left = bits.count_ones() as usize;
        let mut to = self.count;
        self.count += left;
        // Four are written whether they are there or not: a branch on how many costs more.
        loop {
            if let Some(slots) = self.list[to..].first_chunk_mut::<4>() {
                for slot in slots {
                    *slot = (base as u32).wrapping_add(bits.trailing_zeros());
                    bits &= bits.wrapping_sub(1);
                }
            }
            if left <= 4 {
                return;
            }
            (left, to) = (left - 4, to + 4);
        }
    }

    #[cold]
    fn grow(&mut self) {
        // By a half only: for a giant record the list is large.
        let more = (self.list.len() / 2).max(4 * WINDOW);
        self.list.reserve_exact(more);
        self.list.resize(self.list.len() + more, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every kind of mask over one window.
    struct Masks<'b>(&'b [u8; WINDOW], u8, u8);

    impl Work for Masks<'_> {
        type Output = [u64; 7];

        #[inline(always)]
        fn work<S: Simd>(self, simd: S) -> [u64; 7] {
            let Masks(bytes, first, last) = self;
            let window = Window::new(simd, bytes);
            [
                window.is(first),
                window.at_most(first),
                window.at_least(first),
                window.within(first, last),
                window.not_ascii(),
                window.is(first) | window.not_ascii(),
                window.at_most(first) & window.not_ascii(),
            ]
            .map(Mask::bits)
        }
    }

    struct OnesAt<'t>(&'t [u8], usize);

    impl Work for OnesAt<'_> {
        type Output = u64;

        #[inline(always)]
        fn work<S: Simd>(self, simd: S) -> u64 {
            Window::at(simd, self.0, self.1).is(1).bits()
        }
    }

    proptest! {
        /// The naive twin: byte by byte. With the instructions that are there, and with those that are
        /// always there.
        #[test]
        fn masks_agree_with_their_naive_twin(
            bytes in prop::collection::vec(any::<u8>(), WINDOW), first in any::<u8>(), last in any::<u8>(),
        ) {
            let bytes: [u8; WINDOW] = bytes.try_into().unwrap();
            let naive = |holds: &dyn Fn(u8) -> bool| {
                bytes.iter().enumerate().fold(0, |bits, (i, b)| bits | u64::from(holds(*b)) << i)
            };
            let expected = [
                naive(&|b| b == first),
                naive(&|b| b <= first),
                naive(&|b| b >= first),
                naive(&|b| first <= b && b <= last),
                naive(&|b| !b.is_ascii()),
                naive(&|b| b == first || !b.is_ascii()),
                naive(&|b| b <= first && !b.is_ascii()),
            ];
            prop_assert_eq!(run(Masks(&bytes, first, last)), expected);
            prop_assert_eq!(Masks(&bytes, first, last).work(Baseline), expected);
        }

        #[test]
        fn windows_end_with_zeros(text in prop::collection::vec(0u8..3, 0..150), at in 0usize..160) {
            let bits = run(OnesAt(&text, at));
            for i in 0..WINDOW {
                prop_assert_eq!(bits >> i & 1 == 1, text.get(at + i) == Some(&1));
            }
        }

        #[test]
        fn places_agree_with_their_naive_twin(all in prop::collection::vec(any::<u64>(), 0..6), sparse in any::<u8>()) {
            let (mut places, mut naive) = (Places::default(), Vec::new());
            for round in 0..2 {
                places.clear();
                naive.clear();
                for (i, bits) in all.iter().enumerate() {
                    let bits = if sparse % 2 == 0 { *bits } else { bits & (bits << 7) & (bits >> 9) } << round;
                    places.add(bits, i * WINDOW);
                    naive.extend((0..64).filter(|bit| bits >> bit & 1 == 1).map(|bit| (i * WINDOW) as u32 + bit));
                }
                prop_assert_eq!(places.as_slice(), &naive);
            }
        }
    }
}

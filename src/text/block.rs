//! Sixteen bytes looked at together, and four times sixteen, so that a text is passed over at the speed of
//! memory.
//!
//! What is looked for stands at places that no processor predicts, so what costs is not the looking but
//! every branch on what was found. Windows give all places of 64 bytes as one mask, and [`Places`] keeps
//! them without a branch for each.

use std::ops::{BitAnd, BitOr};
use wide::u8x16;

/// Bytes in a block.
pub(crate) const BLOCK: usize = 16;

/// A block of a text.
#[derive(Clone, Copy)]
pub(crate) struct Block(u8x16);

/// For each byte of a block whether something holds of it.
#[derive(Clone, Copy)]
pub(crate) struct Mask(u8x16);

impl Block {
    /// The block with these bytes.
    #[inline(always)]
    pub(crate) fn new(bytes: &[u8; BLOCK]) -> Self {
        Self(u8x16::new(*bytes))
    }

    /// A block that holds `byte` everywhere.
    #[inline(always)]
    pub(crate) fn each(byte: u8) -> Self {
        Self(u8x16::new([byte; BLOCK]))
    }

    /// The bytes that are the same in both blocks.
    #[inline(always)]
    pub(crate) fn equals(self, other: Self) -> Mask {
        Mask(self.0.cmp_eq(other.0))
    }

    /// The bytes that are `byte`.
    #[inline(always)]
    pub(crate) fn is(self, byte: u8) -> Mask {
        self.equals(Self::each(byte))
    }

    /// The bytes that are at most `byte`.
    #[inline(always)]
    pub(crate) fn at_most(self, byte: u8) -> Mask {
        Mask(self.0.min(u8x16::new([byte; BLOCK])).cmp_eq(self.0))
    }

    /// The bytes that are at least `byte`.
    #[inline(always)]
    pub(crate) fn at_least(self, byte: u8) -> Mask {
        Mask(self.0.max(u8x16::new([byte; BLOCK])).cmp_eq(self.0))
    }

    /// The bytes that are not ASCII.
    #[inline(always)]
    pub(crate) fn not_ascii(self) -> Mask {
        Mask(self.0)
    }
}

impl Mask {
    /// Bit i tells of byte i.
    #[inline(always)]
    pub(crate) fn bits(self) -> u32 {
        self.0.move_mask() as u32
    }
}

impl BitAnd for Mask {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for Mask {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Bytes in a window.
pub(crate) const WINDOW: usize = 4 * BLOCK;

/// Four blocks of a text, one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Window([Block; 4]);

impl Window {
    /// The window with these bytes.
    #[inline(always)]
    pub(crate) fn new(bytes: &[u8; WINDOW]) -> Self {
        let (blocks, _) = bytes.as_chunks();
        Self(std::array::from_fn(|i| Block::new(&blocks[i])))
    }

    /// The window that begins at byte `at` of a text; past its end, zeros.
    #[inline(always)]
    pub(crate) fn at(text: &[u8], at: usize) -> Self {
        match text.get(at..).and_then(|rest| rest.first_chunk()) {
            Some(bytes) => Self::new(bytes),
            None => Self::new(&padded(text.get(at..).unwrap_or(&[]))),
        }
    }

    /// Bit i tells whether `holds` is true of byte i.
    #[inline(always)]
    pub(crate) fn bits(self, holds: impl Fn(Block) -> Mask) -> u64 {
        let bits = self.0.map(|block| u64::from(holds(block).bits()));
        bits[0] | bits[1] << 16 | bits[2] << 32 | bits[3] << 48
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

    /// Bytes of memory in use.
    pub(crate) fn capacity(&self) -> usize {
        self.list.capacity() * size_of::<u32>()
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
        self.list.resize((2 * self.list.len()).max(self.count + 4 * WINDOW), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
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

        #[test]
        fn windows_agree_with_their_naive_twin(text in prop::collection::vec(0u8..3, 0..150), at in 0usize..160) {
            let bits = Window::at(&text, at).bits(|block| block.is(1));
            for i in 0..WINDOW {
                prop_assert_eq!(bits >> i & 1 == 1, text.get(at + i) == Some(&1));
            }
        }

        /// The naive twin: byte by byte.
        #[test]
        fn masks_agree_with_their_naive_twin(bytes in any::<[u8; BLOCK]>(), byte in any::<u8>()) {
            let naive = |holds: &dyn Fn(u8) -> bool| {
                bytes.iter().enumerate().fold(0, |bits, (i, b)| bits | u32::from(holds(*b)) << i)
            };
            let block = Block::new(&bytes);
            prop_assert_eq!(block.is(byte).bits(), naive(&|b| b == byte));
            prop_assert_eq!(block.at_most(byte).bits(), naive(&|b| b <= byte));
            prop_assert_eq!(block.at_least(byte).bits(), naive(&|b| b >= byte));
            prop_assert_eq!(block.not_ascii().bits(), naive(&|b| !b.is_ascii()));
            let both = block.is(byte) | block.not_ascii();
            prop_assert_eq!(both.bits(), naive(&|b| b == byte || !b.is_ascii()));
            prop_assert_eq!((block.at_most(byte) & block.not_ascii()).bits(), naive(&|b| b <= byte && !b.is_ascii()));
        }
    }
}

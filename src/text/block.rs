//! Sixteen bytes looked at together, so that a text is passed over at the speed of memory.

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
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

//! Half-open byte ranges of a document, and the same ranges in the units that others count in.

use std::ops::Range;

/// A half-open range of bytes, `start..end`, in a document's content.
///
/// Both ends lie on character boundaries. Bytes are UTF-8 bytes of the content as it was decoded
/// from the JSON string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A [`Span`] in the three units that programs count text in, each half-open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Units {
    /// UTF-8 bytes.
    pub bytes: Range<usize>,
    /// Unicode code points (scalar values), as Python counts.
    pub code_points: Range<usize>,
    /// UTF-16 code units, as JavaScript and Java count.
    pub utf16: Range<usize>,
}

impl Span {
    /// The span as a range of byte indices.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The text under the span; empty when the span does not belong to `content`.
    pub fn text(self, content: &str) -> &str {
        content.get(self.range()).unwrap_or("")
    }

    /// The span in bytes, code points and UTF-16 units of `content`.
    ///
    /// Takes time in proportion to the span's end.
    pub fn units(self, content: &str) -> Units {
        let before = content.get(..self.start as usize).unwrap_or("");
        let inside = self.text(content);
        let code_points = before.chars().count();
        let utf16 = before.chars().map(char::len_utf16).sum::<usize>();
        Units {
            bytes: self.range(),
            code_points: code_points..code_points + inside.chars().count(),
            utf16: utf16..utf16 + inside.chars().map(char::len_utf16).sum::<usize>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_each_unit() {
        let content = "é😀x";
        let units = Span { start: 2, end: 7 }.units(content);
        assert_eq!(units.bytes, 2..7);
        assert_eq!(units.code_points, 1..3);
        assert_eq!(units.utf16, 1..4);
    }

    #[test]
    fn a_foreign_span_is_empty_and_does_not_panic() {
        assert_eq!(Span { start: 1, end: 9 }.text("é"), "");
        assert_eq!(Span { start: 1, end: 9 }.units("é").code_points, 0..0);
    }
}

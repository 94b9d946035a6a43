//! A document as refs are resolved in it: lines by number, whether the text is at hand or stands
//! escaped in the record.

use crate::text::{Escaped, LineIndex, unescape};
use std::cell::RefCell;
use std::ops::Range;

/// A document with its lines.
#[derive(Clone, Copy)]
pub(crate) enum Page<'d> {
    /// The text, what may follow it in memory, and the index of its lines.
    Text(&'d [u8], &'d LineIndex),
    /// A text of which lines are looked for one by one.
    Short(&'d str),
    /// The text as the record has it, and memory for one line.
    Escaped(&'d Escaped<'d>, &'d RefCell<LineMemory>),
}

/// One line, unescaped. Both ends of a ref mostly stand on one.
#[derive(Default)]
pub(crate) struct LineMemory {
    /// The line's bytes, and more.
    text: Vec<u8>,
    length: usize,
    /// Which line it is: the address of its literal, and its number. Of one record only.
    holds: Option<(usize, i64)>,
}

impl LineMemory {
    /// Forgets the line, whose record is done with.
    pub(crate) fn forget(&mut self) {
        self.holds = None;
    }
}

impl Page<'_> {
    /// How many lines the document has; at least 1.
    pub(crate) fn line_count(&self) -> usize {
        match self {
            Self::Text(_, lines) => lines.len(),
            Self::Short(text) => text.split('\n').count(),
            Self::Escaped(escaped, _) => escaped.line_count(),
        }
    }

    /// Calls `look` with a text, where line `number` (from 1) stands in it without its LF, and the line's
    /// place; `None` where there is no such line.
    ///
    /// Places count bytes of the document's text, or of what stands for it in the record. An escape is
    /// longer than what it stands for, so that a place and what is added to it on the line name one
    /// character of the document in both, in the document's order.
    #[inline]
    pub(crate) fn with_line<T>(
        &self,
        number: i64,
        look: impl FnOnce(&[u8], Range<usize>, usize) -> T,
    ) -> Option<T> {
        match self {
            Self::Text(text, lines) => {
                let range = lines.line(number)?;
                let place = range.start;
                Some(look(text, range, place))
            }
            Self::Short(text) => {
                let before = usize::try_from(number).ok()?.checked_sub(1)?;
                let text = text.as_bytes();
                let mut start = 0;
                for _ in 0..before {
                    start += memchr::memchr(b'\n', &text[start..])? + 1;
                }
                let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |lf| start + lf);
                Some(look(text, start..end, start))
            }
            Self::Escaped(escaped, memory) => {
                let (range, escapes) = escaped.line(number)?;
                let place = range.start;
                if escapes.is_empty() {
                    return Some(look(escaped.bytes(), range, place));
                }
                let mut memory = memory.borrow_mut();
                let LineMemory { text, length, holds } = &mut *memory;
                let line = (escaped.bytes().as_ptr() as usize, number);
                if *holds != Some(line) {
                    *length = unescape(escaped.bytes(), range, escapes, text, |_| {});
                    *holds = Some(line);
                }
                Some(look(text, 0..*length, place))
            }
        }
    }
}

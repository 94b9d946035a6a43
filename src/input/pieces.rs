//! Records that are too large, piece by piece, for those who write them on.
//!
//! Whether such a line is blank, or cut short, is known at its end only: a batch without bytes then says so.

use super::framing::{Batch, Buffer, Content, Framer, ReadFault};
use super::sniff::is_blank;
use crate::limits::READ_BYTES;
use std::slice;

/// A line, or a whole input, that is being passed on piece by piece.
pub(super) struct Giant {
    is_value: bool,
    is_blank: bool,
    /// Blank lines before it.
    blank: u64,
    bytes: u64,
    last: u8,
    ended: bool,
}

fn is_blank_byte(byte: u8) -> bool {
    is_blank(slice::from_ref(&byte))
}

impl Giant {
    fn new(is_value: bool) -> Self {
        Self { is_value, is_blank: true, blank: 0, bytes: 0, last: b'\n', ended: false }
    }
}

impl Framer {
    /// Gives the bytes of records that are too large as well.
    pub(crate) fn with_pieces(mut self) -> Self {
        self.pieces = true;
        self
    }

    /// Begins with a line, or a whole input, that has grown beyond the limit.
    pub(super) fn begin_giant(&mut self, buffer: Buffer, is_value: bool) -> Result<Option<Batch>, ReadFault> {
        self.piece(buffer, Giant::new(is_value))
    }

    /// Goes on with it.
    pub(super) fn next_piece(
        &mut self,
        mut buffer: Buffer,
        giant: Giant,
    ) -> Result<Option<Batch>, ReadFault> {
        if giant.ended {
            return Ok(Some(self.end_giant(buffer, &giant)));
        }
        buffer.begin(&std::mem::take(&mut self.carry));
        self.read(&mut buffer, READ_BYTES);
        self.piece(buffer, giant)
    }

    fn piece(&mut self, buffer: Buffer, mut giant: Giant) -> Result<Option<Batch>, ReadFault> {
        let range = if giant.is_value {
            self.piece_of_value(&buffer, &mut giant)
        } else {
            self.piece_of_line(&buffer, &mut giant)
        };
        if self.ended && !giant.ended {
            if self.fault.is_some() {
                self.carry.clear();
                return self.next(buffer); // the record was cut
            }
            giant.ended = true;
        }
        self.giant = Some(giant);
        let content = Content::Piece(buffer.start + range.start..buffer.start + range.end);
        Ok(Some(Batch {
            buffer,
            content,
            first_line: self.next.line,
            lines: 0,
            next: None,
            ends_pieces: false,
        }))
    }

    /// Up to its LF, which is no part of it.
    fn piece_of_line(&mut self, buffer: &Buffer, giant: &mut Giant) -> std::ops::Range<usize> {
        let data = buffer.data();
        let lf = memchr::memchr(b'\n', data);
        let end = lf.unwrap_or(data.len());
        if let Some(lf) = lf {
            self.carry.extend_from_slice(&data[lf + 1..]);
        }
        giant.ended = lf.is_some();
        giant.bytes += end as u64 + u64::from(lf.is_some());
        giant.is_blank = giant.is_blank && is_blank(&data[..end]);
        0..end
    }

    /// From the line of its first byte that is not blank to the line of its last one. White space is kept back
    /// until more follows. Of more of it than one read holds, what stands before the record is left out up to
    /// the last read, and what stands after it is given.
    fn piece_of_value(&mut self, buffer: &Buffer, giant: &mut Giant) -> std::ops::Range<usize> {
        let data = buffer.data();
        let mut start = 0;
        if giant.is_blank {
            let first = data.iter().position(|byte| !is_blank_byte(*byte));
            let before = &data[..first.unwrap_or(data.len())];
            giant.blank += memchr::memchr_iter(b'\n', before).count() as u64;
            giant.bytes += before.len() as u64;
            giant.last = before.last().copied().unwrap_or(giant.last);
            let Some(first) = first else { return 0..0 };
            giant.is_blank = false;
            start = memchr::memrchr(b'\n', &data[..first]).map_or(0, |lf| lf + 1);
            giant.bytes -= (first - start) as u64;
        }
        let last = data.iter().rposition(|byte| !is_blank_byte(*byte)).map_or(start, |last| last + 1);
        let end = if self.ended {
            memchr::memchr(b'\n', &data[last..]).map_or(data.len(), |lf| last + lf)
        } else if data.len() - last > READ_BYTES {
            data.len()
        } else {
            self.carry.extend_from_slice(&data[last..]);
            last
        };
        giant.bytes += if self.ended { data.len() - start } else { end - start } as u64;
        start..end
    }

    /// What it was, once that is known.
    fn end_giant(&mut self, buffer: Buffer, giant: &Giant) -> Batch {
        let (content, lines) = match (giant.is_blank, giant.is_value) {
            (false, _) => (Content::TooLarge { blank: giant.blank }, giant.blank + 1),
            (true, false) => (Content::Blank { lines: 1 }, 1),
            (true, true) => {
                let lines = giant.blank + u64::from(giant.last != b'\n');
                (Content::Blank { lines }, lines)
            }
        };
        Batch { ends_pieces: true, ..self.batch(buffer, content, giant.bytes, lines) }
    }
}

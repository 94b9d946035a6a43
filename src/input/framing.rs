//! An input to batches of raw lines, numbered, with every limit enforced.

use super::compression::{Decompressed, read_some};
use super::pieces::Giant;
use super::sniff::{Sniffed, is_blank, sniff};
use crate::limits::{ENOUGH_BYTES, READ_ALIGN, READ_BYTES};
use crate::settings::InputFormat;
use std::io::{self, Read};
use std::ops::Range;

/// Consecutive raw lines of one input: what one task works on.
pub(crate) struct Batch {
    /// Where the bytes lie.
    pub(super) buffer: Buffer,
    pub(super) content: Content,
    /// The physical line of its first byte, from 1.
    pub(super) first_line: u64,
    /// Lines in it, as the reader counted them.
    pub(crate) lines: u64,
    /// Where the next batch begins; `None` where nothing more is read of an input that goes on.
    pub(crate) next: Option<Position>,
    /// The batches before it held the bytes of the record, or of the blank line, that this one ends.
    pub(crate) ends_pieces: bool,
}

/// Where in an input a line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The byte of the decompressed input, from 0.
    pub offset: u64,
    /// The physical line, from 1.
    pub line: u64,
}

impl Position {
    /// The beginning of an input.
    pub const START: Self = Self { offset: 0, line: 1 };
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Whole lines; the buffer knows their ends.
    Lines(Range<usize>),
    /// One record that is the rest of its input, with `blank` blank lines before it.
    Value { range: Range<usize>, blank: u64 },
    /// One line that is too long, or such a whole input with `blank` blank lines before it.
    TooLarge { blank: u64 },
    /// Lines of white space that were too long to keep.
    Blank { lines: u64 },
    /// Some bytes of a line, or of a whole input, that is too long.
    Piece(Range<usize>),
    /// An input in UTF-16: the bytes of its first line.
    Utf16(Range<usize>),
}

/// One line of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame<'b> {
    /// A line that should hold a record.
    Record(&'b [u8]),
    /// White space only.
    Blank,
    /// Longer than the limit; its bytes where they are at hand.
    TooLarge(Option<&'b [u8]>),
    /// Some bytes of such a line, which come before it; only where they were asked for.
    Piece(&'b [u8]),
    /// The first line of an input in UTF-16, without its byte order mark.
    Utf16(&'b [u8]),
}

impl Batch {
    /// Calls `take` with each line's number and what it holds. `limit` is the longest record.
    pub(crate) fn frames(&self, limit: usize, mut take: impl FnMut(u64, Frame<'_>)) {
        let mut line = self.first_line;
        match &self.content {
            Content::Lines(range) => {
                let bytes = &self.buffer.bytes[range.clone()];
                let mut start = 0;
                for end in &self.buffer.ends {
                    take(line, frame(&bytes[start..*end as usize], limit));
                    start = *end as usize + 1;
                    line += 1;
                }
                if let Some(raw @ [_, ..]) = bytes.get(start..) {
                    take(line, frame(raw, limit));
                }
            }
            Content::Value { range, blank } => {
                (0..*blank).for_each(|i| take(line + i, Frame::Blank));
                take(line + blank, Frame::Record(&self.buffer.bytes[range.clone()]));
            }
            Content::TooLarge { blank } => {
                (0..*blank).for_each(|i| take(line + i, Frame::Blank));
                take(line + blank, Frame::TooLarge(None));
            }
            Content::Blank { lines } => (0..*lines).for_each(|i| take(line + i, Frame::Blank)),
            Content::Piece(range) => take(line, Frame::Piece(&self.buffer.bytes[range.clone()])),
            Content::Utf16(range) => take(line, Frame::Utf16(&self.buffer.bytes[range.clone()])),
        }
    }

    /// The bytes of whole lines, their ends included.
    pub(crate) fn line_bytes(&self) -> &[u8] {
        match &self.content {
            Content::Lines(range) => &self.buffer.bytes[range.clone()],
            _ => &[],
        }
    }

    /// The memory, to be used again.
    pub(crate) fn into_buffer(self) -> Buffer {
        self.buffer
    }
}

fn frame(raw: &[u8], limit: usize) -> Frame<'_> {
    if is_blank(raw) {
        Frame::Blank
    } else if raw.len() > limit {
        Frame::TooLarge(Some(raw))
    } else {
        Frame::Record(raw)
    }
}

/// Memory for a batch: what the last read left over stands right before an aligned place, at which
/// the next read begins.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    pub(super) start: usize,
    end: usize,
    /// Where the lines of a batch end: their LFs, counted from the batch's first byte.
    ends: Vec<u32>,
}

impl Buffer {
    /// Starts with `carry` and room for one read after it.
    pub(super) fn begin(&mut self, carry: &[u8]) {
        let head = carry.len().next_multiple_of(READ_ALIGN);
        let needed = READ_ALIGN + head + READ_BYTES;
        // Memory that one giant record has made grow goes back after it.
        if self.bytes.len() > 4 * needed {
            (self.bytes, self.ends) = (Vec::new(), Vec::new());
        }
        if self.bytes.len() < needed {
            self.bytes.resize(needed, 0);
        }
        let aligned = self.bytes.as_ptr().align_offset(READ_ALIGN);
        let aligned = if aligned < READ_ALIGN { aligned } else { 0 };
        self.end = aligned + head;
        self.start = self.end - carry.len();
        self.bytes[self.start..self.end].copy_from_slice(carry);
    }

    pub(super) fn data(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Finds the lines of the first `length` bytes.
    fn index(&mut self, length: usize) {
        let bytes = &self.bytes[self.start..self.start + length];
        self.ends.clear();
        self.ends.extend(memchr::memchr_iter(b'\n', bytes).map(|end| end as u32));
    }

    /// Reads until `more` bytes are added, or at least `enough` and no more are ready, or the input
    /// ends; says whether it has ended.
    fn read(&mut self, reader: &mut impl Read, enough: usize, more: usize) -> (bool, Option<io::Error>) {
        let enough = self.end + enough;
        let wanted = self.end + more;
        if self.bytes.len() < wanted {
            self.bytes.reserve_exact(wanted - self.bytes.len());
            self.bytes.resize(wanted, 0);
        }
        while self.end < wanted {
            match read_some(reader, &mut self.bytes[self.end..wanted]) {
                Ok(0) => return (true, None),
                Ok(read) => self.end += read,
                Err(error) => return (true, Some(error)),
            }
            if self.end >= enough {
                break;
            }
        }
        (false, None)
    }
}

/// How much more of a record is read that is longer than `bytes`: little, so that a giant record takes
/// little more memory than it is long.
fn growth(bytes: usize) -> usize {
    (bytes / 8).max(READ_BYTES)
}

/// Where an input could not be read further.
#[derive(Debug)]
pub(crate) struct ReadFault {
    /// The stored byte at which it happened.
    pub(crate) offset: u64,
    /// What the system or the decompressor said.
    pub(crate) error: io::Error,
}

/// Cuts one input into batches.
pub(crate) struct Framer {
    reader: Decompressed,
    format: InputFormat,
    limit: usize,
    pub(super) carry: Vec<u8>,
    /// Where the line begins that comes next.
    pub(super) next: Position,
    started: bool,
    pub(super) ended: bool,
    pub(super) fault: Option<io::Error>,
    /// The bytes of records that are too large are wanted.
    pub(super) pieces: bool,
    /// The one that is being passed on.
    pub(super) giant: Option<Giant>,
    /// What a shard has of a plain input of lines: where that begins, and where the next shard's begins.
    part: Option<(u64, Option<u64>)>,
}

impl Framer {
    /// Starts an input. `format` is how its records are told apart, as far as that is known.
    pub(crate) fn new(reader: Box<dyn Read + Send>, format: InputFormat, limit: usize) -> io::Result<Self> {
        Ok(Self::new_plain(Decompressed::new(reader)?, format, limit))
    }

    /// The same, once it is known how the input is stored.
    pub(super) fn new_plain(reader: Decompressed, format: InputFormat, limit: usize) -> Self {
        Self { format, started: false, ..Self::resume(reader, Position::START, limit) }
    }

    /// Goes on with an input of one record a line at the place where a batch of it began.
    pub(crate) fn resume(reader: Decompressed, from: Position, limit: usize) -> Self {
        Self {
            reader,
            format: InputFormat::Jsonl,
            limit,
            carry: Vec::new(),
            next: from,
            started: true,
            ended: false,
            fault: None,
            pieces: false,
            giant: None,
            part: None,
        }
    }

    /// Only the lines that begin before byte `to` of a plain input; their bytes are counted from `from` on.
    /// What is compressed, or is no input of lines, is read to its end.
    pub(crate) fn cut(mut self, from: u64, to: Option<u64>) -> Self {
        let is_cut = self.reader.is_plain() && (from > 0 || to.is_some());
        self.part = is_cut.then_some((from, to));
        self
    }

    /// Where the first line of an input of lines begins; `None` where the input cannot be cut.
    pub(super) fn first_line(mut self) -> Option<u64> {
        let is_special = self.start(&mut Buffer::default()).is_some();
        (!is_special && self.format != InputFormat::Json).then_some(self.next.offset)
    }

    /// Stored bytes that were used so far.
    pub(crate) fn stored_bytes(&self) -> u64 {
        match self.part {
            Some((from, _)) => self.next.offset - from,
            None => self.reader.stored_bytes(),
        }
    }

    /// Bytes up to the place where the next shard's lines begin.
    fn bytes_left(&self) -> Option<u64> {
        let (_, to) = self.part?;
        Some(to?.saturating_sub(self.next.offset))
    }

    /// Where the last line ends that begins in the part, if that is among the bytes that come next.
    fn end_of_part(&self, data: &[u8]) -> usize {
        let left = self.bytes_left().and_then(|left| usize::try_from(left).ok()).unwrap_or(usize::MAX);
        let rest = data.get(left.saturating_sub(1)..).unwrap_or_default();
        memchr::memchr(b'\n', rest).map_or(data.len(), |lf| left + lf)
    }

    /// The next batch; `None` at the end. A fault comes after every whole line before it.
    pub(crate) fn next(&mut self, buffer: Buffer) -> Result<Option<Batch>, ReadFault> {
        let mut buffer = buffer;
        if !self.started {
            self.started = true;
            if let Some(content) = self.start(&mut buffer) {
                let bytes = buffer.data().len() as u64;
                return Ok(Some(self.batch(buffer, content, bytes, 1)));
            }
        }
        if let Some(giant) = self.giant.take() {
            return self.next_piece(buffer, giant);
        }
        if self.bytes_left() == Some(0) {
            return Ok(None);
        }
        if self.ended && self.carry.is_empty() {
            return match self.fault.take() {
                Some(error) => Err(ReadFault { offset: self.reader.stored_bytes(), error }),
                None => Ok(None),
            };
        }
        buffer.begin(&std::mem::take(&mut self.carry));
        match self.format {
            InputFormat::Json => self.next_value(buffer),
            InputFormat::Jsonl | InputFormat::Auto => self.next_lines(buffer),
        }
    }

    /// A batch of so many bytes and lines.
    pub(super) fn batch(&mut self, buffer: Buffer, content: Content, bytes: u64, lines: u64) -> Batch {
        let first_line = self.next.line;
        self.next = Position { offset: self.next.offset + bytes, line: first_line + lines };
        let next = (!matches!(content, Content::Utf16(_))).then_some(self.next);
        Batch { buffer, content, first_line, lines, next, ends_pieces: false }
    }

    /// Reads `more` bytes, and remembers the end and the fault.
    pub(super) fn read(&mut self, buffer: &mut Buffer, more: usize) {
        self.read_enough(buffer, more, more);
    }

    /// Reads up to `more` bytes, but does not wait for them once there are enough.
    fn read_enough(&mut self, buffer: &mut Buffer, enough: usize, more: usize) {
        if !self.ended {
            let (ended, fault) = buffer.read(&mut self.reader, enough, more);
            self.ended = ended;
            self.fault = fault;
        }
    }

    /// The beginning of an input: byte order marks, and how records are told apart.
    fn start(&mut self, buffer: &mut Buffer) -> Option<Content> {
        buffer.begin(&[]);
        // How records are told apart must not depend on how much a slow writer had ready.
        let enough = if self.format == InputFormat::Auto { READ_BYTES } else { ENOUGH_BYTES };
        self.read_enough(buffer, enough, READ_BYTES);
        if buffer.data().starts_with(&[0xff, 0xfe]) || buffer.data().starts_with(&[0xfe, 0xff]) {
            // Nor must the bytes that count as read.
            self.read(buffer, READ_BYTES.saturating_sub(buffer.data().len()));
            (self.ended, self.fault, self.part) = (true, None, None);
            let line = buffer.data().get(2..).unwrap_or_default();
            let length = memchr::memchr(b'\n', line).unwrap_or(line.len());
            let start = buffer.start + 2;
            return Some(Content::Utf16(start..start + length));
        }
        if buffer.data().starts_with(&[0xef, 0xbb, 0xbf]) {
            buffer.start += 3;
            self.next.offset = 3;
        }
        if self.format == InputFormat::Auto {
            self.format = self.sniff(buffer);
        }
        if self.format == InputFormat::Json {
            self.part = None;
        }
        self.carry = buffer.data().to_vec();
        None
    }

    fn sniff(&mut self, buffer: &mut Buffer) -> InputFormat {
        loop {
            // A cut input is no longer than it is; a head beyond the limit need not grow.
            let whole = self.ended || buffer.data().len() > self.limit;
            match sniff(buffer.data(), whole) {
                Sniffed::Lines => return InputFormat::Jsonl,
                Sniffed::Value => return InputFormat::Json,
                Sniffed::Unknown => self.read(buffer, buffer.data().len().max(READ_BYTES)),
            }
        }
    }

    /// Whole lines: up to the last LF, or to the end of the input.
    fn next_lines(&mut self, mut buffer: Buffer) -> Result<Option<Batch>, ReadFault> {
        self.read_enough(&mut buffer, ENOUGH_BYTES, READ_BYTES);
        let mut searched = 0;
        loop {
            let data = buffer.data();
            let last = memchr::memrchr(b'\n', &data[searched..]);
            let end = match last {
                _ if self.ended && self.fault.is_none() => data.len(),
                Some(last) => searched + last + 1,
                None if self.ended => 0, // the only line was cut: it has no verdict
                None if data.len() > self.limit && self.pieces => return self.begin_giant(buffer, false),
                None if data.len() > self.limit => return self.skip_line(buffer),
                None => {
                    searched = data.len();
                    self.read(&mut buffer, growth(searched));
                    continue;
                }
            };
            let end = end.min(self.end_of_part(data));
            if !self.ended {
                self.carry.extend_from_slice(&data[end..]);
            }
            if end == 0 {
                return self.next(buffer);
            }
            let is_open = data[end - 1] != b'\n';
            let range = buffer.start..buffer.start + end;
            buffer.index(end);
            let lines = buffer.ends.len() as u64 + u64::from(is_open);
            return Ok(Some(self.batch(buffer, Content::Lines(range), end as u64, lines)));
        }
    }

    /// A line beyond the limit: passes over it in constant memory.
    fn skip_line(&mut self, mut buffer: Buffer) -> Result<Option<Batch>, ReadFault> {
        let (mut blank, mut bytes) = (is_blank(buffer.data()), buffer.data().len() as u64);
        loop {
            buffer.begin(&[]);
            self.read(&mut buffer, READ_BYTES);
            let data = buffer.data();
            let end = memchr::memchr(b'\n', data);
            bytes += end.map_or(data.len(), |end| end + 1) as u64;
            blank &= is_blank(&data[..end.unwrap_or(data.len())]);
            if let Some(end) = end {
                self.carry.extend_from_slice(&data[end + 1..]);
            } else if !self.ended {
                continue;
            } else if self.fault.is_some() {
                return self.next(buffer); // the line was cut
            }
            let content = if blank { Content::Blank { lines: 1 } } else { Content::TooLarge { blank: 0 } };
            return Ok(Some(self.batch(buffer, content, bytes, 1)));
        }
    }

    /// The whole input as one record.
    fn next_value(&mut self, mut buffer: Buffer) -> Result<Option<Batch>, ReadFault> {
        while !self.ended && buffer.data().len() <= self.limit {
            let more = growth(buffer.data().len());
            self.read(&mut buffer, more);
        }
        if buffer.data().len() > self.limit && self.pieces {
            return self.begin_giant(buffer, true);
        }
        if buffer.data().len() > self.limit {
            return self.skip_value(buffer);
        }
        if self.fault.is_some() {
            return self.next(buffer); // the record was cut
        }
        let data = buffer.data();
        let bytes = data.len() as u64;
        let Some(first) = data.iter().position(|byte| !is_blank(std::slice::from_ref(byte))) else {
            let is_open = data.last().is_some_and(|last| *last != b'\n');
            let (range, length) = (buffer.start..buffer.end, data.len());
            buffer.index(length);
            let lines = buffer.ends.len() as u64 + u64::from(is_open);
            return Ok((lines > 0).then(|| self.batch(buffer, Content::Lines(range), bytes, lines)));
        };
        let blank = memchr::memchr_iter(b'\n', &data[..first]).count() as u64;
        let line_start = memchr::memrchr(b'\n', &data[..first]).map_or(0, |lf| lf + 1);
        let range = buffer.start + line_start..buffer.end;
        Ok(Some(self.batch(buffer, Content::Value { range, blank }, bytes, blank + 1)))
    }

    /// A whole input beyond the limit: passes over it in constant memory.
    fn skip_value(&mut self, mut buffer: Buffer) -> Result<Option<Batch>, ReadFault> {
        let (mut blank, mut found, mut last, mut bytes) = (0, false, b'\n', 0);
        loop {
            let data = buffer.data();
            bytes += data.len() as u64;
            last = data.last().copied().unwrap_or(last);
            let first = data.iter().position(|byte| !is_blank(std::slice::from_ref(byte)));
            if !found {
                blank += memchr::memchr_iter(b'\n', &data[..first.unwrap_or(data.len())]).count() as u64;
                found = first.is_some();
            }
            if self.ended {
                break;
            }
            buffer.begin(&[]);
            self.read(&mut buffer, READ_BYTES);
        }
        if self.fault.is_some() {
            return self.next(buffer);
        }
        if !found {
            let lines = blank + u64::from(last != b'\n');
            return Ok(Some(self.batch(buffer, Content::Blank { lines }, bytes, lines)));
        }
        Ok(Some(self.batch(buffer, Content::TooLarge { blank }, bytes, blank + 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use std::io::Write;

    /// A reader that gives a few bytes at a time.
    struct Dribble(Vec<u8>, usize);

    impl Read for Dribble {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let size = self.1.min(into.len()).min(self.0.len());
            into[..size].copy_from_slice(&self.0[..size]);
            self.0.drain(..size);
            Ok(size)
        }
    }

    /// What the framer says of an input, a line each, and the fault at its end.
    fn read_all(bytes: &[u8], format: InputFormat, limit: usize, piece: usize) -> (Vec<String>, Option<u64>) {
        let mut framer = Framer::new(Box::new(Dribble(bytes.to_vec(), piece)), format, limit).unwrap();
        let (mut found, mut lines, mut buffer) = (Vec::new(), 0, Buffer::default());
        loop {
            match framer.next(buffer) {
                Ok(Some(batch)) => {
                    lines += batch.lines;
                    batch.frames(limit, |line, frame| {
                        found.push(match frame {
                            Frame::Record(raw) => format!("{line}:{}", String::from_utf8_lossy(raw)),
                            Frame::TooLarge(_) => format!("{line}:TooLarge"),
                            Frame::Utf16(_) => format!("{line}:Utf16"),
                            other => format!("{line}:{other:?}"),
                        });
                    });
                    buffer = batch.into_buffer();
                }
                Ok(None) => {
                    assert_eq!(lines, found.len() as u64);
                    return (found, None);
                }
                Err(fault) => return (found, Some(fault.offset)),
            }
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn blank_lines_are_counted_and_the_last_needs_no_lf() {
        let text = b"\xef\xbb\xbf{\"a\":1}\r\n\n \t\r\n{\"b\":2}";
        let expected = ["1:{\"a\":1}\r", "2:Blank", "3:Blank", "4:{\"b\":2}"];
        for piece in [1, 3, 1 << 20] {
            assert_eq!(read_all(text, InputFormat::Auto, 100, piece).0, expected);
        }
    }

    #[test]
    fn a_value_over_lines_is_one_record_on_its_first_line() {
        let (found, _) = read_all(b"\n\n  {\n\"a\": 1\n}\n\n", InputFormat::Auto, 100, 2);
        assert_eq!(found, ["1:Blank", "2:Blank", "3:  {\n\"a\": 1\n}\n\n"]);
    }

    #[test]
    fn long_lines_are_passed_over() {
        let long = "x".repeat(3 * READ_BYTES);
        let blank = " ".repeat(2 * READ_BYTES);
        let text = format!("a\n{long}\nb\n{blank}\nabcdef\n{long}");
        let expected = ["1:a", "2:TooLarge", "3:b", "4:Blank", "5:TooLarge", "6:TooLarge"];
        assert_eq!(read_all(text.as_bytes(), InputFormat::Jsonl, 5, 1 << 16).0, expected);
        let value = format!("\n{{\n{long}}}");
        assert_eq!(read_all(value.as_bytes(), InputFormat::Json, 50, 1 << 16).0, ["1:Blank", "2:TooLarge"]);
        assert_eq!(read_all(blank.as_bytes(), InputFormat::Json, 50, 1 << 16).0, ["1:Blank"]);
    }

    #[test]
    fn a_line_longer_than_a_read_stays_whole() {
        let long = "y".repeat(5 * READ_BYTES + 17);
        let text = format!("a\n{long}\nb");
        let expected = ["1:a".to_owned(), format!("2:{long}"), "3:b".to_owned()];
        assert_eq!(read_all(text.as_bytes(), InputFormat::Jsonl, 1 << 30, 1 << 17).0, expected);
    }

    #[test]
    fn utf_16_is_named_once() {
        assert_eq!(read_all(b"\xff\xfe{\0}\0\n\0", InputFormat::Jsonl, 100, 1).0, ["1:Utf16"]);
        assert_eq!(read_all(b"\xfe\xff\0{\0}", InputFormat::Auto, 100, 64).0, ["1:Utf16"]);
        assert_eq!(read_all(&gzip(b"\xff\xfe{\0"), InputFormat::Auto, 100, 64).0, ["1:Utf16"]);
    }

    #[test]
    fn every_member_and_frame_is_read() {
        let members = [gzip(b"a\nb"), gzip(b""), gzip(b"c\nd\n")].concat();
        let expected = ["1:a", "2:bc", "3:d"];
        assert_eq!(read_all(&members, InputFormat::Jsonl, 100, 7).0, expected);
        let padded = [members.clone(), vec![0; 1000]].concat();
        assert_eq!(
            read_all(&padded, InputFormat::Jsonl, 100, 7),
            (expected.map(String::from).to_vec(), None)
        );
        let frames =
            [zstd::encode_all(&b"a\nb"[..], 0).unwrap(), zstd::encode_all(&b"c\nd\n"[..], 0).unwrap()]
                .concat();
        assert_eq!(
            read_all(&frames, InputFormat::Jsonl, 100, 5),
            (expected.map(String::from).to_vec(), None)
        );
    }

    #[test]
    fn a_fault_comes_after_every_whole_line() {
        let text: Vec<u8> = (0..200_000).flat_map(|i| format!("{i}\n").into_bytes()).collect();
        let whole = gzip(&text);
        let (found, fault) = read_all(&whole[..whole.len() / 2], InputFormat::Jsonl, 100, 4096);
        assert_eq!(fault, Some(whole.len() as u64 / 2));
        assert!(found.len() > 50_000, "{}", found.len());
        assert!(found.iter().enumerate().all(|(i, line)| *line == format!("{}:{i}", i + 1)));

        let mut wrong_crc = gzip(b"a\nb\nc");
        let crc = wrong_crc.len() - 8;
        wrong_crc[crc] ^= 1;
        let (found, fault) = read_all(&wrong_crc, InputFormat::Jsonl, 100, 4096);
        assert_eq!((found, fault.is_some()), (vec!["1:a".to_owned(), "2:b".to_owned()], true));

        let garbage = [gzip(b"a\n"), b"garbage".to_vec()].concat();
        let (found, fault) = read_all(&garbage, InputFormat::Jsonl, 100, 4096);
        assert_eq!((found, fault), (vec!["1:a".to_owned()], Some(garbage.len() as u64 - 7)));

        let frame = zstd::encode_all(&text[..], 0).unwrap();
        let (found, fault) = read_all(&frame[..frame.len() - 5], InputFormat::Jsonl, 100, 4096);
        assert!(fault.is_some() && !found.is_empty());
    }

    #[test]
    fn a_corrupt_stream_gives_all_that_came_before_whatever_the_reads() {
        let text: Vec<u8> =
            (0..40_000).flat_map(|i| format!("{i} {}\n", i * 7919 % 1_000_003).into_bytes()).collect();
        for whole in [gzip(&text), zstd::encode_all(&text[..], 3).unwrap()] {
            let mut corrupt = whole.clone();
            let at = whole.len() * 3 / 4;
            corrupt[at..at + 16].fill(0xff);
            let (expected, fault) = read_all(&corrupt, InputFormat::Jsonl, 100, 1);
            assert!(fault.is_some() && expected.len() > 10_000, "{}", expected.len());
            for piece in [7, 4096, 1 << 20] {
                let (found, fault) = read_all(&corrupt, InputFormat::Jsonl, 100, piece);
                assert!(fault.is_some());
                assert_eq!(found.len(), expected.len(), "reads of {piece}");
            }
        }
    }

    /// A frame of several blocks that fits into one read: a decoder that is given all of it at once
    /// says nothing of the blocks before the corrupt one.
    #[test]
    fn a_small_corrupt_frame_gives_its_whole_blocks() {
        let text: Vec<u8> =
            (0..30_000).flat_map(|i| format!("{}\n", i * 7919 % 1_000_003).into_bytes()).collect();
        let mut frame = zstd::encode_all(&text[..], 3).unwrap();
        assert!(frame.len() < 128 * 1024, "{}", frame.len());
        let at = frame.len() * 9 / 10;
        frame[at..at + 16].fill(0xff);
        let (expected, _) = read_all(&frame, InputFormat::Jsonl, 100, 1);
        assert!(expected.len() > 10_000, "{}", expected.len());
        for piece in [500, 5_000, 1 << 20] {
            let (found, fault) = read_all(&frame, InputFormat::Jsonl, 100, piece);
            assert!(fault.is_some());
            assert_eq!(found.len(), expected.len(), "reads of {piece}");
        }
    }

    proptest! {
        /// The naive twin: split the whole input at LF.
        #[test]
        fn lines_agree_with_their_naive_twin(text in "[ab \\n\\r]{0,60}", piece in 1usize..9, limit in 1usize..6) {
            let mut naive: Vec<&str> = text.split('\n').collect();
            if naive.last() == Some(&"") { naive.pop(); }
            let naive: Vec<String> = naive.iter().enumerate().map(|(i, line)| {
                let line_number = i + 1;
                if is_blank(line.as_bytes()) { format!("{line_number}:Blank") }
                else if line.len() > limit { format!("{line_number}:TooLarge") }
                else { format!("{line_number}:{line}") }
            }).collect();
            prop_assert_eq!(read_all(text.as_bytes(), InputFormat::Jsonl, limit, piece).0, naive);
        }
    }
}

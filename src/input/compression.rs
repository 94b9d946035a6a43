//! gzip and zstd, told by their first bytes and never by a name.

//!
//! The decoders are driven here, call by call: a reader of theirs drops what a call has decompressed
//! before it met a fault, and with it whole records.

use flate2::{Crc, Decompress, FlushDecompress, Status};
use std::io::{self, BufRead, Read};
use zstd::stream::raw::{InBuffer, Operation, OutBuffer};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A reader of stored bytes that knows how many were used.
pub(crate) struct Stored {
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    used: u64,
}

impl Stored {
    const BUFFER_BYTES: usize = 128 * 1024;

    fn new(reader: Box<dyn Read + Send>) -> Self {
        Self { reader, buffer: vec![0; Self::BUFFER_BYTES], at: 0, filled: 0, used: 0 }
    }

    /// What comes next, at least `wanted` bytes of it unless the input ends before.
    fn peek(&mut self, wanted: usize) -> io::Result<&[u8]> {
        if self.filled - self.at < wanted {
            self.buffer.copy_within(self.at..self.filled, 0);
            self.filled -= self.at;
            self.at = 0;
        }
        while self.filled < wanted {
            match read_some(&mut self.reader, &mut self.buffer[self.filled..])? {
                0 => break,
                read => self.filled += read,
            }
        }
        Ok(&self.buffer[self.at..self.filled])
    }
}

/// One read that is not interrupted.
pub(super) fn read_some(reader: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

impl Read for Stored {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // Large reads of plain inputs go straight to where they are wanted.
        if self.at == self.filled && into.len() >= Self::BUFFER_BYTES {
            let read = read_some(&mut self.reader, into)?;
            self.used += read as u64;
            return Ok(read);
        }
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Stored {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.filled {
            (self.at, self.filled) = (0, 0);
            self.filled = read_some(&mut self.reader, &mut self.buffer)?;
        }
        Ok(&self.buffer[self.at..self.filled])
    }

    fn consume(&mut self, bytes: usize) {
        self.at += bytes;
        self.used += bytes as u64;
    }
}

/// The decompressed bytes of an input.
pub(crate) enum Decompressed {
    Plain(Box<Stored>),
    Gzip(Box<Faultless<Gzip>>),
    Zstd(Box<Faultless<Zstd>>),
}

impl Decompressed {
    /// A plain input that is read from a byte on.
    pub(super) fn plain(reader: Box<dyn Read + Send>, offset: u64) -> Self {
        Self::Plain(Box::new(Stored { used: offset, ..Stored::new(reader) }))
    }

    /// Whether the input is stored as it is.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// Passes over so many decompressed bytes.
    pub(super) fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let passed = io::copy(&mut Read::take(&mut *self, bytes), &mut io::sink())?;
        if passed < bytes { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// Looks at the first bytes and reads what they announce.
    pub(super) fn new(reader: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut stored = Stored::new(reader);
        let head = stored.peek(ZSTD.len())?;
        Ok(if head.starts_with(&GZIP) {
            Self::Gzip(Box::new(Faultless::new(Gzip::new(), stored)))
        } else if is_zstd(head) {
            Self::Zstd(Box::new(Faultless::new(Zstd::new()?, stored)))
        } else {
            Self::Plain(Box::new(stored))
        })
    }

    /// Stored bytes that were used so far: where a fault is, when reading has just failed.
    pub(super) fn stored_bytes(&self) -> u64 {
        match self {
            Self::Plain(stored) => stored.used,
            Self::Gzip(reader) => reader.stored.used,
            Self::Zstd(reader) => reader.stored.used,
        }
    }
}

/// A zstd frame, or one of the skippable frames that may stand before it.
fn is_zstd(head: &[u8]) -> bool {
    head.starts_with(&ZSTD) || matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

impl Read for Decompressed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stored) => stored.read(into),
            Self::Gzip(reader) => reader.read(into),
            Self::Zstd(reader) => reader.read(into),
        }
    }
}

/// Decompresses step by step.
pub(crate) trait Decoder {
    /// Decompresses some of `stored` into `into`, and says how many bytes that gave, also where it met
    /// a fault; none and no fault at the end.
    fn step(&mut self, stored: &mut Stored, into: &mut [u8]) -> (usize, io::Result<()>);
}

/// Gives every byte that was decompressed before a fault, then the fault.
pub(crate) struct Faultless<D> {
    decoder: D,
    stored: Stored,
    fault: Option<io::Error>,
}

impl<D: Decoder> Faultless<D> {
    fn new(decoder: D, stored: Stored) -> Self {
        Self { decoder, stored, fault: None }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        match self.decoder.step(&mut self.stored, into) {
            (0, Err(fault)) => Err(fault),
            (given, result) => {
                self.fault = result.err();
                Ok(given)
            }
        }
    }
}

fn corrupt(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn cut_short(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, what)
}

/// Every member of a gzip file, one after the other (RFC 1952).
pub(crate) struct Gzip {
    /// The deflate stream of the member that is being read; `None` between two members.
    member: Option<Decompress>,
    crc: Crc,
    ended: bool,
}

impl Gzip {
    fn new() -> Self {
        Self { member: None, crc: Crc::new(), ended: false }
    }

    /// The next member's header; zeros up to the end of the file, or its end, end it all.
    fn begin_member(&mut self, stored: &mut Stored) -> io::Result<()> {
        if stored.peek(GZIP.len())?.starts_with(&GZIP) {
            skip_header(stored)?;
            self.member = Some(Decompress::new(false));
            self.crc.reset();
            return Ok(());
        }
        loop {
            let padding = stored.fill_buf()?;
            let zeros = padding.iter().take_while(|byte| **byte == 0).count();
            let (all, end) = (zeros == padding.len(), padding.is_empty());
            stored.consume(zeros);
            if !all {
                return Err(corrupt("bytes after the last gzip member"));
            }
            if end {
                self.ended = true;
                return Ok(());
            }
        }
    }

    /// The checksum and length at the end of a member.
    fn end_member(&mut self, stored: &mut Stored) -> io::Result<()> {
        self.member = None;
        let trailer = take(stored, 8)?;
        let number =
            |at: usize| trailer[at..at + 4].iter().rev().fold(0u32, |n, byte| n << 8 | u32::from(*byte));
        if number(0) != self.crc.sum() {
            return Err(corrupt("the gzip member's checksum is another than its content has"));
        }
        if number(4) != self.crc.amount() {
            return Err(corrupt("the gzip member's length is another than its content has"));
        }
        Ok(())
    }
}

impl Decoder for Gzip {
    fn step(&mut self, stored: &mut Stored, into: &mut [u8]) -> (usize, io::Result<()>) {
        while !self.ended && !into.is_empty() {
            let Some(member) = &mut self.member else {
                match self.begin_member(stored) {
                    Ok(()) => continue,
                    Err(fault) => return (0, Err(fault)),
                }
            };
            let input = match stored.fill_buf() {
                Ok(input) => input,
                Err(fault) => return (0, Err(fault)),
            };
            let is_last = input.is_empty();
            let before = (member.total_in(), member.total_out());
            let status = member.decompress(input, into, FlushDecompress::None);
            let used = (member.total_in() - before.0) as usize;
            let given = (member.total_out() - before.1) as usize;
            stored.consume(used);
            self.crc.update(&into[..given]);
            let result = match status {
                Ok(Status::StreamEnd) => self.end_member(stored),
                Ok(_) if is_last && given == 0 => Err(cut_short("the gzip stream ends before its end")),
                Ok(_) => Ok(()),
                Err(_) => Err(corrupt("the gzip stream is corrupt")),
            };
            if given > 0 || result.is_err() {
                return (given, result);
            }
        }
        (0, Ok(()))
    }
}

/// Passes over a gzip header (RFC 1952, section 2.3).
fn skip_header(stored: &mut Stored) -> io::Result<()> {
    let fixed = take(stored, 10)?;
    let (method, flags) = (fixed[2], fixed[3]);
    if method != 8 || flags & 0xe0 != 0 {
        return Err(corrupt("the gzip header is of no kind that is known"));
    }
    if flags & 0x04 != 0 {
        let length = take(stored, 2)?;
        take(stored, usize::from(length[0]) | usize::from(length[1]) << 8)?;
    }
    for is_there in [flags & 0x08, flags & 0x10] {
        // A name, then a comment, each ended by a zero.
        while is_there != 0 && take(stored, 1)?[0] != 0 {}
    }
    if flags & 0x02 != 0 {
        take(stored, 2)?;
    }
    Ok(())
}

/// The next bytes of a gzip file's frame; at most 64 KiB are asked for.
fn take(stored: &mut Stored, count: usize) -> io::Result<Vec<u8>> {
    let bytes = stored.peek(count)?.get(..count).map(<[u8]>::to_vec);
    let bytes = bytes.ok_or_else(|| cut_short("the gzip stream ends before its end"))?;
    stored.consume(count);
    Ok(bytes)
}

/// Every frame of a zstd file.
pub(crate) struct Zstd {
    frames: zstd::stream::raw::Decoder<'static>,
    in_frame: bool,
    /// Bytes that the decoder is given next: what it asked for and no more, so that a call decodes
    /// one block. Of a call that fails it tells nothing, not even what came before the fault.
    due: usize,
}

/// The first bytes of a frame, from which the decoder knows what it needs (RFC 8878, section 3.1.1).
const FRAME_START_BYTES: usize = 5;

impl Zstd {
    fn new() -> io::Result<Self> {
        Ok(Self { frames: zstd::stream::raw::Decoder::new()?, in_frame: false, due: FRAME_START_BYTES })
    }
}

impl Decoder for Zstd {
    fn step(&mut self, stored: &mut Stored, into: &mut [u8]) -> (usize, io::Result<()>) {
        loop {
            let input = match stored.fill_buf() {
                Ok(input) => input,
                Err(fault) => return (0, Err(fault)),
            };
            let is_last = input.is_empty();
            let input = &input[..self.due.min(input.len())];
            let (mut input, mut output) = (InBuffer::around(input), OutBuffer::around(&mut *into));
            let hint = self.frames.run(&mut input, &mut output);
            let (used, given) = (input.pos(), output.pos());
            stored.consume(used);
            if let (Ok(hint), true) = (&hint, used + given > 0) {
                // Nothing more is due once a frame has ended.
                self.in_frame = *hint != 0;
                self.due = if self.in_frame { *hint } else { FRAME_START_BYTES };
            }
            // What did not fit is handed out first, with no input that could fail in the same call.
            if given == into.len() {
                self.due = 0;
            } else if self.due == 0 {
                self.due = FRAME_START_BYTES;
            }
            if given > 0 || hint.is_err() {
                return (given, hint.map(drop));
            }
            if is_last {
                let whole = if self.in_frame {
                    Err(cut_short("the zstd stream ends before its end"))
                } else {
                    Ok(())
                };
                return (0, whole);
            }
        }
    }
}

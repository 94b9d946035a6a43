//! gzip and zstd, told by their first bytes and never by a name.

use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, Read};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A reader of stored bytes that knows how many were used.
struct Stored {
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
pub(super) enum Decompressed {
    Plain(PlainReader),
    Gzip(Box<GzipReader>),
    Zstd(ZstdReader),
}

/// Bytes that are stored as they are.
pub(super) struct PlainReader(Stored);

/// Every member of a gzip file, one after the other. `None` once the last one has ended.
pub(super) struct GzipReader {
    member: Option<GzDecoder<Stored>>,
    used: u64,
}

/// Every frame of a zstd file.
pub(super) struct ZstdReader(zstd::Decoder<'static, Stored>);

impl Decompressed {
    /// Looks at the first bytes and reads what they announce.
    pub(super) fn new(reader: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut stored = Stored::new(reader);
        let head = stored.peek(ZSTD.len())?;
        Ok(if head.starts_with(&GZIP) {
            Self::Gzip(Box::new(GzipReader { member: Some(GzDecoder::new(stored)), used: 0 }))
        } else if is_zstd(head) {
            Self::Zstd(ZstdReader(zstd::Decoder::with_buffer(stored)?))
        } else {
            Self::Plain(PlainReader(stored))
        })
    }

    /// Stored bytes that were used so far: where a fault is, when reading has just failed.
    pub(super) fn stored_bytes(&self) -> u64 {
        match self {
            Self::Plain(reader) => reader.0.used,
            Self::Gzip(reader) => reader.member.as_ref().map_or(reader.used, |member| member.get_ref().used),
            Self::Zstd(reader) => reader.0.get_ref().used,
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
            Self::Plain(reader) => reader.0.read(into),
            Self::Gzip(reader) => reader.read(into),
            Self::Zstd(reader) => reader.0.read(into),
        }
    }
}

impl GzipReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            self.next_member()?;
        }
        Ok(0)
    }

    /// After the end of a member: another one, zeros up to the end, or the end.
    fn next_member(&mut self) -> io::Result<()> {
        let Some(ended) = self.member.take() else { return Ok(()) };
        let mut stored = ended.into_inner();
        if stored.peek(GZIP.len())?.starts_with(&GZIP) {
            self.member = Some(GzDecoder::new(stored));
            return Ok(());
        }
        loop {
            let padding = stored.fill_buf()?;
            let zeros = padding.iter().take_while(|byte| **byte == 0).count();
            let (all, end) = (zeros == padding.len(), padding.is_empty());
            stored.consume(zeros);
            self.used = stored.used;
            if !all {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "bytes after the last gzip member"));
            }
            if end {
                return Ok(());
            }
        }
    }
}

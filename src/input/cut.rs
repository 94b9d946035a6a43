//! The part of an input that one shard checks.

use super::compression::Decompressed;
use super::framing::{Framer, Position, ReadFault};
use super::problem::Trouble;
use super::source::Input;
use crate::limits::READ_BYTES;
use crate::settings::InputFormat;
use crate::shard::Cut;
use crate::storage::Storage;
use std::io::{self, Read};
use std::path::Path;

/// What kept an input from being opened.
type OpenFault = (Trouble, io::Error);

fn cannot_open(error: io::Error) -> OpenFault {
    (Trouble::Open, error)
}

impl Input {
    /// Opens the part of it that a shard has; `None` where no record begins in it. `go_on` is asked again
    /// and again while lines before the part are counted.
    pub(crate) fn open_cut(
        self,
        cut: Cut,
        format: InputFormat,
        limit: usize,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Framer>, OpenFault> {
        if cut.from == 0 {
            let reader = self.open().map_err(cannot_open)?;
            return Framer::new(reader, format, limit)
                .map(|framer| Some(framer.cut(0, cut.to)))
                .map_err(cannot_open);
        }
        let (storage, path) = self.file().map_err(cannot_open)?;
        let head = Decompressed::new(storage.open(path).map_err(cannot_open)?).map_err(cannot_open)?;
        if !head.is_plain() {
            return Ok(None);
        }
        let Some(first) = Framer::new_plain(head, format, limit).first_line() else { return Ok(None) };
        let begin = if cut.from <= first {
            Some(Position { offset: first, line: 1 })
        } else {
            line_from(storage.as_ref(), path, cut.from, go_on)
                .map_err(|fault| (Trouble::Read { offset: fault.offset }, fault.error))?
        };
        let Some(begin) = begin.filter(|begin| cut.to.is_none_or(|to| begin.offset < to)) else {
            return Ok(None);
        };
        let reader = storage.open_at(path, begin.offset).map_err(cannot_open)?;
        let framer = Framer::resume(Decompressed::plain(reader, begin.offset), begin, limit);
        Ok(Some(framer.cut(begin.offset, cut.to)))
    }

    /// Goes on with it at a place where a batch of the same part began; `used` bytes of the part come before.
    pub(crate) fn resume(
        self,
        cut: Cut,
        from: Position,
        used: u64,
        limit: usize,
    ) -> Result<Framer, OpenFault> {
        let reader = self.open_at(from.offset).map_err(cannot_open)?;
        Ok(Framer::resume(reader, from, limit).cut(from.offset.saturating_sub(used), cut.to))
    }
}

/// The first line that begins at byte `from` or after; `None` if there is none, or if it is not to go on.
fn line_from(
    storage: &dyn Storage,
    path: &Path,
    from: u64,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Position>, ReadFault> {
    let fault = |offset: u64| move |error: io::Error| ReadFault { offset, error };
    let mut file = storage.open(path).map_err(fault(0))?;
    let mut buffer = vec![0; READ_BYTES];
    let (mut offset, mut line) = (0u64, 1u64);
    // The line begins after the first LF from here on.
    let search_from = from - 1;
    while go_on() {
        let read = match file.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(fault(offset))?,
        };
        if read == 0 {
            return Ok(None);
        }
        let bytes = &buffer[..read];
        let before = search_from.saturating_sub(offset).min(read as u64) as usize;
        line += memchr::memchr_iter(b'\n', &bytes[..before]).count() as u64;
        if let Some(lf) = memchr::memchr(b'\n', &bytes[before..]) {
            return Ok(Some(Position { offset: offset + (before + lf) as u64 + 1, line: line + 1 }));
        }
        offset += read as u64;
    }
    Ok(None)
}

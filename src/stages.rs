//! Single stages, for benches and fuzz targets. Not part of the API: anything here may change.

use crate::decode::json::FastReader;
use crate::decode::{Findings, Lists, Tree, decode};
use crate::input::{Buffer, Frame, Framer};
use crate::settings::InputFormat;
use std::cell::OnceCell;
use std::io::Read;

/// Cuts an input into lines, and counts records and blank lines.
pub fn frame(reader: impl Read + Send + 'static, limit: usize) -> (u64, u64) {
    let (mut records, mut blank) = (0, 0);
    let Ok(mut framer) = Framer::new(Box::new(reader), InputFormat::Jsonl, limit) else { return (0, 0) };
    let mut buffer = Buffer::default();
    while let Ok(Some(batch)) = framer.next(buffer) {
        batch.frames(limit, |_, frame| match frame {
            Frame::Blank => blank += 1,
            _ => records += 1,
        });
        buffer = batch.into_buffer();
    }
    (records, blank)
}

/// Decodes records on the fast path alone.
#[derive(Default)]
pub struct Decoder(FastReader);

impl Decoder {
    /// Whether the record was read and has the shape of one.
    pub fn decode(&mut self, record: &[u8]) -> bool {
        let Some(read) = self.0.read(record) else { return false };
        let inner: OnceCell<Tree<'_>> = OnceCell::new();
        let mut findings = Findings::default();
        let decoded =
            decode(read.root(), &read, None, None, &inner, Lists::default(), &mut findings).is_some();
        let memory = read.into_memory();
        self.0.finish(memory, record.len());
        decoded
    }
}

//! Shared documents from their file: input → decode → the index, before the first record.

use crate::decode::json::{FastReader, read_carefully};
use crate::decode::{Decoded, Findings, lone_document};
use crate::diagnostic::Diagnostic;
use crate::error::Error;
use crate::hash::Fnv;
use crate::input::{Buffer, Frame, Framer, Input};
use crate::limits::{DOCUMENT_LINE_SLACK, RECORD_BYTES_CEILING};
use crate::model::Content;
use crate::output::message;
use crate::settings::InputFormat;
use crate::shared::{NotAdded, SharedBuilder, SharedDocuments};

impl SharedDocuments {
    /// Reads documents, one `{"path": …, "content": …}` a line, under the rules that hold for records:
    /// compressed or not, strict JSON, blank lines and other members passed over. Contents and paths may take
    /// `max_bytes`.
    ///
    /// ```
    /// use sourcecheck::{Checker, Input, Settings, SharedDocuments, Status};
    /// use std::sync::Arc;
    ///
    /// let lines: &[u8] = br#"{"path":"a","content":"Hello, I am GPT"}
    /// {"path":"b","content":"I am a model"}"#;
    /// let documents = SharedDocuments::read(Input::from_reader("documents", lines), 1_000_000)?;
    /// let settings = Settings { documents: Some(Arc::new(documents)), ..Settings::default() };
    /// let record = br#"{"annotations": [{
    ///   "claim": {"path": "a", "start": {"line": 1, "str": "I"}, "end": {"line": 1, "str": "GPT"}},
    ///   "sources": [{"path": "b", "start": {"line": 1, "str": "I"}, "end": {"line": 1, "str": "model"},
    ///                "polarity": "supports", "confidence": 0.9}]}]}"#;
    /// assert_eq!(Checker::new(settings).check(record).status, Status::Valid);
    /// # Ok::<(), sourcecheck::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be opened or read, a line of it is no document, or they take more than `max_bytes`.
    pub fn read(input: Input, max_bytes: u64) -> Result<Self, Error> {
        let limit = line_limit(max_bytes);
        let name = input.label().to_owned();
        let mut loader = Loader {
            fast: FastReader::default(),
            taker: Taker { name, max_bytes, builder: SharedBuilder::new(), places: Vec::new() },
        };
        let open = input.open().and_then(|reader| Framer::new(reader, InputFormat::Jsonl, limit));
        // A line without an end is noticed on the way, in pieces.
        let open = open.map(Framer::with_pieces);
        let mut framer = open.map_err(|error| Error::open(&loader.taker.name, error))?;
        let (mut hash, mut buffer) = (Fnv::default(), Buffer::default());
        loop {
            let batch = match framer.next(buffer) {
                Ok(Some(batch)) => batch,
                Ok(None) => return Ok(loader.taker.builder.finish(hash.finish())),
                Err(fault) => {
                    return Err(Error::read(
                        &loader.taker.name,
                        format!(
                            "cannot be read further at stored byte {}: {}; every shared document is needed before the first record is checked",
                            fault.offset, fault.error
                        ),
                    ));
                }
            };
            hash.write(batch.line_bytes());
            let mut taken = Ok(());
            batch.frames(limit, |line, frame| {
                if taken.is_ok() {
                    taken = loader.take(line, frame);
                }
            });
            taken?;
            buffer = batch.into_buffer();
        }
    }
}

/// The longest line of a file of documents.
fn line_limit(max_bytes: u64) -> usize {
    let limit = usize::try_from(max_bytes.saturating_add(DOCUMENT_LINE_SLACK)).unwrap_or(usize::MAX);
    limit.min(RECORD_BYTES_CEILING)
}

struct Loader {
    fast: FastReader,
    taker: Taker,
}

impl Loader {
    fn take(&mut self, line: u64, frame: Frame<'_>) -> Result<(), Error> {
        match frame {
            Frame::Blank => Ok(()),
            Frame::Piece(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => Ok(()),
            Frame::Record(raw) => self.take_line(line, raw),
            Frame::TooLarge(_) | Frame::Piece(_) => Err(self.taker.too_long(line)),
            Frame::Utf16(_) => {
                Err(self.taker.error(line, "the file is UTF-16, which is not read; convert it to UTF-8"))
            }
        }
    }

    fn take_line(&mut self, line: u64, raw: &[u8]) -> Result<(), Error> {
        let Self { fast, taker } = self;
        if let Some(record) = fast.read(raw) {
            let found = lone_document(record.root(), &record, &mut Findings::default());
            let taken = found.map(|(path, content)| taker.add(line, path, &content));
            let memory = record.into_memory();
            fast.finish(memory, raw.len());
            if let Some(taken) = taken {
                return taken;
            }
        }
        // What is wrong is told by the reader that knows the place.
        let tree = read_carefully(raw).map_err(|fault| taker.fault(line, &fault.diagnostic(raw)))?;
        let mut findings = Findings::default();
        match (lone_document(&tree, &Decoded, &mut findings), findings.errors.first()) {
            (Some((path, content)), _) => taker.add(line, path, &content),
            (None, Some(fault)) => Err(taker.fault(line, fault)),
            (None, None) => Err(Error::defect("a document was refused without a reason")),
        }
    }
}

struct Taker {
    /// The file's name, for messages.
    name: String,
    max_bytes: u64,
    builder: SharedBuilder,
    /// The line of each document.
    places: Vec<u64>,
}

impl Taker {
    fn add(&mut self, line: u64, path: &str, content: &Content<'_>) -> Result<(), Error> {
        match self.builder.add(path, content) {
            Ok(()) => self.places.push(line),
            Err(NotAdded::SamePath(first)) => {
                let first = self.places.get(first as usize).copied().unwrap_or(0);
                let what = format!(
                    "the document on line {first} has the path {path:?} too; leave one of the two out"
                );
                return Err(self.error(line, &what));
            }
            Err(NotAdded::TooMany) => {
                return Err(self.error(line, "there are too many documents; split the file"));
            }
        }
        let bytes = self.builder.bytes();
        if bytes > self.max_bytes {
            return Err(Error::setting(format!(
                "{}:{line}: the shared documents up to here take {bytes} bytes, and --max-documents-bytes is {}; raise it, if there is memory for all of them",
                self.name, self.max_bytes
            )));
        }
        Ok(())
    }

    fn too_long(&self, line: u64) -> Error {
        let (name, limit) = (&self.name, line_limit(self.max_bytes));
        Error::setting(format!(
            "{name}:{line}: the line is longer than {limit} bytes, more than --max-documents-bytes {} allows for; raise it, or split the document",
            self.max_bytes
        ))
    }

    fn error(&self, line: u64, what: &str) -> Error {
        Error::read(format!("{}:{line}", self.name), what)
    }

    /// What is wrong with a line, and what should stand there.
    fn fault(&self, line: u64, fault: &Diagnostic) -> Error {
        let pointer = fault.pointer.to_string();
        let at = if pointer.is_empty() { String::new() } else { format!(" at {pointer}") };
        let what = format!(
            "{}{at} ({}); each line is one document, {{\"path\": …, \"content\": …}}",
            message(fault),
            fault.rule.name()
        );
        self.error(line, &what)
    }
}

//! Documents that every record of a run may point into, held and indexed once.

use crate::limits::{LONG_LINE_BYTES, WHOLE_TEXT_BYTES};
use crate::model::{Content, Held};
use crate::text::{LineIndex, Sentences, TextPart, WINDOW, count_non_white_space, is_countable};
use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

/// Documents that records may point into beside their own; read with
/// [`SharedDocuments::read`](SharedDocuments::read) and given in
/// [`Settings::documents`](crate::Settings::documents).
///
/// It takes the memory of the contents, 4 bytes a line and some 150 a document; for documents that claims name,
/// 4 bytes a sentence more.
pub struct SharedDocuments {
    /// The contents, one after the other, and a window more.
    text: String,
    documents: Vec<SharedDocument>,
    paths: HashMap<Box<str>, u32>,
    bytes: u64,
    hash: u64,
    with_cr: u64,
    first_with_cr: Option<u32>,
}

struct SharedDocument {
    start: usize,
    end: usize,
    lines: LineIndex,
    has_long_line: bool,
    /// Code points that are not White_Space, once somebody has asked.
    chars: OnceLock<u64>,
    /// The same of its sentences.
    sentences: OnceLock<Box<SentenceIndex>>,
}

/// The sentences of a text.
pub(crate) struct SentenceIndex {
    /// Where each begins, those that do not count too.
    pub(crate) starts: Vec<u32>,
    /// How many count.
    pub(crate) countable: u64,
}

/// The most that are held: refs name a document by 32 bits, a record's own ones among them.
const MOST_DOCUMENTS: usize = 1 << 31;

impl SharedDocuments {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Bytes of all contents and paths.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The FNV-1a hash (64 bits) of the decompressed bytes that they were read from, a byte order mark apart.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The content of the document with this path.
    pub fn content(&self, path: &str) -> Option<&str> {
        self.find(path).map(|document| self.text(document))
    }

    /// How many contents hold CR, and the path of the first.
    pub fn with_cr(&self) -> Option<(u64, &str)> {
        let first = self.first_with_cr?;
        let (path, _) = self.paths.iter().find(|(_, document)| **document == first)?;
        Some((self.with_cr, path))
    }

    /// The place of the document with this path.
    #[inline]
    pub(crate) fn find(&self, path: &str) -> Option<u32> {
        self.paths.get(path).copied()
    }

    fn at(&self, document: u32) -> Option<&SharedDocument> {
        self.documents.get(document as usize)
    }

    /// A document's content.
    pub(crate) fn text(&self, document: u32) -> &str {
        self.at(document).and_then(|found| self.text.get(found.start..found.end)).unwrap_or("")
    }

    /// A document's content and what follows it in memory, and its lines.
    #[inline]
    pub(crate) fn page(&self, document: u32) -> Option<(&[u8], &LineIndex)> {
        let found = self.at(document)?;
        Some((self.text.as_bytes().get(found.start..)?, &found.lines))
    }

    /// Whether a line of a document has [`LONG_LINE_BYTES`].
    pub(crate) fn has_long_line(&self, document: u32) -> bool {
        self.at(document).is_some_and(|found| found.has_long_line)
    }

    /// How many code points of a document are not White_Space.
    pub(crate) fn chars(&self, document: u32) -> u64 {
        let count = || count_non_white_space(self.text(document));
        self.at(document).map_or(0, |found| *found.chars.get_or_init(count))
    }

    /// The sentences of a document.
    pub(crate) fn sentences(&self, document: u32) -> Option<&SentenceIndex> {
        let index = || Box::new(SentenceIndex::new(self.text(document)));
        Some(self.at(document)?.sentences.get_or_init(index))
    }
}

/// What they hold is left out.
impl fmt::Debug for SharedDocuments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedDocuments")
            .field("len", &self.len())
            .field("bytes", &self.bytes)
            .field("hash", &self.hash)
            .finish_non_exhaustive()
    }
}

impl SentenceIndex {
    fn new(text: &str) -> Self {
        let (mut starts, mut countable) = (Vec::new(), 0);
        for sentence in Sentences::new(text) {
            starts.push(sentence.start as u32);
            countable += u64::from(is_countable(&text[sentence]));
        }
        starts.shrink_to_fit();
        Self { starts, countable }
    }
}

/// Why a document cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAdded {
    /// An earlier one has its path: the how manieth, from 0.
    SamePath(u32),
    /// There are as many as can be held.
    TooMany,
}

/// Takes documents one after the other.
pub(crate) struct SharedBuilder {
    shared: SharedDocuments,
    lines: LineIndex,
    part: TextPart,
}

impl SharedBuilder {
    pub(crate) fn new() -> Self {
        let shared = SharedDocuments {
            text: String::new(),
            documents: Vec::new(),
            paths: HashMap::new(),
            bytes: 0,
            hash: 0,
            with_cr: 0,
            first_with_cr: None,
        };
        Self { shared, lines: LineIndex::default(), part: TextPart::default() }
    }

    /// Bytes of contents and paths so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.shared.bytes
    }

    pub(crate) fn add(&mut self, path: &str, content: &Content<'_>) -> Result<(), NotAdded> {
        let shared = &mut self.shared;
        if let Some(first) = shared.paths.get(path) {
            return Err(NotAdded::SamePath(*first));
        }
        if shared.len() >= MOST_DOCUMENTS {
            return Err(NotAdded::TooMany);
        }
        let (number, start) = (shared.documents.len() as u32, shared.text.len());
        append(content, &mut self.part, &mut shared.text);
        let end = shared.text.len();
        let text = &shared.text[start..end];
        self.lines.rebuild(text);
        if memchr::memchr(b'\r', text.as_bytes()).is_some() {
            shared.with_cr += 1;
            shared.first_with_cr.get_or_insert(number);
        }
        shared.bytes += (path.len() + end - start) as u64;
        shared.paths.insert(path.into(), number);
        shared.documents.push(SharedDocument {
            start,
            end,
            has_long_line: self.lines.longest() >= LONG_LINE_BYTES,
            // A copy takes no more memory than it needs.
            lines: self.lines.clone(),
            chars: OnceLock::new(),
            sentences: OnceLock::new(),
        });
        Ok(())
    }

    pub(crate) fn finish(self, hash: u64) -> SharedDocuments {
        let mut shared = self.shared;
        // The last line is searched a window at a time, as the others are.
        shared.text.extend(std::iter::repeat_n('\0', WINDOW));
        shared.text.shrink_to_fit();
        shared.documents.shrink_to_fit();
        shared.hash = hash;
        shared
    }
}

/// Adds a content to a text; one with escapes part by part, so that a giant one is never there twice.
fn append(content: &Content<'_>, part: &mut TextPart, to: &mut String) {
    let escaped = match content.held() {
        Held::Text(text) => return to.push_str(text),
        Held::Escaped(escaped) => escaped,
    };
    let mut line = 1;
    while let Some(next) = escaped.unescape_part(line, WHOLE_TEXT_BYTES, part) {
        to.push_str(if line > 1 { "\n" } else { "" });
        to.push_str(part.text());
        line = next;
    }
}

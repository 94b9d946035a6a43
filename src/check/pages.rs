//! The documents of one record, ready for refs to be resolved in them.

use crate::limits::LONG_LINE_BYTES;
use crate::model::{Content, Held};
use crate::resolve::{LineMemory, Page};
use crate::text::LineIndex;
use simdutf8::basic::from_utf8;
use std::cell::RefCell;

/// Documents by their index in the session, each made ready once a record and only where something
/// of it is looked at.
#[derive(Default)]
pub(super) struct Pages {
    ready: Vec<Ready>,
    indexes: Vec<LineIndex>,
    /// Texts that were unescaped, with what follows them in memory, and their lengths.
    texts: Vec<(Vec<u8>, usize)>,
    line: RefCell<LineMemory>,
    have_long_lines: bool,
}

#[derive(Clone, Copy, Default)]
enum Ready {
    #[default]
    No,
    /// The text is at hand, and indexed.
    Text,
    /// The text was unescaped into our own memory, and indexed.
    Unescaped,
    /// Lines are unescaped one by one.
    Escaped,
}

impl Pages {
    pub(super) fn reset(&mut self, documents: usize) {
        self.have_long_lines = false;
        self.line.get_mut().forget();
        self.ready.clear();
        self.ready.resize(documents, Ready::No);
        if self.indexes.len() < documents {
            self.indexes.resize_with(documents, LineIndex::default);
            self.texts.resize_with(documents, Default::default);
        }
    }

    /// Makes one document ready; as a whole where its text is asked for.
    pub(super) fn prepare(&mut self, document: usize, content: &Content<'_>, whole: bool) {
        self.ready[document] = match content.held() {
            Held::Text(text) => {
                self.have_long_lines |= text.len() >= LONG_LINE_BYTES;
                self.indexes[document].rebuild(text);
                Ready::Text
            }
            // A long line would be unescaped for every ref that names it.
            Held::Escaped(escaped) if whole || escaped.longest_line() >= LONG_LINE_BYTES => {
                self.have_long_lines |= escaped.longest_line() >= LONG_LINE_BYTES;
                let (text, length) = &mut self.texts[document];
                *length = escaped.unescape_into(text, &mut self.indexes[document]);
                Ready::Unescaped
            }
            Held::Escaped(_) => Ready::Escaped,
        };
    }

    /// Whether any of them may have a line of [`LONG_LINE_BYTES`].
    pub(super) fn have_long_lines(&self) -> bool {
        self.have_long_lines
    }

    /// A document that was made ready, with its lines.
    #[inline]
    pub(super) fn page<'d>(&'d self, document: usize, content: &'d Content<'_>) -> Page<'d> {
        let lines = &self.indexes[document];
        match (content.held(), self.ready[document]) {
            (Held::Text(text), _) => Page::Text(text.as_bytes(), lines),
            (_, Ready::Unescaped) => Page::Text(&self.texts[document].0, lines),
            (Held::Escaped(escaped), _) => Page::Escaped(escaped, &self.line),
        }
    }

    /// The text of a document that was made ready as a whole.
    pub(super) fn text<'d>(&'d self, document: usize, content: &Content<'d>) -> Option<&'d str> {
        match content.held() {
            Held::Text(text) => Some(text),
            Held::Escaped(_) => {
                let (text, length) = &self.texts[document];
                from_utf8(&text[..*length]).ok()
            }
        }
    }
}

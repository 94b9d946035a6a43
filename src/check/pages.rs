//! The documents of one record, ready for refs to be resolved in them.

use crate::limits::{LONG_LINE_BYTES, SHORT_TEXT_BYTES, WHOLE_TEXT_BYTES};
use crate::model::{Content, Document, Held, Session};
use crate::resolve::{LineMemory, Page};
use crate::shared::SharedDocuments;
use crate::text::{Escaped, LineIndex};
use simdutf8::basic::from_utf8;
use std::cell::RefCell;

/// What a record's refs may name, by number: its own documents, and behind them the shared ones.
#[derive(Clone, Copy)]
pub(super) struct Documents<'d> {
    own: &'d [Document<'d>],
    shared: Option<&'d SharedDocuments>,
}

impl<'d> Documents<'d> {
    pub(super) fn new(session: &'d Session<'d>, shared: Option<&'d SharedDocuments>) -> Self {
        Self { own: &session.documents, shared }
    }

    pub(super) fn has_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// The number of the shared document with this path.
    #[inline]
    pub(super) fn find_shared(&self, path: &str) -> Option<usize> {
        Some(self.own.len() + self.shared?.find(path)? as usize)
    }

    /// Which of the shared documents has this number.
    pub(super) fn shared(&self, number: usize) -> Option<(&'d SharedDocuments, u32)> {
        Some((self.shared?, number.checked_sub(self.own.len())? as u32))
    }

    /// They were indexed before the first record.
    fn shared_page(&self, number: usize) -> Page<'d> {
        let page = self.shared(number).and_then(|(shared, document)| shared.page(document));
        page.map_or(Page::Short(""), |(text, lines)| Page::Text(text, lines))
    }
}

/// Documents by their index in the session, each made ready once a record and only where something
/// of it is looked at.
#[derive(Default)]
pub(super) struct Pages {
    ready: Vec<Ready>,
    /// Texts of this record, of which the first `used` are in use.
    texts: Vec<Text>,
    used: usize,
    line: RefCell<LineMemory>,
    have_long_lines: bool,
}

/// A text that is indexed.
#[derive(Default)]
struct Text {
    lines: LineIndex,
    /// The text, where it was unescaped here, and more.
    bytes: Vec<u8>,
    length: usize,
}

#[derive(Clone, Copy, Default)]
enum Ready {
    #[default]
    No,
    /// The text is at hand, and so short that its lines are found when they are asked for.
    Short,
    /// The text is at hand, and indexed in this place.
    Indexed(usize),
    /// The text was unescaped into this place.
    Unescaped(usize),
    /// Lines are unescaped one by one.
    Escaped,
}

impl Pages {
    pub(super) fn reset(&mut self, documents: usize) {
        self.have_long_lines = false;
        self.line.get_mut().forget();
        self.used = 0;
        self.ready.clear();
        self.ready.resize(documents, Ready::No);
    }

    /// Makes one document ready; as a whole where its text is asked for and not too long.
    pub(super) fn prepare(&mut self, document: usize, content: &Content<'_>, whole: bool) {
        self.ready[document] = match content.held() {
            Held::Text(text) if text.len() <= SHORT_TEXT_BYTES => Ready::Short,
            Held::Text(text) => {
                self.have_long_lines |= text.len() >= LONG_LINE_BYTES;
                self.next_text().lines.rebuild(text);
                Ready::Indexed(self.used - 1)
            }
            // A long line would be unescaped for every ref that names it.
            Held::Escaped(escaped) if escaped.longest_line() >= LONG_LINE_BYTES => {
                self.have_long_lines = true;
                self.unescape(escaped)
            }
            Held::Escaped(escaped) if whole && escaped.len() <= WHOLE_TEXT_BYTES => self.unescape(escaped),
            Held::Escaped(_) => Ready::Escaped,
        };
    }

    fn unescape(&mut self, escaped: &Escaped<'_>) -> Ready {
        let text = self.next_text();
        text.length = escaped.unescape_into(&mut text.bytes, &mut text.lines);
        Ready::Unescaped(self.used - 1)
    }

    fn next_text(&mut self) -> &mut Text {
        if self.used == self.texts.len() {
            self.texts.push(Text::default());
        }
        self.used += 1;
        &mut self.texts[self.used - 1]
    }

    /// Takes note of a shared document that is named.
    pub(super) fn name_shared(&mut self, documents: Documents<'_>, number: usize) {
        let has_long_line = documents.shared(number).is_some_and(|(shared, i)| shared.has_long_line(i));
        self.have_long_lines |= has_long_line;
    }

    /// Whether any of them may have a line of [`LONG_LINE_BYTES`].
    pub(super) fn have_long_lines(&self) -> bool {
        self.have_long_lines
    }

    /// A document that was made ready, or a shared one, with its lines.
    #[inline]
    pub(super) fn page<'d>(&'d self, documents: Documents<'d>, number: u32) -> Page<'d> {
        let number = number as usize;
        let Some(document) = documents.own.get(number) else { return documents.shared_page(number) };
        match (document.content.held(), self.ready[number]) {
            (_, Ready::Unescaped(place)) => Page::Text(&self.texts[place].bytes, &self.texts[place].lines),
            (Held::Text(text), Ready::Indexed(place)) => {
                Page::Text(text.as_bytes(), &self.texts[place].lines)
            }
            (Held::Text(text), _) => Page::Short(text),
            (Held::Escaped(escaped), _) => Page::Escaped(escaped, &self.line),
        }
    }

    /// The text of a document that was made ready as a whole, or what stands for it.
    pub(super) fn text<'d>(
        &'d self,
        document: usize,
        content: &'d Content<'d>,
    ) -> Result<&'d str, &'d Escaped<'d>> {
        match (content.held(), self.ready[document]) {
            (Held::Text(text), _) => Ok(text),
            (_, Ready::Unescaped(place)) => {
                let Text { bytes, length, .. } = &self.texts[place];
                Ok(from_utf8(&bytes[..*length]).unwrap_or_default())
            }
            (Held::Escaped(escaped), _) => Err(escaped),
        }
    }
}

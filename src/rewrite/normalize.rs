//! Records whose documents end their lines with LF alone.

use super::{RawRecord, Rewrite, add_line, lines_of, output};
use crate::checker::Checker;
use crate::decode::json::{locate, locate_elements, read_carefully};
use crate::decode::{Decoded, Findings, Lists, decode};
use crate::diagnostic::{Diagnostic, Pointer, Rule, Segment};
use crate::model::{Record, Ref, Session};
use crate::output::{Rewritten, Safe, message, write_string, write_verdict_place};
use crate::resolve::{Page, resolve_on};
use crate::text::LineIndex;
use crate::verdict::{Id, RecordVerdict, Status};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

/// Rewrites CRLF and CR in the contents of documents to LF, and leaves every other byte as it was. Its outputs
/// are all records, and a line for each ref that does not hold what it held.
///
/// A malformed record, and one that is too large, is written as it was.
#[derive(Clone, Copy, Debug, Default)]
pub struct Normalize {
    /// The refs are told as JSON lines, not as text for people.
    pub json: bool,
}

/// What normalizing has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NormalizeCounts {
    /// Records that were written.
    pub records: u64,
    /// Contents that were changed.
    pub contents: u64,
    /// Refs that resolved before and do not after, or resolve to other text.
    pub lost: u64,
    /// Records that are written on several lines, as their inputs have them.
    pub several_lines: u64,
}

impl From<[u64; 4]> for NormalizeCounts {
    fn from([records, contents, lost, several_lines]: [u64; 4]) -> Self {
        Self { records, contents, lost, several_lines }
    }
}

impl Normalize {
    /// The place of the records among the outputs.
    pub const RECORDS: usize = 0;
    /// The place of the refs that were lost.
    pub const LOST: usize = 1;

    fn tell(
        self,
        record: &RawRecord<'_>,
        verdict: &RecordVerdict,
        ref_at: &str,
        loss: &Loss,
        out: &mut Vec<u8>,
    ) {
        let (code, words) = match loss {
            Loss::Error(error) => (error.rule.name(), message(error).to_string()),
            Loss::OtherText => ("other_text", "it resolves to other text than before".to_owned()),
        };
        if self.json {
            write_verdict_place(record.file, verdict, out);
            let _ = write!(out, ",\"pointer\":\"{ref_at}\",\"lost\":\"{code}\",\"message\":");
            write_string(&words, out);
            return out.extend_from_slice(b"}\n");
        }
        let id = match &verdict.id {
            Some(Id::Text(id)) => format!(", id {id:?}"),
            Some(Id::Number(id)) => format!(", id {id}"),
            None => String::new(),
        };
        let place = format!("{}:{}{id}", record.file, verdict.line);
        let _ = writeln!(out, "{}: the ref at {ref_at} is lost: {code}: {}", Safe(&place), Safe(&words));
    }
}

/// Why a ref does not hold what it held.
enum Loss {
    Error(Box<Diagnostic>),
    OtherText,
}

impl Rewrite for Normalize {
    fn record(
        &self,
        record: &RawRecord<'_>,
        verdict: &RecordVerdict,
        checker: &mut Checker,
        out: &mut Rewritten,
    ) {
        out.counts[0] += 1;
        let raw = record.raw.unwrap_or_default();
        let raw = if verdict.too_large().is_some() { raw } else { lines_of(raw) };
        out.counts[3] += u64::from(memchr::memchr(b'\n', raw).is_some());
        let is_readable = verdict.status != Status::Malformed;
        let Some(changed) = Some(raw).filter(|_| is_readable).and_then(normalized) else {
            return add_line(raw, output(out, Self::RECORDS));
        };
        add_line(&changed.record, output(out, Self::RECORDS));
        out.counts[1] += changed.contents;
        let after = checker.check(&changed.record);
        for (pointer, loss) in losses(raw, verdict, &changed, &after) {
            out.counts[2] += 1;
            self.tell(record, verdict, &pointer, &loss, output(out, Self::LOST));
        }
    }

    fn piece(&self, bytes: &[u8], out: &mut Rewritten) {
        output(out, Self::RECORDS).extend_from_slice(bytes);
    }
}

/// A record whose documents' contents were changed.
struct Changed {
    record: Vec<u8>,
    contents: u64,
    /// A CR alone became an LF: what comes after it stands on other lines than before.
    moves_lines: bool,
}

/// The record with LF alone in its documents; `None` where nothing changes.
fn normalized(raw: &[u8]) -> Option<Changed> {
    // Most records are done with here.
    memchr::memmem::find(raw, b"\\r").or_else(|| memchr::memmem::find(raw, b"\\u000"))?;
    let [top, inner] = [Pointer::ROOT, Pointer::ROOT.name("session")].map(|place| place.name("documents"));
    let (_, documents) = locate_elements(raw, &top).or_else(|| locate_elements(raw, &inner))?;
    let mut changed = Changed { record: Vec::with_capacity(raw.len()), contents: 0, moves_lines: false };
    let mut from = 0;
    for document in documents {
        let content = locate(&raw[document.clone()], &Pointer::ROOT.name("content"))?;
        let content = document.start + content.start..document.start + content.end;
        changed.record.extend_from_slice(&raw[from..content.start]);
        let found = add_normalized(&raw[content.clone()], &mut changed.record);
        changed.contents += u64::from(found != CrFound::None);
        changed.moves_lines |= found == CrFound::Alone;
        from = content.end;
    }
    changed.record.extend_from_slice(&raw[from..]);
    (changed.contents > 0).then_some(changed)
}

/// Which CR a string had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CrFound {
    None,
    BeforeLf,
    /// One at least without an LF after it.
    Alone,
}

/// Adds a JSON string with LF in the place of CRLF and CR.
fn add_normalized(literal: &[u8], out: &mut Vec<u8>) -> CrFound {
    let (mut from, mut found) = (0, CrFound::None);
    while let Some(next) = memchr::memchr(b'\\', &literal[from..]) {
        out.extend_from_slice(&literal[from..from + next]);
        let at = from + next;
        let escape = escape_at(literal, at);
        from = at + escape.len();
        if !is_escape_of(escape, b'r', b"000d") {
            out.extend_from_slice(escape);
        } else if is_escape_of(escape_at(literal, from), b'n', b"000a") {
            found = found.max(CrFound::BeforeLf);
        } else {
            out.extend_from_slice(b"\\n");
            found = CrFound::Alone;
        }
    }
    out.extend_from_slice(&literal[from..]);
    found
}

/// The escape that begins at a place of a valid JSON string; empty where none does.
fn escape_at(literal: &[u8], at: usize) -> &[u8] {
    let length = match literal.get(at..at + 2) {
        Some(b"\\u") => 6,
        Some([b'\\', _]) => 2,
        _ => 0,
    };
    literal.get(at..at + length).unwrap_or_default()
}

fn is_escape_of(escape: &[u8], letter: u8, digits: &[u8]) -> bool {
    match escape {
        [b'\\', b'u', found @ ..] => found.eq_ignore_ascii_case(digits),
        [b'\\', found] => *found == letter,
        _ => false,
    }
}

/// The refs that held before and do not after, with the reason, in the record's order.
fn losses(
    raw: &[u8],
    before: &RecordVerdict,
    changed: &Changed,
    after: &RecordVerdict,
) -> Vec<(String, Loss)> {
    let broken: BTreeSet<Place> = before.errors.iter().filter_map(place_of).collect();
    let mut lost = BTreeMap::new();
    for error in &after.errors {
        if let Some(place) = place_of(error).filter(|place| !broken.contains(place)) {
            lost.entry(place).or_insert_with(|| Loss::Error(Box::new(error.clone())));
        }
    }
    if changed.moves_lines {
        let texts = [raw, &changed.record].map(ref_texts);
        for ((place, one), (_, other)) in texts[0].iter().zip(&texts[1]) {
            let as_before = one.as_ref().map(|text| text.replace("\r\n", "\n").replace('\r', "\n"));
            if as_before.is_some() && other.is_some() && as_before != *other {
                lost.entry(*place).or_insert(Loss::OtherText);
            }
        }
    }
    let list =
        match after.errors.iter().chain(&before.errors).find_map(|error| error.pointer.segments().first()) {
            Some(Segment::Name("session")) => "/session/annotations",
            _ if in_session(raw) => "/session/annotations",
            _ => "/annotations",
        };
    lost.into_iter().map(|(place, loss)| (place.pointer(list), loss)).collect()
}

/// Which ref: the annotation, and which source of it, or its claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u32, Option<u32>);

impl Place {
    fn pointer(self, list: &str) -> String {
        match self {
            Self(i, None) => format!("{list}/{i}/claim"),
            Self(i, Some(j)) => format!("{list}/{i}/sources/{j}"),
        }
    }
}

/// The ref that an error is about.
fn place_of(error: &Diagnostic) -> Option<Place> {
    let segments = match error.pointer.segments() {
        [Segment::Name("session"), rest @ ..] => rest,
        all => all,
    };
    match (error.rule, segments) {
        (Rule::Code(_), [_, Segment::Index(i), Segment::Name("claim"), ..]) => Some(Place(*i, None)),
        (Rule::Code(_), [_, Segment::Index(i), Segment::Name("sources"), Segment::Index(j), ..]) => {
            Some(Place(*i, Some(*j)))
        }
        _ => None,
    }
}

fn in_session(raw: &[u8]) -> bool {
    locate_elements(raw, &Pointer::ROOT.name("annotations")).is_none()
}

/// The text of each ref of a readable session, in order; `None` where it does not resolve.
fn ref_texts(raw: &[u8]) -> Vec<(Place, Option<String>)> {
    let Ok(tree) = read_carefully(raw) else { return Vec::new() };
    let (inner, mut findings) = (OnceCell::new(), Findings::default());
    match decode(&tree, &Decoded, None, None, &inner, Lists::default(), &mut findings) {
        Some(Record::Session(session)) => texts_of(&session),
        _ => Vec::new(),
    }
}

fn texts_of(session: &Session<'_>) -> Vec<(Place, Option<String>)> {
    let contents: Vec<_> = session.documents.iter().map(|document| document.content.text()).collect();
    let indexes: Vec<LineIndex> = contents.iter().map(|content| LineIndex::new(content)).collect();
    let text = |reference: &Ref<'_>| {
        let i = session.paths.find(&session.documents, reference.path)?;
        let span = resolve_on(Page::Text(contents[i].as_bytes(), &indexes[i]), reference, [None; 2]).ok()?;
        Some(span.text(&contents[i]).to_owned())
    };
    let mut texts = Vec::new();
    for (i, annotation) in (0..).zip(&session.annotations) {
        texts.push((Place(i, None), text(&annotation.claim)));
        let sources = (0..).zip(session.sources_of(annotation));
        texts.extend(sources.map(|(j, source)| (Place(i, Some(j)), text(&source.reference))));
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn literal(text: &str) -> String {
        let mut out = Vec::new();
        add_normalized(text.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn cr_in_every_form() {
        assert_eq!(literal(r#""a\r\nb\rc\n""#), r#""a\nb\nc\n""#);
        assert_eq!(literal(r#""\u000D\u000A\u000d\\r\\\r""#), r#""\u000A\n\\r\\\n""#);
        assert_eq!(literal(r#""\r\r\n\r""#), r#""\n\n\n""#);
        assert_eq!(literal(r#""\"é\u00e9""#), r#""\"é\u00e9""#);
    }

    proptest! {
        /// The twin: unescaped, replaced, compared.
        #[test]
        fn a_literal_is_the_text_with_lf(text in "[ab\\\\\r\n\"é]{0,30}", escaped in any::<bool>()) {
            let mut json = serde_json::to_string(&text).unwrap();
            if escaped {
                json = json.replace("\\\\", "\u{1}").replace("\\r", "\\u000D").replace('\u{1}', "\\\\");
            }
            let back: String = serde_json::from_str(&literal(&json)).unwrap();
            prop_assert_eq!(back, text.replace("\r\n", "\n").replace('\r', "\n"));
        }
    }
}

//! JSON text to nodes. The only file that names a JSON parser.
//!
//! Two readers give the same [`Node`]s. The fast one lets simd-json build its tape in a scratch
//! copy of the record; it refuses some records that the contract calls valid (numbers beyond 64
//! bits, `1e400`) and cannot say where a fault is. The careful one, on jiter, reads every record,
//! keeps numbers as text, and finds the place of a fault. Whatever the fast one refuses goes to the
//! careful one, so that the verdict never depends on the path.

use super::lift::{Lifted, Lifter};
use super::node::{Contents, Node, Number, UsualBoundary, UsualRef};
use super::tree::Tree;
use crate::diagnostic::{Code, Detail, Diagnostic, JsonType, Pointer, Segment, SyntaxFault};
use crate::keys::{Key, index, names};
use crate::limits::{BUFFER_KEEP_BYTES, DEPTH};
use crate::model::{Content, recycle};
use crate::text::is_json_white_space;
use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, Peek};
use simd_json::{Buffers, INPUT_PADDING, Node as TapeItem, StaticNode, Tape};
use std::ops::Range;

/// simd-json with the buffers that it fills again for each record.
pub(crate) struct FastReader {
    scratch: Vec<u8>,
    buffers: Buffers,
    memory: FastMemory,
    lifter: Lifter,
}

impl Default for FastReader {
    fn default() -> Self {
        Self {
            scratch: Vec::new(),
            buffers: Buffers::with_max_depth(0, DEPTH),
            memory: FastMemory::default(),
            lifter: Lifter::default(),
        }
    }
}

/// A record that the fast reader has read.
pub(crate) struct FastRecord<'r> {
    tape: Tape<'r>,
    /// Contents that the parser has not seen, in the record's order.
    lifted: Vec<Lifted<'r>>,
    lifter: &'r Lifter,
    raw: &'r [u8],
    /// The address of the copy that it was read from.
    copy: usize,
}

impl<'r> FastRecord<'r> {
    pub(crate) fn root(&self) -> TapeNode<'_, 'r> {
        TapeNode(&self.tape.0)
    }

    /// The memory of the record, to be given back with [`FastReader::finish`].
    pub(crate) fn into_memory(self) -> FastMemory {
        FastMemory { tape: self.tape.reset(), lifted: recycle(self.lifted) }
    }
}

impl<'r> Contents<'r> for FastRecord<'r> {
    #[inline]
    fn content(&self, string: &'r str) -> Content<'r> {
        // The parser's strings lie in the copy, empty ones too. A test holds it to that.
        let place = (string.as_ptr() as usize).wrapping_sub(self.copy);
        let lifted =
            if string.is_empty() { self.lifter.content(self.raw, &self.lifted, place) } else { None };
        lifted.unwrap_or_else(|| Content::of_text(string))
    }

    fn json_text(&self, key: &Key) -> Option<String> {
        let value = self.raw.get(find(self.raw, key)?)?;
        (&read_carefully(value).ok()?).json_text()
    }
}

/// The memory of a record that is done with.
pub(crate) struct FastMemory {
    tape: Tape<'static>,
    lifted: Vec<Lifted<'static>>,
}

impl Default for FastMemory {
    fn default() -> Self {
        Self { tape: Tape(Vec::new()), lifted: Vec::new() }
    }
}

impl FastReader {
    /// Reads one record; `None` where it must be read with care.
    ///
    /// simd-json writes into what it reads, also when it fails, so it gets a copy.
    ///
    /// Never inlined: the parser is large, and with a caller's variables around it the compiler
    /// spills those of its inner loop.
    #[inline(never)]
    pub(crate) fn read<'r>(&'r mut self, raw: &'r [u8]) -> Option<FastRecord<'r>> {
        let memory = std::mem::take(&mut self.memory);
        let (mut tape, mut lifted) = (memory.tape.reset(), recycle(memory.lifted));
        self.lifter.copy(raw, &mut self.scratch, &mut lifted);
        let length = self.scratch.len();
        self.scratch.resize(length + INPUT_PADDING, 0);
        let copy = self.scratch.as_ptr() as usize;
        let read = simd_json::fill_tape_padded(&mut self.scratch, length, &mut self.buffers, &mut tape);
        let record = FastRecord { tape, lifted, lifter: &self.lifter, raw, copy };
        if read.is_err() || record.tape.0.is_empty() {
            self.memory = record.into_memory();
            return None;
        }
        Some(record)
    }

    /// Takes back the memory of a record of so many bytes; of a giant one it is given away.
    pub(crate) fn finish(&mut self, memory: FastMemory, bytes: usize) {
        self.memory = memory;
        if bytes > BUFFER_KEEP_BYTES {
            *self = Self::default();
        }
    }
}

/// A node of simd-json's tape: the slice that begins with it.
#[derive(Clone, Copy)]
pub(crate) struct TapeNode<'t, 'r>(&'t [TapeItem<'r>]);

impl<'t, 'r> TapeNode<'t, 'r> {
    /// The nodes after this one and all that is in it.
    fn after(self) -> &'t [TapeItem<'r>] {
        let nodes = match self.0.first() {
            Some(TapeItem::Object { count, .. } | TapeItem::Array { count, .. }) => count + 1,
            _ => 1,
        };
        self.0.get(nodes..).unwrap_or(&[])
    }
}

/// The members of an object on the tape.
pub(crate) struct TapeMembers<'t, 'r> {
    rest: &'t [TapeItem<'r>],
    left: usize,
}

impl<'t, 'r> Iterator for TapeMembers<'t, 'r> {
    type Item = (&'r str, TapeNode<'t, 'r>);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let (TapeItem::String(name), value) = self.rest.split_first()? else { return None };
        let value = TapeNode(value);
        self.rest = value.after();
        Some((name, value))
    }
}

/// The elements of an array on the tape.
pub(crate) struct TapeItems<'t, 'r> {
    rest: &'t [TapeItem<'r>],
    left: usize,
}

impl<'t, 'r> Iterator for TapeItems<'t, 'r> {
    type Item = TapeNode<'t, 'r>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let item = TapeNode(self.rest);
        self.rest = item.after();
        Some(item)
    }
}

impl<'t, 'r> Node<'r> for TapeNode<'t, 'r> {
    type Members = TapeMembers<'t, 'r>;
    type Items = TapeItems<'t, 'r>;

    fn json_type(self) -> JsonType {
        match self.0.first() {
            Some(TapeItem::String(_)) => JsonType::String,
            Some(TapeItem::Object { .. }) => JsonType::Object,
            Some(TapeItem::Array { .. }) => JsonType::Array,
            Some(TapeItem::Static(StaticNode::Bool(_))) => JsonType::Boolean,
            Some(TapeItem::Static(StaticNode::Null)) | None => JsonType::Null,
            Some(TapeItem::Static(_)) => JsonType::Number,
        }
    }

    fn string(self) -> Option<&'r str> {
        match self.0.first() {
            Some(TapeItem::String(string)) => Some(string),
            _ => None,
        }
    }

    fn number(self) -> Option<Number<'r>> {
        match self.0.first() {
            Some(TapeItem::Static(value)) => static_number(*value),
            _ => None,
        }
    }

    fn json_text(self) -> Option<String> {
        match self.0.first()? {
            TapeItem::Static(StaticNode::Null) => Some("null".to_owned()),
            TapeItem::Static(StaticNode::Bool(value)) => Some(value.to_string()),
            // -0 reads as 0.
            TapeItem::Static(StaticNode::I64(value)) if *value != 0 => Some(value.to_string()),
            TapeItem::Static(StaticNode::U64(value)) if *value != 0 => Some(value.to_string()),
            _ => None,
        }
    }

    fn members(self) -> Option<Self::Members> {
        match self.0.split_first() {
            Some((TapeItem::Object { len, .. }, rest)) => Some(TapeMembers { rest, left: *len }),
            _ => None,
        }
    }

    fn items(self) -> Option<Self::Items> {
        match self.0.split_first() {
            Some((TapeItem::Array { len, .. }, rest)) => Some(TapeItems { rest, left: *len }),
            _ => None,
        }
    }

    #[inline]
    fn usual_boundary(self) -> Option<UsualBoundary<'r>> {
        let nodes: &[_; BOUNDARY_NODES] = self.0.first_chunk()?;
        usual_boundary(nodes)
    }

    #[inline]
    fn usual_claim(self) -> Option<UsualRef<'r>> {
        let [TapeItem::Object { len: 3, .. }, rest @ ..] = self.0 else { return None };
        usual_ref(rest)
    }

    #[inline]
    fn usual_source(self) -> Option<(UsualRef<'r>, &'r str, Number<'r>)> {
        let [TapeItem::Object { len: 5, .. }, rest @ ..] = self.0 else { return None };
        let reference = usual_ref(rest)?;
        match rest.get(REF_NODES..)?.first_chunk()? {
            [
                TapeItem::String("polarity"),
                TapeItem::String(polarity),
                TapeItem::String("confidence"),
                TapeItem::Static(confidence),
            ] => Some((reference, polarity, static_number(*confidence)?)),
            _ => None,
        }
    }
}

/// Nodes of a usual boundary: the object, two names, two values.
const BOUNDARY_NODES: usize = 5;

/// Nodes of the members of a usual ref: three names, the path, two boundaries.
const REF_NODES: usize = 4 + 2 * BOUNDARY_NODES;

#[inline]
fn usual_boundary<'r>(nodes: &[TapeItem<'r>; BOUNDARY_NODES]) -> Option<UsualBoundary<'r>> {
    use StaticNode::{I64, U64};
    let [
        TapeItem::Object { len: 2, .. },
        TapeItem::String("line"),
        TapeItem::Static(line),
        TapeItem::String("str"),
        TapeItem::String(str),
    ] = nodes
    else {
        return None;
    };
    match line {
        I64(line) => Some((*line, str)),
        U64(line) => Some((i64::try_from(*line).ok()?, str)),
        _ => None,
    }
}

#[inline]
fn usual_ref<'r>(members: &[TapeItem<'r>]) -> Option<UsualRef<'r>> {
    let nodes: &[_; REF_NODES] = members.first_chunk()?;
    let [TapeItem::String("path"), TapeItem::String(path), TapeItem::String("start"), rest @ ..] = nodes
    else {
        return None;
    };
    let (start, rest) = rest.split_first_chunk()?;
    let (TapeItem::String("end"), end) = rest.split_first()? else { return None };
    Some((path, usual_boundary(start)?, usual_boundary(end.first_chunk()?)?))
}

fn static_number<'r>(value: StaticNode) -> Option<Number<'r>> {
    match value {
        StaticNode::Null | StaticNode::Bool(_) => None,
        StaticNode::F64(double) => Some(Number::Double(double)),
        StaticNode::I64(integer) => Some(Number::Integer(integer)),
        StaticNode::U64(integer) => {
            Some(i64::try_from(integer).map_or(Number::Double(integer as f64), Number::Integer))
        }
    }
}

/// Why a text cannot be read as one JSON value under the contract's profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteFault {
    pub(crate) code: Code,
    pub(crate) fault: Option<SyntaxFault>,
    /// The byte of the text, from 0.
    pub(crate) offset: usize,
}

impl ByteFault {
    /// The finding on the record `raw`, whose first line is all that most records have.
    pub(crate) fn diagnostic(self, raw: &[u8]) -> Diagnostic {
        let before = &raw[..self.offset.min(raw.len())];
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |lf| lf + 1);
        let line = memchr::memchr_iter(b'\n', before).count() as u64 + 1;
        let column = String::from_utf8_lossy(&before[line_start..]).chars().count() as u64 + 1;
        Diagnostic::new(self.code, Pointer::ROOT)
            .with(Detail::Place { fault: self.fault, line, column })
            .at_offset(self.offset)
    }
}

/// Reads one record with care: any valid JSON is read, and a fault is told with its place.
pub(crate) fn read_carefully(raw: &[u8]) -> Result<Tree<'_>, ByteFault> {
    if let Err(error) = std::str::from_utf8(raw) {
        return Err(ByteFault { code: Code::InvalidUtf8, fault: None, offset: error.valid_up_to() });
    }
    let mut reader = CarefulReader { raw, json: Jiter::new(raw) };
    let read = reader.value(1).and_then(|tree| match reader.json.finish() {
        Ok(()) => Ok(tree),
        Err(error) => Err(reader.fault(&error)),
    });
    // jiter names one kind of lone surrogate, after its end, and takes the others for bad escapes.
    read.map_err(|fault| match lone_surrogate(raw) {
        Some(offset) if fault.code != Code::TooDeep && offset <= fault.offset => {
            ByteFault { code: Code::InvalidUnicode, fault: None, offset }
        }
        _ => fault,
    })
}

struct CarefulReader<'r> {
    raw: &'r [u8],
    json: Jiter<'r>,
}

impl<'r> CarefulReader<'r> {
    /// Reads the value that comes next; a container there is at level `depth`.
    fn value(&mut self, depth: usize) -> Result<Tree<'r>, ByteFault> {
        let peek = self.json.peek().map_err(|error| self.fault(&error))?;
        let start = self.json.current_index();
        match peek {
            Peek::Null => self.json.known_null().map(|()| Tree::Null).map_err(|error| self.fault(&error)),
            Peek::True | Peek::False => {
                self.json.known_bool(peek).map(Tree::Boolean).map_err(|error| self.fault(&error))
            }
            Peek::String => {
                let string = self.json.known_str().map(str::to_owned);
                string.map(Tree::String).map_err(|error| self.fault(&error))
            }
            Peek::Array | Peek::Object if depth > DEPTH => {
                Err(ByteFault { code: Code::TooDeep, fault: None, offset: start })
            }
            Peek::Array => self.array(depth),
            Peek::Object => self.object(depth),
            _ if peek.is_num() && !matches!(peek, Peek::NaN | Peek::Infinity) => self.number(peek, start),
            _ => Err(syntax(SyntaxFault::ExpectedValue, start)),
        }
    }

    fn number(&mut self, peek: Peek, start: usize) -> Result<Tree<'r>, ByteFault> {
        let read = self.json.known_number_bytes(peek).map(|_| ());
        read.map_err(|error| self.fault(&error))?;
        let text =
            self.raw.get(start..self.json.current_index()).and_then(|text| std::str::from_utf8(text).ok());
        text.map(Tree::Number).ok_or_else(|| syntax(SyntaxFault::InvalidNumber, start))
    }

    fn array(&mut self, depth: usize) -> Result<Tree<'r>, ByteFault> {
        let mut items = Vec::new();
        let mut next = self.json.known_array();
        loop {
            match next {
                Ok(None) => return Ok(Tree::Array(items)),
                Ok(Some(_)) => items.push(self.value(depth + 1)?),
                Err(error) => return Err(self.fault(&error)),
            }
            next = self.json.array_step();
        }
    }

    fn object(&mut self, depth: usize) -> Result<Tree<'r>, ByteFault> {
        let mut members = Vec::new();
        let mut next = self.json.known_object().map(|name| name.map(str::to_owned));
        loop {
            match next {
                Ok(None) => return Ok(Tree::Object(members)),
                Ok(Some(name)) => members.push((name, self.value(depth + 1)?)),
                Err(error) => return Err(self.fault(&error)),
            }
            next = self.json.next_key().map(|name| name.map(str::to_owned));
        }
    }

    /// A fault that jiter has found, in our words.
    fn fault(&self, error: &JiterError) -> ByteFault {
        use JsonErrorType as J;
        let JiterErrorType::JsonError(kind) = &error.error_type else {
            return syntax(SyntaxFault::ExpectedValue, error.index);
        };
        let at_end =
            self.raw[error.index.min(self.raw.len())..].iter().all(|byte| is_json_white_space(*byte));
        let fault = match kind {
            J::LoneLeadingSurrogateInHexEscape => {
                return ByteFault { code: Code::InvalidUnicode, fault: None, offset: error.index };
            }
            J::ControlCharacterWhileParsingString => SyntaxFault::ControlCharacter,
            J::TrailingComma => SyntaxFault::TrailingComma,
            J::TrailingCharacters => SyntaxFault::TrailingCharacters,
            _ if at_end => SyntaxFault::UnexpectedEnd,
            J::ExpectedColon => SyntaxFault::ExpectedColon,
            J::ExpectedListCommaOrEnd => SyntaxFault::ExpectedCommaOrBracket,
            J::ExpectedObjectCommaOrEnd => SyntaxFault::ExpectedCommaOrBrace,
            J::KeyMustBeAString => SyntaxFault::ExpectedName,
            J::InvalidEscape | J::UnexpectedEndOfHexEscape | J::InvalidUnicodeCodePoint => {
                SyntaxFault::InvalidEscape
            }
            J::InvalidNumber | J::NumberOutOfRange => SyntaxFault::InvalidNumber,
            _ => SyntaxFault::ExpectedValue,
        };
        syntax(fault, error.index)
    }
}

fn syntax(fault: SyntaxFault, offset: usize) -> ByteFault {
    ByteFault { code: Code::InvalidJson, fault: Some(fault), offset }
}

/// The place of the first `\\u` escape of a surrogate that has no partner.
fn lone_surrogate(raw: &[u8]) -> Option<usize> {
    let unit = |at: usize| {
        let digits = raw.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut at = 0;
    while let Some(skip) = memchr::memchr(b'\\', &raw[at..]) {
        at += skip;
        at += match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => return Some(at),
            Some(_) => 6,
            None => 2.min(raw.len() - at),
        };
    }
    None
}

/// Where in `raw`, which is valid JSON, the value stands that the pointer names: its bytes. A
/// member that is absent is answered with the object that should hold it.
pub(crate) fn locate(raw: &[u8], pointer: &Pointer) -> Option<Range<usize>> {
    let mut json = Jiter::new(raw);
    for segment in pointer.segments() {
        json.peek().ok()?;
        let before = json.clone();
        let found = match segment {
            Segment::Name(name) => step_to_member(&mut json, |member| names(name, member)),
            Segment::Index(index) => step_to_item(&mut json, *index),
        };
        if found.is_none() {
            json = before;
            break;
        }
    }
    pass_value(&mut json)
}

/// Where in `raw`, which is valid JSON, the elements of the array stand that the pointer names.
pub(crate) fn locate_elements(raw: &[u8], pointer: &Pointer) -> Option<(Range<usize>, Vec<Range<usize>>)> {
    let array = locate(raw, pointer)?;
    let mut json = Jiter::new(&raw[array.clone()]);
    let mut elements = Vec::new();
    let mut next = json.next_array().ok()?;
    while next.is_some() {
        let element = pass_value(&mut json)?;
        elements.push(array.start + element.start..array.start + element.end);
        next = json.array_step().ok()?;
    }
    Some((array, elements))
}

/// Where in `raw`, which is valid JSON, the value at a key stands: its bytes.
fn find(raw: &[u8], key: &Key) -> Option<Range<usize>> {
    let mut json = Jiter::new(raw);
    for step in key.steps() {
        match json.peek().ok()? {
            Peek::Array => step_to_item(&mut json, u32::try_from(index(step)?).ok()?)?,
            _ => step_to_member(&mut json, |member| names(step, member))?,
        }
    }
    pass_value(&mut json)
}

/// Passes over the value that comes next; gives its bytes.
fn pass_value(json: &mut Jiter<'_>) -> Option<Range<usize>> {
    json.peek().ok()?;
    let start = json.current_index();
    json.next_skip().ok()?;
    Some(start..json.current_index())
}

fn step_to_member(json: &mut Jiter<'_>, is_wanted: impl Fn(&str) -> bool) -> Option<()> {
    let mut found = is_wanted(json.next_object().ok()??);
    while !found {
        json.next_skip().ok()?;
        found = is_wanted(json.next_key().ok()??);
    }
    Some(())
}

fn step_to_item(json: &mut Jiter<'_>, wanted: u32) -> Option<()> {
    json.next_array().ok()??;
    for _ in 0..wanted {
        json.next_skip().ok()?;
        json.array_step().ok()??;
    }
    Some(())
}

/// Adds a text as a JSON string.
pub(super) fn write_quoted(text: &str, out: &mut String) {
    // A string always has a JSON form.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// A value as it stands in the text, digit for digit.
pub(crate) use serde_json::value::RawValue;

/// Reads JSON that sourcecheck itself has written.
pub(crate) fn read_own<'b, T: serde::Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(bytes)
}

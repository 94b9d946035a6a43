//! JSON text to nodes. The only file that names a JSON parser.
//!
//! Two readers give the same [`Node`]s. The fast one lets simd-json build its tape in a scratch
//! copy of the record; it refuses some records that the contract calls valid (numbers beyond 64
//! bits, `1e400`) and cannot say where a fault is. The careful one, on jiter, reads every record,
//! keeps numbers as text, and finds the place of a fault. Whatever the fast one refuses goes to the
//! careful one, so that the verdict never depends on the path.

use crate::diagnostic::{Code, Detail, Diagnostic, JsonType, Pointer, Segment, SyntaxFault};
use crate::limits::{BUFFER_KEEP_BYTES, DEPTH};
use crate::text::is_json_white_space;
use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, Peek};
use simd_json::{Buffers, INPUT_PADDING, Node as TapeItem, StaticNode, Tape};
use std::ops::Range;

/// A value of a record, whatever read it. Strings live as long as the record's decoded bytes.
pub(crate) trait Node<'r>: Copy {
    /// The members of an object, in the record's order, repeated names included.
    type Members: Iterator<Item = (&'r str, Self)>;
    /// The elements of an array.
    type Items: Iterator<Item = Self>;

    fn json_type(self) -> JsonType;
    fn string(self) -> Option<&'r str>;
    fn number(self) -> Option<Number<'r>>;
    fn members(self) -> Option<Self::Members>;
    fn items(self) -> Option<Self::Items>;

    /// The members of a boundary that is written as most are: `{"line":1,"str":"x"}` and nothing
    /// more. `None` says nothing: then the members are to be read one by one.
    fn usual_boundary(self) -> Option<(i64, &'r str)> {
        None
    }
}

/// A number, as exactly as its reader knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number<'r> {
    /// An integer; `-0` reads as 0.
    Integer(i64),
    /// The nearest double; the exact digits are lost.
    Double(f64),
    /// The digits as they were written.
    Text(&'r str),
}

/// simd-json with the buffers that it fills again for each record.
pub(crate) struct FastReader {
    scratch: Vec<u8>,
    buffers: Buffers,
    tape: Tape<'static>,
}

impl Default for FastReader {
    fn default() -> Self {
        Self { scratch: Vec::new(), buffers: Buffers::with_max_depth(0, DEPTH), tape: Tape(Vec::new()) }
    }
}

/// A record that the fast reader has read. [`FastReader::finish`] takes it back.
pub(crate) struct FastRecord<'r>(Tape<'r>);

impl<'r> FastRecord<'r> {
    pub(crate) fn root(&self) -> TapeNode<'_, 'r> {
        TapeNode(&self.0.0)
    }

    /// The tape's memory, to be given back.
    pub(crate) fn into_memory(self) -> FastMemory {
        FastMemory(self.0.reset())
    }
}

/// The memory of a tape without a record.
pub(crate) struct FastMemory(Tape<'static>);

impl FastReader {
    /// Reads one record; `None` where it must be read with care.
    ///
    /// simd-json writes into what it reads, also when it fails, so it gets a copy.
    ///
    /// Never inlined: the parser is large, and with a caller's variables around it the compiler
    /// spills those of its inner loop.
    #[inline(never)]
    pub(crate) fn read(&mut self, raw: &[u8]) -> Option<FastRecord<'_>> {
        self.scratch.clear();
        self.scratch.reserve(raw.len() + INPUT_PADDING);
        self.scratch.extend_from_slice(raw);
        self.scratch.resize(raw.len() + INPUT_PADDING, 0);
        let mut tape = std::mem::replace(&mut self.tape, Tape(Vec::new())).reset();
        let read = simd_json::fill_tape_padded(&mut self.scratch, raw.len(), &mut self.buffers, &mut tape);
        if read.is_ok() && !tape.0.is_empty() { Some(FastRecord(tape)) } else { None }
    }

    /// Takes back the memory of a record, and gives away what one giant record has made grow.
    pub(crate) fn finish(&mut self, memory: FastMemory) {
        self.tape = memory.0;
        if self.scratch.capacity() > BUFFER_KEEP_BYTES {
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
        let Some(TapeItem::Static(value)) = self.0.first() else { return None };
        match value {
            StaticNode::Null | StaticNode::Bool(_) => None,
            StaticNode::F64(double) => Some(Number::Double(*double)),
            StaticNode::I64(integer) => Some(Number::Integer(*integer)),
            StaticNode::U64(integer) => {
                Some(i64::try_from(*integer).map_or(Number::Double(*integer as f64), Number::Integer))
            }
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
    fn usual_boundary(self) -> Option<(i64, &'r str)> {
        use StaticNode::{I64, U64};
        let [TapeItem::Object { len: 2, .. }, first, number, second, TapeItem::String(str), ..] = self.0
        else {
            return None;
        };
        let (TapeItem::String("line"), TapeItem::String("str")) = (first, second) else { return None };
        match number {
            TapeItem::Static(I64(line)) => Some((*line, str)),
            TapeItem::Static(U64(line)) => Some((i64::try_from(*line).ok()?, str)),
            _ => None,
        }
    }
}

/// A value as the careful reader keeps it.
#[derive(Debug)]
pub(crate) enum Tree<'r> {
    Null,
    Boolean,
    Number(&'r str),
    String(String),
    Array(Vec<Tree<'r>>),
    Object(Vec<(String, Tree<'r>)>),
}

/// The members of an object that was read with care.
pub(crate) struct TreeMembers<'t, 'r>(std::slice::Iter<'t, (String, Tree<'r>)>);

impl<'t, 'r> Iterator for TreeMembers<'t, 'r> {
    type Item = (&'t str, &'t Tree<'r>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(name, value)| (name.as_str(), value))
    }
}

impl<'t, 'r> Node<'t> for &'t Tree<'r> {
    type Members = TreeMembers<'t, 'r>;
    type Items = std::slice::Iter<'t, Tree<'r>>;

    fn json_type(self) -> JsonType {
        match self {
            Tree::Null => JsonType::Null,
            Tree::Boolean => JsonType::Boolean,
            Tree::Number(_) => JsonType::Number,
            Tree::String(_) => JsonType::String,
            Tree::Array(_) => JsonType::Array,
            Tree::Object(_) => JsonType::Object,
        }
    }

    fn string(self) -> Option<&'t str> {
        match self {
            Tree::String(string) => Some(string),
            _ => None,
        }
    }

    fn number(self) -> Option<Number<'t>> {
        match self {
            Tree::Number(text) => Some(Number::Text(text)),
            _ => None,
        }
    }

    fn members(self) -> Option<Self::Members> {
        match self {
            Tree::Object(members) => Some(TreeMembers(members.iter())),
            _ => None,
        }
    }

    fn items(self) -> Option<Self::Items> {
        match self {
            Tree::Array(items) => Some(items.iter()),
            _ => None,
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
                self.json.known_bool(peek).map(|_| Tree::Boolean).map_err(|error| self.fault(&error))
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
            Segment::Name(name) => step_to_member(&mut json, name),
            Segment::Index(index) => step_to_item(&mut json, *index),
        };
        if found.is_none() {
            json = before;
            break;
        }
    }
    json.peek().ok()?;
    let start = json.current_index();
    json.next_skip().ok()?;
    Some(start..json.current_index())
}

fn step_to_member(json: &mut Jiter<'_>, wanted: &str) -> Option<()> {
    let mut found = json.next_object().ok()?? == wanted;
    while !found {
        json.next_skip().ok()?;
        found = json.next_key().ok()?? == wanted;
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

/// Reads JSON that sourcecheck itself has written.
pub(crate) fn read_own<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(bytes)
}

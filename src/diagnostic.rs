//! Findings about the data, as values: a code or lint, a place, a few numbers. The words that
//! people read are made in `output`.

use std::fmt;

/// The status that an error gives its record (contract, section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The record can be read; something in it does not hold.
    Invalid,
    /// The record cannot be read as a record.
    Malformed,
}

/// One row of the table of codes.
struct CodeRow {
    name: &'static str,
    severity: Severity,
    summary: &'static str,
    help: &'static str,
}

macro_rules! codes {
    ($($variant:ident $name:literal $severity:ident $summary:literal $help:literal)+) => {
        /// What is wrong with a record (contract, section 6). New codes may come.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $summary] $variant,)+
        }

        impl Code {
            /// Every code, in the order of the contract's table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            fn row(self) -> CodeRow {
                match self {
                    $(Self::$variant => CodeRow {
                        name: $name, severity: Severity::$severity, summary: $summary, help: $help,
                    },)+
                }
            }
        }
    };
}

codes! {
    InvalidUtf8 "invalid_utf8" Malformed "The record's bytes are not UTF-8."
        "Write the corpus as UTF-8; convert it with iconv, for example."
    InvalidJson "invalid_json" Malformed "The record is not one JSON value (RFC 8259)."
        "Write each record with a JSON library, one a line."
    InvalidUnicode "invalid_unicode" Malformed "A string holds a lone surrogate, which is no character."
        "Escape characters beyond U+FFFF as a pair of surrogates, or write them as they are."
    TooDeep "too_deep" Malformed "The record is nested more than 128 levels deep."
        "Flatten the member that nests; the record's own object is level 1."
    RecordTooLarge "record_too_large" Malformed "The record is longer than --max-record-bytes."
        "Split the record, or raise --max-record-bytes."
    UnknownRecord "unknown_record" Malformed "The record is neither a session nor an answer."
        "Give it `documents` and `annotations`, or `context` and an answer."
    ConflictingFields "conflicting_fields" Malformed "Two members say the same thing in two places."
        "Keep one of them."
    MissingField "missing_field" Malformed "A required member is absent."
        "Add it at the place that the pointer names."
    DuplicateField "duplicate_field" Malformed "A member stands twice in one object."
        "Keep one of them: readers disagree about which one counts."
    WrongType "wrong_type" Malformed "A value is not of the type that is due there."
        "Write the type that the message names."
    UnknownPolarity "unknown_polarity" Malformed "`polarity` is neither \"supports\" nor \"refutes\"."
        "Write one of the two; a source that does neither must not be cited."
    ConfidenceOutOfRange "confidence_out_of_range" Malformed "`confidence` is not in [0, 1]."
        "Write a number from 0 to 1."
    EmptySources "empty_sources" Malformed "An annotation has no sources."
        "Remove the annotation: a claim without a source is not annotated."
    DuplicatePath "duplicate_path" Malformed "Two documents have one path."
        "Give each document of a session a path of its own."
    InvalidMarker "invalid_marker" Malformed "A context marker is not `S` and one or more ASCII digits."
        "Number the sources S1, S2, and so on."
    DuplicateMarker "duplicate_marker" Malformed "Two sources of the context have one marker."
        "Give each source a marker of its own."
    UnknownStatus "unknown_status" Malformed "`status` is neither \"answered\" nor \"insufficient\"."
        "Write one of the two."
    EmptyAnswer "empty_answer" Malformed "`answer` is blank."
        "Write an answer; an insufficient one says so in words."
    OutputNotJson "output_not_json" Malformed "The model's output is not one JSON object."
        "Ask the model for one JSON object, at most in one Markdown fence, and nothing around it."
    PathNotFound "path_not_found" Invalid "No document of the session has this path."
        "Write the path of a document exactly as it stands in the session."
    LineOutOfRange "line_out_of_range" Invalid "The document has no such line."
        "Count lines from 1, at LF only; blank lines count."
    StrEmpty "str_empty" Invalid "A boundary string is empty."
        "Write the first or last words of the span."
    StrNotFound "str_not_found" Invalid "A boundary string does not occur on its line."
        "Copy it from that line, character for character."
    StrAmbiguous "str_ambiguous" Invalid "A boundary string occurs more than once on its line."
        "Extend it until it occurs once; there is no other way to say which one is meant."
    LinesReversed "lines_reversed" Invalid "The start stands on a later line than the end."
        "Swap the two boundaries, or mend the lines."
    BoundariesReversed "boundaries_reversed" Invalid "The start boundary reaches past the end boundary."
        "Swap the two boundaries, or choose others: the span must hold both whole."
    UnknownCitation "unknown_citation" Invalid "A marker names no source of the context."
        "Cite only markers that the context has."
    NoInlineCitation "no_inline_citation" Invalid "An answered record cites nothing in its text."
        "Put `[S1]` behind what it supports, or say that the context is insufficient."
    CitationNotDeclared "citation_not_declared" Invalid "A marker stands in the text but not in `citations`."
        "Declare every marker that the text uses."
    CitationNotInline "citation_not_inline" Invalid "A marker is declared but does not stand in the text."
        "Declare only markers that the text uses."
    InsufficientWithCitations "insufficient_with_citations" Invalid "An insufficient answer cites sources."
        "Drop the markers, or answer."
}

impl Code {
    /// The stable name, as verdicts and tables print it.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether the code makes its record invalid or malformed.
    pub fn severity(self) -> Severity {
        self.row().severity
    }

    /// What it means, in one sentence.
    pub fn summary(self) -> &'static str {
        self.row().summary
    }

    /// What to do about it.
    pub fn help(self) -> &'static str {
        self.row().help
    }

    /// The code of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.name() == name)
    }
}

/// One row of the table of lints.
struct LintRow {
    name: &'static str,
    summary: &'static str,
    help: &'static str,
}

macro_rules! lints {
    ($($variant:ident $name:literal $summary:literal $help:literal)+) => {
        /// Advice that never changes a status by itself (contract, section 6). New lints may come.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Lint {
            $(#[doc = $summary] $variant,)+
        }

        impl Lint {
            /// Every lint, in the order of the contract's table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            fn row(self) -> LintRow {
                match self {
                    $(Self::$variant => LintRow { name: $name, summary: $summary, help: $help },)+
                }
            }
        }
    };
}

lints! {
    ContentHasCr "content_has_cr" "A document's content holds CR."
        "Convert contents to LF before they enter a session; refs count LF lines only."
    SelfQuote "self_quote" "A source points into its claim's own document."
        "Cite the source that the claim rests on: a text is no evidence for itself."
    WeakSource "weak_source" "A source's confidence is under 0.3."
        "Leave weak sources out, or find a better one."
    DuplicateDeclared "duplicate_declared" "A marker stands twice in `citations`."
        "Declare each marker once."
}

impl Lint {
    /// The stable name, as verdicts and flags write it.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// What it says, in one sentence.
    pub fn summary(self) -> &'static str {
        self.row().summary
    }

    /// What to do about it.
    pub fn help(self) -> &'static str {
        self.row().help
    }

    /// The lint of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|lint| lint.name() == name)
    }
}

/// What a [`Diagnostic`] is about: a code or a lint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// An error.
    Code(Code),
    /// Advice, or an error where the lint is denied.
    Lint(Lint),
}

impl Rule {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Code(code) => code.name(),
            Self::Lint(lint) => lint.name(),
        }
    }

    /// What to do about it.
    pub fn help(self) -> &'static str {
        match self {
            Self::Code(code) => code.help(),
            Self::Lint(lint) => lint.help(),
        }
    }
}

/// One step of a [`Pointer`]. Only members that the checker reads are ever pointed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// A member of an object, its `~` and `/` escaped as RFC 6901 says.
    Name(&'static str),
    /// An element of an array, from 0.
    Index(u32),
}

/// A JSON Pointer (RFC 6901) into the record as it was given. `Display` writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    segments: [Segment; Self::DEPTH],
    len: u8,
}

impl Pointer {
    /// The deepest place is `/session/annotations/0/sources/0/start/line`.
    pub(crate) const DEPTH: usize = 8;

    /// The whole record: the empty pointer.
    pub const ROOT: Self = Self { segments: [Segment::Index(0); Self::DEPTH], len: 0 };

    /// The steps from the record's root.
    pub fn segments(&self) -> &[Segment] {
        &self.segments[..usize::from(self.len)]
    }

    /// The pointer one member further.
    #[must_use]
    pub fn name(self, name: &'static str) -> Self {
        self.with(Segment::Name(name))
    }

    /// The pointer one element further.
    #[must_use]
    pub fn index(self, index: usize) -> Self {
        self.with(Segment::Index(u32::try_from(index).unwrap_or(u32::MAX)))
    }

    fn with(mut self, segment: Segment) -> Self {
        if let Some(slot) = self.segments.get_mut(usize::from(self.len)) {
            *slot = segment;
            self.len += 1;
        }
        self
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in self.segments() {
            match segment {
                Segment::Name(name) => write!(f, "/{name}")?,
                Segment::Index(index) => write!(f, "/{index}")?,
            }
        }
        Ok(())
    }
}

/// The place that is being read, as a chain on the stack: costs nothing until a finding needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'p> {
    parent: Option<&'p At<'p>>,
    segment: Segment,
}

impl<'p> At<'p> {
    /// The record itself.
    pub(crate) const ROOT: At<'static> = At { parent: None, segment: Segment::Index(0) };

    /// A member of what is here.
    pub(crate) fn name(&'p self, name: &'static str) -> Self {
        Self { parent: Some(self), segment: Segment::Name(name) }
    }

    /// An element of what is here.
    pub(crate) fn index(&'p self, index: usize) -> Self {
        Self { parent: Some(self), segment: Segment::Index(u32::try_from(index).unwrap_or(u32::MAX)) }
    }

    /// The pointer to here.
    pub(crate) fn pointer(&self) -> Pointer {
        let mut pointer = Pointer::ROOT;
        let mut here = self;
        while let Some(parent) = here.parent {
            pointer.len += 1;
            here = parent;
        }
        let mut here = self;
        for slot in pointer.segments[..usize::from(pointer.len)].iter_mut().rev() {
            *slot = here.segment;
            here = here.parent.unwrap_or(here);
        }
        pointer
    }
}

/// The type of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonType {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// What was due where a `wrong_type` stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// An object.
    Object,
    /// An array.
    Array,
    /// A string.
    String,
    /// A string or null.
    StringOrNull,
    /// A number.
    Number,
    /// A number whose exact value is whole.
    WholeNumber,
}

/// How a text fails to be JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntaxFault {
    /// It ends in the middle of a value.
    UnexpectedEnd,
    /// A colon is due.
    ExpectedColon,
    /// A comma or the end of an array is due.
    ExpectedCommaOrBracket,
    /// A comma or the end of an object is due.
    ExpectedCommaOrBrace,
    /// A value is due.
    ExpectedValue,
    /// A name in double quotes is due.
    ExpectedName,
    /// A comma stands before the end of an array or object.
    TrailingComma,
    /// Something follows the value.
    TrailingCharacters,
    /// A backslash is followed by what is no escape.
    InvalidEscape,
    /// A number is not written as JSON writes numbers.
    InvalidNumber,
    /// A control character stands in a string.
    ControlCharacter,
}

/// The numbers that a finding's words need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// None.
    None,
    /// `wrong_type`: what was due and what stands there.
    Type {
        /// What was due.
        expected: Expected,
        /// What stands there.
        found: JsonType,
    },
    /// A byte-level fault: its line and column (both from 1; columns in code points) in the record.
    Place {
        /// The kind of syntax error; `None` for the other codes.
        fault: Option<SyntaxFault>,
        /// The line within the record, from 1.
        line: u64,
        /// The column in code points, from 1.
        column: u64,
    },
    /// `invalid_utf8` at a UTF-16 byte order mark.
    Utf16,
    /// `duplicate_path`: a shared document has the path. `path_not_found`: no shared document has it either.
    Shared,
    /// `record_too_large`: the limit in bytes.
    LimitBytes(u64),
    /// `line_out_of_range`: the line asked for (`None`: beyond 64 bits), the lines that there are.
    Lines {
        /// The line that the ref names.
        line: Option<i64>,
        /// How many lines the document has.
        lines: u64,
    },
    /// `str_not_found`, `str_empty`: the line.
    OnLine(i64),
    /// `str_ambiguous`: the line, and the columns (code points, from 1) of the first two occurrences.
    Columns {
        /// The line.
        line: i64,
        /// The column of the first occurrence.
        first: u64,
        /// The column of the second occurrence.
        second: u64,
    },
    /// `lines_reversed`: the two lines (`None`: beyond 64 bits).
    Reversed {
        /// The line of the start.
        start: Option<i64>,
        /// The line of the end.
        end: Option<i64>,
    },
}

/// Which text an [`Evidence`] shows a line of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The document with this path.
    Document(String),
    /// The answer's text.
    Answer,
    /// The record's own JSON.
    Record,
}

/// What a person needs to see of a document to understand a finding: made while the record is
/// alive, and only where an output asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What the line is of.
    pub origin: Origin,
    /// The line that is shown, from 1, in the document, the answer or the record.
    pub line: u64,
    /// Code points of the line before the window.
    pub skipped: u64,
    /// At most 240 bytes of the line, around the fault.
    pub window: String,
    /// What to mark, as byte ranges of `window`.
    pub marks: Vec<std::ops::Range<usize>>,
}

/// One finding: a code or lint at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// What was found.
    pub rule: Rule,
    /// Where, in the record as it was given.
    pub pointer: Pointer,
    /// The numbers that go with it.
    pub detail: Detail,
    /// The byte in the line, from 0, of a byte-level error.
    pub offset: Option<u64>,
    /// The marker that an error of an answer is about.
    pub marker: Option<String>,
    /// What to show people; made only on request.
    pub evidence: Option<Box<Evidence>>,
}

impl Diagnostic {
    /// An error with nothing but its place.
    pub fn new(code: Code, pointer: Pointer) -> Self {
        Self::of(Rule::Code(code), pointer)
    }

    /// A lint at a place.
    pub fn lint(lint: Lint, pointer: Pointer) -> Self {
        Self::of(Rule::Lint(lint), pointer)
    }

    fn of(rule: Rule, pointer: Pointer) -> Self {
        Self { rule, pointer, detail: Detail::None, offset: None, marker: None, evidence: None }
    }

    /// The same with the numbers that its words need.
    #[must_use]
    pub fn with(mut self, detail: Detail) -> Self {
        self.detail = detail;
        self
    }

    /// The same with the byte of the line at which it stands.
    #[must_use]
    pub fn at_offset(mut self, offset: usize) -> Self {
        self.offset = Some(offset as u64);
        self
    }

    /// The same about a marker.
    #[must_use]
    pub fn about(mut self, marker: &str) -> Self {
        self.marker = Some(marker.to_owned());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_written_as_rfc_6901_says() {
        let root = At::ROOT;
        let (session, annotations) = (root.name("session"), "annotations");
        let list = session.name(annotations);
        let first = list.index(0);
        assert_eq!(root.pointer().to_string(), "");
        assert_eq!(first.name("claim").pointer().to_string(), "/session/annotations/0/claim");
        assert_eq!(Pointer::ROOT.name("a").index(12).to_string(), "/a/12");
    }

    #[test]
    fn names_are_unique_and_plain() {
        let names: Vec<&str> =
            Code::ALL.iter().map(|c| c.name()).chain(Lint::ALL.iter().map(|l| l.name())).collect();
        for (i, name) in names.iter().enumerate() {
            assert!(
                name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
                "{name}"
            );
            assert!(!names[..i].contains(name), "{name}");
        }
    }
}

//! The words of a finding, made from its code and its numbers.

use crate::diagnostic::{Code, Detail, Diagnostic, Expected, JsonType, Lint, Rule, Segment, SyntaxFault};
use std::fmt;

/// The message of a finding: one line of plain text that says what is wrong.
///
/// It holds no text from the input but the marker, which the caller writes safely.
pub fn message(finding: &Diagnostic) -> impl fmt::Display + '_ {
    Message(finding)
}

/// The message of a finding whose words are always the same.
pub(super) fn constant_message(finding: &Diagnostic) -> Option<&'static str> {
    match finding.rule {
        Rule::Lint(lint) => Some(lint_words(lint)),
        Rule::Code(_) => None,
    }
}

struct Message<'d>(&'d Diagnostic);

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.rule {
            Rule::Code(code) => code_words(code, self.0, f),
            Rule::Lint(lint) => f.write_str(lint_words(lint)),
        }
    }
}

/// A boundary's string, with its side.
fn boundary_str(finding: &Diagnostic) -> &'static str {
    match finding.pointer.segments() {
        [.., Segment::Name("end"), Segment::Name(_)] => "end.str",
        _ => "start.str",
    }
}

/// The name of the member that the pointer ends with.
fn member(finding: &Diagnostic) -> &'static str {
    let name = |segment: &Segment| match segment {
        Segment::Name(name) => Some(*name),
        Segment::Index(_) => None,
    };
    finding.pointer.segments().iter().rev().find_map(name).unwrap_or("record")
}

fn code_words(code: Code, finding: &Diagnostic, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (name, str) = (member(finding), boundary_str(finding));
    let marker = finding.marker.as_deref().unwrap_or("");
    match (code, finding.detail) {
        (Code::InvalidUtf8, Detail::Utf16) => f.write_str(
            "the input is UTF-16, which is not read; convert it to UTF-8 (the rest of it was skipped)",
        ),
        (_, Detail::Place { fault, line, column }) => place_words(code, fault, line, column, f),
        (Code::RecordTooLarge, Detail::LimitBytes(limit)) => {
            write!(f, "the record is longer than {limit} bytes; split it, or raise --max-record-bytes")
        }
        (Code::WrongType, Detail::Type { expected, found }) => type_words(finding, expected, found, f),
        (Code::MissingField, _) => write!(f, "`{name}` is required and missing"),
        (Code::DuplicateField, _) => write!(f, "`{name}` stands more than once in its object; keep one"),
        (Code::ConflictingFields, _) => match name {
            "context" => {
                f.write_str("a record is a session (`documents`) or an answer (`context`), not both")
            }
            "output" => f.write_str("give either `output` or `status`, `answer` and `citations`, not both"),
            _ => write!(f, "`{name}` stands both here and in `session`; keep one"),
        },
        (Code::UnknownRecord, _) => {
            f.write_str("neither a session (`documents`, `annotations`) nor an answer (`context`)")
        }
        (Code::LineOutOfRange, Detail::Lines { line, lines }) => line_words(line, lines, f),
        (Code::StrEmpty, Detail::OnLine(_)) => {
            write!(f, "`{str}` is empty; write the words at this end of the span")
        }
        (Code::StrNotFound, Detail::OnLine(line)) => {
            write!(f, "`{str}` does not occur on line {line}; copy it from the line, character for character")
        }
        (Code::StrAmbiguous, Detail::Columns { line, first, second }) => write!(
            f,
            "`{str}` occurs more than once on line {line} (columns {first} and {second} are the first); extend it until it occurs once"
        ),
        (Code::LinesReversed, Detail::Reversed { start, end }) => match (start, end) {
            (Some(start), Some(end)) => {
                write!(f, "the start is on line {start}, after the end on line {end}")
            }
            _ => f.write_str("the start is on a later line than the end"),
        },
        (Code::BoundariesReversed, _) => {
            f.write_str("the start boundary begins after the end boundary begins, or ends after it ends")
        }
        (Code::DuplicatePath, Detail::Shared) => {
            f.write_str("a shared document (--documents) has this path; leave one of the two out")
        }
        (Code::PathNotFound, Detail::Shared) => {
            f.write_str("no document of the session has this path, and no shared one (--documents)")
        }
        (Code::UnknownCitation, _) => write!(f, "{marker} names no source of the context"),
        (Code::CitationNotDeclared, _) => write!(f, "{marker} stands in the answer but not in `citations`"),
        (Code::CitationNotInline, _) => write!(f, "{marker} is declared but does not stand in the answer"),
        _ => f.write_str(lower_first(code.summary()).as_str()),
    }
}

/// A summary as part of a line: without its capital and full stop.
fn lower_first(summary: &str) -> String {
    let mut chars = summary.trim_end_matches('.').chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn place_words(
    code: Code,
    fault: Option<SyntaxFault>,
    line: u64,
    column: u64,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    f.write_str(match (code, fault) {
        (Code::InvalidUtf8, _) => "the bytes are not UTF-8",
        (Code::InvalidUnicode, _) => "an escape is a lone surrogate, which is no character",
        (Code::TooDeep, _) => "the record is nested more than 128 levels deep",
        (_, None) => "not JSON",
        (_, Some(fault)) => match fault {
            SyntaxFault::UnexpectedEnd => "not JSON: it ends in the middle of a value",
            SyntaxFault::ExpectedColon => "not JSON: `:` is due",
            SyntaxFault::ExpectedCommaOrBracket => "not JSON: `,` or `]` is due",
            SyntaxFault::ExpectedCommaOrBrace => "not JSON: `,` or `}` is due",
            SyntaxFault::ExpectedValue => "not JSON: a value is due",
            SyntaxFault::ExpectedName => "not JSON: a name in double quotes is due",
            SyntaxFault::TrailingComma => "not JSON: a comma before the end of an array or object",
            SyntaxFault::TrailingCharacters => "not JSON: something follows the value",
            SyntaxFault::InvalidEscape => "not JSON: a backslash without an escape that JSON knows",
            SyntaxFault::InvalidNumber => "not JSON: a number that JSON does not write so",
            SyntaxFault::ControlCharacter => {
                "not JSON: a control character in a string, which must be escaped"
            }
        },
    })?;
    write!(f, ", at line {line}, column {column} of the record")
}

fn type_words(
    finding: &Diagnostic,
    expected: Expected,
    found: JsonType,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let found_words = match found {
        JsonType::Null => "null",
        JsonType::Boolean => "a boolean",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "an array",
        JsonType::Object => "an object",
    };
    if finding.pointer.segments().is_empty() {
        write!(f, "a record is an object, and this is {found_words}")?;
        let hint = "; write its elements one a line (with jq: jq -c '.[]' FILE)";
        return f.write_str(if found == JsonType::Array { hint } else { "" });
    }
    let due = match expected {
        Expected::Object => "an object",
        Expected::Array => "an array",
        Expected::String => "a string",
        Expected::StringOrNull => "a string or null",
        Expected::Number => "a number",
        Expected::WholeNumber if found == JsonType::Number => {
            return f.write_str("a whole number is due, and this one is not whole");
        }
        Expected::WholeNumber => "a whole number",
    };
    write!(f, "{due} is due, and this is {found_words}")
}

fn line_words(line: Option<i64>, lines: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match line {
        Some(line) => write!(f, "there is no line {line}: ")?,
        None => f.write_str("there is no such line: ")?,
    }
    match lines {
        1 => f.write_str("the document has 1 line, counted from 1"),
        lines => write!(f, "the document has {lines} lines, counted from 1"),
    }
}

fn lint_words(lint: Lint) -> &'static str {
    match lint {
        Lint::ContentHasCr => "the content holds CR, which ends no line; convert it to LF",
        Lint::SelfQuote => "the source is in the claim's own document: a text is no evidence for itself",
        Lint::WeakSource => "confidence under 0.3: leave weak sources out",
        Lint::DuplicateDeclared => "declared before; once is enough",
    }
}

//! The spec's nouns, borrowed from the bytes of one record.

use crate::text::{Escaped, Span};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;

/// One record of a corpus.
#[derive(Clone, Debug)]
pub enum Record<'r> {
    /// Documents, and annotations whose refs point into them.
    Session(Session<'r>),
    /// An answer with markers, and the context that it was given.
    Answer(Answer<'r>),
}

/// A session (spec, "Session Model"): documents and annotations.
#[derive(Clone, Debug, Default)]
pub struct Session<'r> {
    /// The documents, each with a path of its own.
    pub documents: Vec<Document<'r>>,
    /// The annotations, in the record's order.
    pub annotations: Vec<Annotation<'r>>,
    /// The sources of all annotations, one annotation's after the other's.
    pub sources: Vec<SourceRef<'r>>,
    /// Where in the record the two lists stood.
    pub place: SessionPlace,
    /// Which document has a path.
    pub paths: Paths<'r>,
}

/// Where the members of a session record stood: they may stand at the top or in `session`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionPlace {
    /// `documents` stood in `session`.
    pub documents_in_session: bool,
    /// `annotations` stood in `session`.
    pub annotations_in_session: bool,
}

/// A document (spec, "Document Model").
#[derive(Clone, Copy, Debug)]
pub struct Document<'r> {
    /// Its path, unique in the session.
    pub path: &'r str,
    /// Its content. Lines end at LF only.
    pub content: Content<'r>,
}

/// A document's content: the text, or what stands for it in the record. Most of a corpus is contents,
/// of which few lines are read, so a long one is unescaped where it is read.
#[derive(Clone, Copy, Debug)]
pub struct Content<'r>(Held<'r>);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Held<'r> {
    Text(&'r str),
    Escaped(Escaped<'r>),
}

impl<'r> Content<'r> {
    pub(crate) fn of_text(text: &'r str) -> Self {
        Self(Held::Text(text))
    }

    pub(crate) fn of_escaped(escaped: Escaped<'r>) -> Self {
        Self(Held::Escaped(escaped))
    }

    pub(crate) fn held(&self) -> &Held<'r> {
        &self.0
    }

    /// The text.
    pub fn text(&self) -> Cow<'r, str> {
        match &self.0 {
            Held::Text(text) => Cow::Borrowed(text),
            Held::Escaped(escaped) => Cow::Owned(escaped.unescape()),
        }
    }

    /// Whether there is a CR in it.
    pub fn has_cr(&self) -> bool {
        match &self.0 {
            Held::Text(text) => memchr::memchr(b'\r', text.as_bytes()).is_some(),
            Held::Escaped(escaped) => escaped.has_cr(),
        }
    }
}

/// An annotation (spec, "Annotation"): a claim and the sources that speak for or against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation<'r> {
    /// The annotated span.
    pub claim: Ref<'r>,
    /// Its sources, as a range of [`Session::sources`]; never empty.
    pub sources: Range<usize>,
}

/// A ref (spec, "Ref Model"): `path + line + boundary string`, twice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ref<'r> {
    /// The document's path.
    pub path: &'r str,
    /// Where the span starts: at the first character of this boundary.
    pub start: Boundary<'r>,
    /// Where the span ends: at the last character of this boundary.
    pub end: Boundary<'r>,
}

/// One end of a ref.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boundary<'r> {
    /// The line, from 1.
    pub line: LineNumber<'r>,
    /// The string that must occur exactly once on that line.
    pub str: &'r str,
}

/// A source of an annotation: a ref with its polarity and confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourceRef<'r> {
    /// Where the source stands.
    pub reference: Ref<'r>,
    /// Whether it supports or refutes the claim.
    pub polarity: Polarity,
    /// How authoritative it is for this claim, in `[0, 1]`.
    pub confidence: f64,
}

/// A source's relationship to the claim (spec, "Polarity").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polarity {
    /// The cited span evidences the claim.
    Supports,
    /// The cited span contradicts the claim.
    Refutes,
}

impl<'r> Session<'r> {
    /// The sources of one annotation.
    pub fn sources_of(&self, annotation: &Annotation<'r>) -> &[SourceRef<'r>] {
        &self.sources[annotation.sources.clone()]
    }
}

/// Finds a document by its path: by comparing with each while they are few, by hashing beyond.
#[derive(Clone, Debug, Default)]
pub struct Paths<'r> {
    hashed: Option<HashMap<&'r str, usize>>,
}

impl<'r> Paths<'r> {
    /// The index of the document with `path` among `documents`.
    pub fn find(&self, documents: &[Document<'r>], path: &str) -> Option<usize> {
        match &self.hashed {
            Some(hashed) => hashed.get(path).copied(),
            None => documents.iter().position(|document| document.path == path),
        }
    }

    /// Takes note of the last of `documents`; false where an earlier one has its path.
    pub fn add_last(&mut self, documents: &[Document<'r>]) -> bool {
        let Some((last, before)) = documents.split_last() else { return true };
        if self.hashed.is_none() {
            if before.len() < crate::limits::LINEAR_PATHS {
                return before.iter().all(|document| document.path != last.path);
            }
            let mut hashed = HashMap::new();
            for (i, document) in before.iter().enumerate() {
                hashed.entry(document.path).or_insert(i);
            }
            self.hashed = Some(hashed);
        }
        match self.hashed.as_mut().map(|hashed| hashed.entry(last.path)) {
            Some(std::collections::hash_map::Entry::Vacant(entry)) => {
                entry.insert(before.len());
                true
            }
            _ => false,
        }
    }
}

/// Different names in the order in which they came; found by comparing with each while they are few, by
/// hashing beyond.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names<'r> {
    list: Vec<&'r str>,
    hashed: Option<HashMap<&'r str, usize>>,
}

impl<'r> Names<'r> {
    /// Adds a name; false where it is there already.
    pub(crate) fn insert(&mut self, name: &'r str) -> bool {
        if self.find(name).is_some() {
            return false;
        }
        if self.hashed.is_none() && self.list.len() == crate::limits::LINEAR_PATHS {
            self.hashed = Some(self.list.iter().enumerate().map(|(i, name)| (*name, i)).collect());
        }
        if let Some(hashed) = &mut self.hashed {
            hashed.insert(name, self.list.len());
        }
        self.list.push(name);
        true
    }

    /// The place of a name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        match &self.hashed {
            Some(hashed) => hashed.get(name).copied(),
            None => self.list.iter().position(|known| *known == name),
        }
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The names, in their order.
    pub(crate) fn as_slice(&self) -> &[&'r str] {
        &self.list
    }
}

/// A line number as the record gives it: any whole number, of any size. One that is no line's is a
/// matter for the resolver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LineNumber<'r> {
    /// A number that fits in 64 bits.
    Small(i64),
    /// A whole number beyond 64 bits, as it was written in JSON.
    Huge(&'r str),
}

impl<'r> LineNumber<'r> {
    /// Reads a JSON number; `None` where its exact value is not whole.
    pub fn parse(text: &'r str) -> Option<Self> {
        if let Ok(small) = text.parse::<i64>() {
            return Some(Self::Small(small));
        }
        let decimal = Decimal::parse(text);
        if decimal.digits.is_empty() {
            return Some(Self::Small(0));
        }
        if decimal.exponent < 0 {
            return None;
        }
        Some(decimal.to_i64().map_or(Self::Huge(text), Self::Small))
    }

    /// The number, where it fits in 64 bits.
    pub fn small(self) -> Option<i64> {
        match self {
            Self::Small(number) => Some(number),
            Self::Huge(_) => None,
        }
    }

    /// Compares the exact values.
    pub fn compare(self, other: LineNumber<'_>) -> Ordering {
        match (self, other) {
            (Self::Small(a), LineNumber::Small(b)) => a.cmp(&b),
            (Self::Huge(a), LineNumber::Small(_)) => Decimal::parse(a).sign(),
            (Self::Small(_), LineNumber::Huge(b)) => Decimal::parse(b).sign().reverse(),
            (Self::Huge(a), LineNumber::Huge(b)) => Decimal::parse(a).compare(&Decimal::parse(b)),
        }
    }
}

/// A decimal number: `±digits · 10^exponent`, digits without zeros at either end.
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i128,
}

impl Decimal {
    fn parse(text: &str) -> Self {
        let (negative, magnitude) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: Vec<u8> =
            whole.bytes().chain(fraction.bytes()).skip_while(|digit| *digit == b'0').collect();
        let kept = digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
        let zeros = digits.len() - kept;
        digits.truncate(kept);
        // An exponent beyond 128 bits belongs to a number that no memory could write out.
        let written: i128 =
            exponent.parse().unwrap_or(if exponent.starts_with('-') { i128::MIN / 2 } else { i128::MAX / 2 });
        Self { negative, digits, exponent: written + zeros as i128 - fraction.len() as i128 }
    }

    fn sign(&self) -> Ordering {
        if self.negative { Ordering::Less } else { Ordering::Greater }
    }

    fn to_i64(&self) -> Option<i64> {
        if self.digits.len() as i128 + self.exponent > 19 {
            return None;
        }
        let digits = self.digits.iter().fold(0i128, |value, digit| value * 10 + i128::from(digit - b'0'));
        let magnitude = digits * 10i128.pow(u32::try_from(self.exponent).ok()?);
        i64::try_from(if self.negative { -magnitude } else { magnitude }).ok()
    }

    fn compare(&self, other: &Self) -> Ordering {
        if self.negative != other.negative {
            return self.sign();
        }
        let size = |decimal: &Self| decimal.digits.len() as i128 + decimal.exponent;
        let magnitude = size(self).cmp(&size(other)).then_with(|| self.digits.cmp(&other.digits));
        if self.negative { magnitude.reverse() } else { magnitude }
    }
}

/// An answer (spec, `rag-citations`): text with `[S1]` markers, the declared list, the context.
#[derive(Clone, Debug)]
pub struct Answer<'r> {
    /// Whether the model said that it could answer.
    pub status: AnswerStatus,
    /// The answer's text; never blank.
    pub answer: &'r str,
    /// The markers that the answer declares, as given.
    pub citations: Vec<&'r str>,
    /// The sources that the answer was given, each with a marker of its own.
    pub sources: Vec<ContextSource<'r>>,
    /// The answer came as the model's raw text, in `output`.
    pub in_output: bool,
}

/// What an answer says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerStatus {
    /// It answers.
    Answered,
    /// It says that the context does not suffice.
    Insufficient,
}

/// One source of an answer's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextSource<'r> {
    /// `S` and one or more ASCII digits.
    pub marker: &'r str,
    /// The piece of the document that it shows.
    pub chunk_id: &'r str,
    /// The document that the piece is of.
    pub document_id: &'r str,
    /// The title, to be shown to readers.
    pub title: Option<&'r str>,
    /// Where the document lies, for internal use only.
    pub source_path: Option<&'r str>,
    /// A link for readers.
    pub source_url: Option<&'r str>,
    /// The piece's text.
    pub text: Option<&'r str>,
}

/// One `[S1]` in an answer's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker<'r> {
    /// The marker without its brackets.
    pub name: &'r str,
    /// The span of the match, brackets included, in bytes of the answer.
    pub span: Span,
}

/// The memory of a vector, for elements of another lifetime. The vector comes back empty.
pub fn recycle<T, U>(mut used: Vec<T>) -> Vec<U> {
    used.clear();
    // Collecting in place keeps the allocation where the two types have the same layout.
    used.into_iter().map(|_| unreachable!("the vector is empty")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_of_any_size() {
        for (text, small) in [
            ("3", 3),
            ("3.0", 3),
            ("3.5e1", 35),
            ("-0", 0),
            ("0e999999999999999999999999999999999999999999", 0),
            ("30e-1", 3),
            ("1e18", 1_000_000_000_000_000_000),
            ("-9223372036854775808", i64::MIN),
            ("9223372036854775807", i64::MAX),
            ("0.000e5", 0),
            ("100000000000000000000e-20", 1),
        ] {
            assert_eq!(LineNumber::parse(text), Some(LineNumber::Small(small)), "{text}");
        }
        for text in [
            "3.5",
            "1e-1",
            "0.1",
            "3.0000000000000000000000000000001",
            "1e-400",
            "1e-99999999999999999999999999999999999999999999",
        ] {
            assert_eq!(LineNumber::parse(text), None, "{text}");
        }
        for text in ["9223372036854775808", "1e400", "-1e40", "18446744073709551616"] {
            assert_eq!(LineNumber::parse(text), Some(LineNumber::Huge(text)), "{text}");
        }
    }

    #[test]
    fn huge_numbers_compare_exactly() {
        let ordered = [
            "-1e50",
            "-1e49",
            "-9e19",
            "5",
            "9223372036854775808",
            "9223372036854775809",
            "1e20",
            "10.1e19",
            "1e400",
        ];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate() {
                let (a, b) = (LineNumber::parse(a).unwrap(), LineNumber::parse(b).unwrap());
                assert_eq!(a.compare(b), i.cmp(&j), "{a:?} {b:?}");
            }
        }
        assert_eq!(
            LineNumber::Huge("1e20").compare(LineNumber::Huge("100000000000000000000.00")),
            Ordering::Equal
        );
    }

    #[test]
    fn names_few_or_many() {
        for count in [0, 1, 16, 17, 40] {
            let all: Vec<String> = (0..count).map(|i| format!("S{i}")).collect();
            let mut names = Names::default();
            for round in 0..2 {
                assert!(all.iter().all(|name| names.insert(name) == (round == 0)), "{count}");
            }
            assert_eq!(names.as_slice(), all);
            assert!(all.iter().enumerate().all(|(i, name)| names.find(name) == Some(i)));
            assert!(!names.contains("S"));
        }
    }

    #[test]
    fn recycling_keeps_the_memory() {
        let used: Vec<&str> = Vec::with_capacity(100);
        let again: Vec<&'static str> = recycle(used);
        assert!(again.capacity() >= 100);
    }
}

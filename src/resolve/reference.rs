//! A ref to its span (spec, "Resolution Rules"; contract, section 4).

use super::Page;
use crate::diagnostic::Code;
use crate::model::{Boundary, Ref};
use crate::text::{LineIndex, Occurrence, Span, find_once_on};
use std::cmp::Ordering;
use std::ops::Range;

/// Why a boundary cannot be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundaryFault {
    /// The document has no such line.
    LineOutOfRange,
    /// The boundary string is empty: it has no first character.
    StrEmpty,
    /// The string does not occur on its line.
    StrNotFound,
    /// The string occurs more than once; where the first two begin, in bytes of the content.
    StrAmbiguous(usize, usize),
}

impl BoundaryFault {
    /// The code of this fault.
    pub fn code(self) -> Code {
        match self {
            Self::LineOutOfRange => Code::LineOutOfRange,
            Self::StrEmpty => Code::StrEmpty,
            Self::StrNotFound => Code::StrNotFound,
            Self::StrAmbiguous(..) => Code::StrAmbiguous,
        }
    }
}

/// Why two boundaries make no span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderFault {
    /// The start's line is after the end's.
    Lines,
    /// Both were found, but the start begins after the end begins, or ends after the end ends.
    Boundaries,
}

/// Everything that keeps a ref from resolving, in the order in which it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefFaults {
    /// The fault of the start boundary.
    pub start: Option<BoundaryFault>,
    /// The fault of the end boundary.
    pub end: Option<BoundaryFault>,
    /// The fault of the two together.
    pub order: Option<OrderFault>,
}

/// Resolves a ref in the content of the document that its path names.
///
/// The path itself is not looked at. The span is in bytes of `content`; [`Span::units`] gives it in
/// code points and UTF-16 units. To resolve many refs in one document, check a whole record.
///
/// # Errors
/// Every fault of the ref, as the contract's section 4 orders them.
///
/// ```
/// use sourcecheck::{Boundary, LineNumber, Ref, resolve_ref};
///
/// let content = "Hello, I am GPT\nHow are you feeling today?";
/// let boundary = |str| Boundary { line: LineNumber::Small(1), str };
/// let reference = Ref { path: "a", start: boundary("I"), end: boundary("T") };
/// let span = resolve_ref(content, &reference).expect("both boundaries are unique");
/// assert_eq!(span.text(content), "I am GPT");
/// assert_eq!(span.units(content).utf16, 7..15);
/// ```
pub fn resolve_ref(content: &str, reference: &Ref<'_>) -> Result<Span, RefFaults> {
    resolve_on(Page::Text(content.as_bytes(), &LineIndex::new(content)), reference, [None; 2])
}

/// The same with the document's lines at hand. `known` are the occurrences of the start and the end on
/// their lines, where they were found before. The span is in the places of [`Page::with_line`].
#[inline]
pub(crate) fn resolve_on(
    page: Page<'_>,
    reference: &Ref<'_>,
    known: [Option<Occurrence>; 2],
) -> Result<Span, RefFaults> {
    let start = find_boundary(page, &reference.start, known[0]);
    let end = find_boundary(page, &reference.end, known[1]);
    let order = if reference.start.line.compare(reference.end.line) == Ordering::Greater {
        Some(OrderFault::Lines)
    } else {
        match (&start, &end) {
            (Ok(start), Ok(end)) if start.start > end.start || start.end > end.end => {
                Some(OrderFault::Boundaries)
            }
            _ => None,
        }
    };
    match (start, end, order) {
        (Ok(start), Ok(end), None) => Ok(Span { start: start.start, end: end.end }),
        (start, end, order) => Err(RefFaults { start: start.err(), end: end.err(), order }),
    }
}

#[inline]
fn find_boundary(
    page: Page<'_>,
    boundary: &Boundary<'_>,
    known: Option<Occurrence>,
) -> Result<Span, BoundaryFault> {
    let number = boundary.line.small().ok_or(BoundaryFault::LineOutOfRange)?;
    let search = |text: &[u8], line: Range<usize>, from: usize| {
        if boundary.str.is_empty() {
            return Err(BoundaryFault::StrEmpty);
        }
        match known.unwrap_or_else(|| find_once_on(text, line, boundary.str.as_bytes())) {
            Occurrence::None => Err(BoundaryFault::StrNotFound),
            Occurrence::Many(first, second) => Err(BoundaryFault::StrAmbiguous(from + first, from + second)),
            Occurrence::Once(at) => {
                let start = (from + at) as u32;
                Ok(Span { start, end: start + boundary.str.len() as u32 })
            }
        }
    };
    page.with_line(number, search).unwrap_or(Err(BoundaryFault::LineOutOfRange))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::LineNumber;
    use proptest::prelude::*;

    fn boundary(line: i64, str: &str) -> Boundary<'_> {
        Boundary { line: LineNumber::Small(line), str }
    }

    fn resolve<'a>(content: &'a str, start: (i64, &str), end: (i64, &str)) -> Result<&'a str, RefFaults> {
        let reference = Ref { path: "a", start: boundary(start.0, start.1), end: boundary(end.0, end.1) };
        resolve_ref(content, &reference).map(|span| span.text(content))
    }

    #[test]
    fn the_worked_examples_of_the_spec() {
        let document = "Hello, I am GPT\nHow are you feeling today?\nWe can talk now.";
        assert_eq!(resolve(document, (1, "I"), (1, "T")), Ok("I am GPT"));
        let bench = "2.3.0: 820ms\n2.4.0: 517ms\ndelta: -37%";
        assert_eq!(resolve(bench, (3, "delta"), (3, "-37%")), Ok("delta: -37%"));
    }

    #[test]
    fn order_is_judged_by_whole_boundaries() {
        assert_eq!(resolve("abcdef", (1, "cd"), (1, "cd")), Ok("cd"));
        assert_eq!(resolve("abcdef", (1, "bc"), (1, "cd")), Ok("bcd"));
        let reversed = |start, end| resolve("abcdef", (1, start), (1, end)).unwrap_err().order;
        assert_eq!(reversed("cd", "bc"), Some(OrderFault::Boundaries));
        assert_eq!(reversed("bcde", "cd"), Some(OrderFault::Boundaries));
        assert_eq!(reversed("cd", "bcd"), Some(OrderFault::Boundaries));
    }

    #[test]
    fn reversed_lines_are_said_whatever_else_is_wrong() {
        let faults = resolve("a\nb", (9, "x"), (2, "")).unwrap_err();
        assert_eq!(faults.start, Some(BoundaryFault::LineOutOfRange));
        assert_eq!(faults.end, Some(BoundaryFault::StrEmpty));
        assert_eq!(faults.order, Some(OrderFault::Lines));
    }

    /// The naive twin: section 4 of the contract, word for word, on lists of lines.
    fn naive(content: &str, start: (i64, &str), end: (i64, &str)) -> Result<String, Vec<Code>> {
        let lines: Vec<&str> = content.split('\n').collect();
        let offset = |line: usize| lines[..line].iter().map(|l| l.len() + 1).sum::<usize>();
        let find = |(line, str): (i64, &str)| {
            let Some(text) = usize::try_from(line - 1).ok().and_then(|i| lines.get(i)) else {
                return Err(Code::LineOutOfRange);
            };
            if str.is_empty() {
                return Err(Code::StrEmpty);
            }
            let hits: Vec<usize> =
                (0..text.len()).filter(|&i| text.is_char_boundary(i) && text[i..].starts_with(str)).collect();
            match hits[..] {
                [] => Err(Code::StrNotFound),
                [hit] => Ok(offset(line as usize - 1) + hit),
                _ => Err(Code::StrAmbiguous),
            }
        };
        let (from, to) = (find(start), find(end));
        let mut codes: Vec<Code> = [from.err(), to.err()].into_iter().flatten().collect();
        if start.0 > end.0 {
            codes.push(Code::LinesReversed);
        }
        if let (Ok(from), Ok(to), true) = (from, to, codes.is_empty()) {
            if from > to || from + start.1.len() > to + end.1.len() {
                return Err(vec![Code::BoundariesReversed]);
            }
            return Ok(content[from..to + end.1.len()].to_owned());
        }
        Err(codes)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn agrees_with_its_naive_twin(
            content in "[abé\n😀]{0,24}", a in -1i64..6, b in -1i64..6, s in "[abé😀]{0,2}", e in "[abé😀]{0,2}",
        ) {
            let found = resolve(&content, (a, &s), (b, &e)).map(str::to_owned).map_err(|faults| {
                let order = faults.order.map(|order| match order {
                    OrderFault::Lines => Code::LinesReversed,
                    OrderFault::Boundaries => Code::BoundariesReversed,
                });
                [faults.start.map(BoundaryFault::code), faults.end.map(BoundaryFault::code), order]
                    .into_iter().flatten().collect::<Vec<_>>()
            });
            prop_assert_eq!(found, naive(&content, (a, &s), (b, &e)));
        }
    }
}

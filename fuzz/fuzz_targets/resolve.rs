//! Any document and ref against a resolver that is too simple to be wrong: the same span, or the same
//! faults in the same order.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sourcecheck::{Boundary, BoundaryFault, Code, LineNumber, OrderFault, Ref, RefFaults, resolve_ref};

/// A document, and two boundaries in or near it.
#[derive(Arbitrary, Debug)]
struct Case {
    content: String,
    /// The content stands so often in a row: lines grow long, and strings repeat.
    times: u8,
    start: Place,
    end: Place,
}

#[derive(Arbitrary, Debug)]
enum Place {
    /// A string that is probably not there.
    Any { line: i64, str: String },
    /// Some characters of a line, which the line's own number or a near one names.
    Cut { line: u8, shift: i8, from: u16, chars: u8 },
}

impl Place {
    /// The line that it names, and its string.
    fn resolve(&self, content: &str) -> (i64, String) {
        match self {
            Self::Any { line, str } => (*line, str.clone()),
            Self::Cut { line, shift, from, chars } => {
                let lines = content.split('\n').count();
                let index = usize::from(*line) % lines;
                let text = content.split('\n').nth(index).unwrap_or("");
                let from = usize::from(*from) % text.chars().count().max(1);
                let str = text.chars().skip(from).take(usize::from(*chars)).collect();
                // Mostly the line itself.
                (index as i64 + 1 + i64::from(*shift / 100), str)
            }
        }
    }
}

/// Where `str` begins and ends, in bytes of the content: every place of the line is tried.
fn find(content: &str, line: i64, str: &str) -> Result<(usize, usize), Code> {
    let mut start = 0;
    let lines = content.split('\n').map(|text| {
        start += text.len() + 1;
        (start - text.len() - 1, text)
    });
    let index = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
    let (start, text) = index.and_then(|index| lines.skip(index).next()).ok_or(Code::LineOutOfRange)?;
    if str.is_empty() {
        return Err(Code::StrEmpty);
    }
    let mut hits = (0..text.len()).filter(|at| text.as_bytes()[*at..].starts_with(str.as_bytes()));
    match (hits.next(), hits.next()) {
        (None, _) => Err(Code::StrNotFound),
        (Some(at), None) => Ok((start + at, start + at + str.len())),
        (Some(_), Some(_)) => Err(Code::StrAmbiguous),
    }
}

/// The contract, section 4, step by step.
fn naive(content: &str, start: (i64, &str), end: (i64, &str)) -> Result<(usize, usize), Vec<Code>> {
    let (from, to) = (find(content, start.0, start.1), find(content, end.0, end.1));
    let mut codes: Vec<Code> = [from.err(), to.err()].into_iter().flatten().collect();
    if start.0 > end.0 {
        codes.push(Code::LinesReversed);
    } else if let (Ok(from), Ok(to)) = (from, to) {
        if from.0 <= to.0 && from.1 <= to.1 {
            return Ok((from.0, to.1));
        }
        codes.push(Code::BoundariesReversed);
    }
    Err(codes)
}

fn codes(faults: &RefFaults) -> Vec<Code> {
    let order = faults.order.map(|order| match order {
        OrderFault::Lines => Code::LinesReversed,
        OrderFault::Boundaries => Code::BoundariesReversed,
    });
    let boundaries = [faults.start, faults.end].map(|fault| fault.map(BoundaryFault::code));
    boundaries.into_iter().chain([order]).flatten().collect()
}

fuzz_target!(|case: Case| {
    let content = case.content.repeat(usize::from(case.times).min(16 * 1024 / (case.content.len() + 1)));
    let (start_line, start) = case.start.resolve(&content);
    let (end_line, end) = case.end.resolve(&content);
    let reference = Ref {
        path: "",
        start: Boundary { line: LineNumber::Small(start_line), str: &start },
        end: Boundary { line: LineNumber::Small(end_line), str: &end },
    };
    let found = resolve_ref(&content, &reference);
    let expected = naive(&content, (start_line, &start), (end_line, &end));
    assert_eq!(
        found.map(|span| (span.range().start, span.range().end)).map_err(|faults| codes(&faults)),
        expected
    );
    if let Ok(span) = found {
        let units = span.units(&content);
        let text = span.text(&content);
        assert!(text.starts_with(&start) && text.ends_with(&end));
        assert_eq!(units.code_points.len(), text.chars().count());
        assert_eq!(units.utf16.len(), text.encode_utf16().count());
    }
});

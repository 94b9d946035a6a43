//! Any document and ref against a resolver that is too simple to be wrong.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sourcecheck::{Boundary, LineNumber, Ref, resolve_ref};

/// The one place of `str` on line `line`, in bytes of the content.
fn find(content: &str, line: i8, str: &str) -> Option<(usize, usize)> {
    let index = usize::try_from(i64::from(line) - 1).ok()?;
    let before: usize = content.split('\n').take(index).map(|line| line.len() + 1).sum();
    let text = content.split('\n').nth(index)?;
    let mut hits =
        (0..text.len()).filter(|at| !str.is_empty() && text.as_bytes()[*at..].starts_with(str.as_bytes()));
    match (hits.next(), hits.next()) {
        (Some(hit), None) => Some((before + hit, before + hit + str.len())),
        _ => None,
    }
}

fuzz_target!(|data: (&str, i8, &str, i8, &str)| {
    let (content, start_line, start, end_line, end) = data;
    let boundary = |line: i8, str| Boundary { line: LineNumber::Small(line.into()), str };
    let reference = Ref { path: "", start: boundary(start_line, start), end: boundary(end_line, end) };
    let expected = match (find(content, start_line, start), find(content, end_line, end)) {
        (Some(from), Some(to)) if start_line <= end_line && from.0 <= to.0 && from.1 <= to.1 => {
            Some(from.0..to.1)
        }
        _ => None,
    };
    let found = resolve_ref(content, &reference).ok();
    assert_eq!(found.map(|span| span.range()), expected);
    if let Some(span) = found {
        let units = span.units(content);
        assert_eq!(span.text(content).chars().count(), units.code_points.len());
    }
});

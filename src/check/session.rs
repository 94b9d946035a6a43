//! A session: every ref resolved, validity, coverage, polarity, confidence, independence.

use super::coverage::{DocumentSpan, char_coverage, merge, sentence_coverage};
use crate::diagnostic::{At, Code, Detail, Diagnostic};
use crate::model::{Annotation, Polarity, Ref, Session, SourceRef};
use crate::resolve::{BoundaryFault, OrderFault, RefFaults, resolve_on};
use crate::settings::ClaimPaths;
use crate::text::LineIndex;
use crate::verdict::{SessionFacts, Share};

/// Lists whose memory goes from record to record.
#[derive(Default)]
pub(crate) struct SessionScratch {
    indexes: Vec<LineIndex>,
    indexed: Vec<bool>,
    claimed: Vec<bool>,
    claim_spans: Vec<DocumentSpan>,
    source_spans: Vec<DocumentSpan>,
}

impl SessionScratch {
    fn reset(&mut self, documents: usize) {
        if self.indexes.len() < documents {
            self.indexes.resize_with(documents, LineIndex::default);
        }
        for flags in [&mut self.indexed, &mut self.claimed] {
            flags.clear();
            flags.resize(documents, false);
        }
        self.claim_spans.clear();
        self.source_spans.clear();
    }

    /// The lines of one document, found once a record and only where a ref needs them.
    fn lines(&mut self, document: usize, content: &str) -> &LineIndex {
        if !self.indexed[document] {
            self.indexes[document].rebuild(content);
            self.indexed[document] = true;
        }
        &self.indexes[document]
    }
}

/// Resolves every ref of the session, adds what is wrong to `errors` in document order, and counts.
pub(crate) fn check_session(
    session: &Session<'_>,
    claim_paths: &ClaimPaths,
    scratch: &mut SessionScratch,
    errors: &mut Vec<Diagnostic>,
) -> SessionFacts {
    scratch.reset(session.documents.len());
    let mut facts = SessionFacts::default();
    let root = At::ROOT;
    let inside = root.name("session");
    let list = if session.place.annotations_in_session { &inside } else { &root }.name("annotations");
    for (i, annotation) in session.annotations.iter().enumerate() {
        let at = list.index(i);
        let valid = check_annotation(session, annotation, &at, scratch, &mut facts.refs, errors);
        facts.annotations.add(valid);
        if valid {
            count_sources(session.sources_of(annotation), &mut facts);
        }
    }
    count_spans(&mut scratch.source_spans, &mut facts);
    count_coverage(session, claim_paths, scratch, &mut facts);
    facts
}

/// Resolves the refs of one annotation. Where all of them do, their spans are kept.
fn check_annotation(
    session: &Session<'_>,
    annotation: &Annotation<'_>,
    at: &At<'_>,
    scratch: &mut SessionScratch,
    refs: &mut Share,
    errors: &mut Vec<Diagnostic>,
) -> bool {
    let claim = check_ref(session, &annotation.claim, &at.name("claim"), scratch, errors);
    refs.add(claim.is_some());
    if let Some(document) = session.paths.find(&session.documents, annotation.claim.path) {
        scratch.claimed[document] = true;
    }
    let kept = scratch.source_spans.len();
    let mut valid = claim.is_some();
    let at = at.name("sources");
    for (j, source) in session.sources_of(annotation).iter().enumerate() {
        let span = check_ref(session, &source.reference, &at.index(j), scratch, errors);
        refs.add(span.is_some());
        valid &= span.is_some();
        scratch.source_spans.extend(span);
    }
    if valid {
        scratch.claim_spans.extend(claim);
    } else {
        scratch.source_spans.truncate(kept);
    }
    valid
}

fn check_ref(
    session: &Session<'_>,
    reference: &Ref<'_>,
    at: &At<'_>,
    scratch: &mut SessionScratch,
    errors: &mut Vec<Diagnostic>,
) -> Option<DocumentSpan> {
    let Some(document) = session.paths.find(&session.documents, reference.path) else {
        errors.push(Diagnostic::new(Code::PathNotFound, at.name("path").pointer()));
        return None;
    };
    let content = session.documents[document].content;
    let lines = scratch.lines(document, content);
    match resolve_on(content, lines, reference) {
        Ok(span) => Some(DocumentSpan { document: document as u32, span }),
        Err(faults) => {
            report_faults(&faults, reference, content, lines, at, errors);
            None
        }
    }
}

fn report_faults(
    faults: &RefFaults,
    reference: &Ref<'_>,
    content: &str,
    lines: &LineIndex,
    at: &At<'_>,
    errors: &mut Vec<Diagnostic>,
) {
    for (name, boundary, fault) in
        [("start", &reference.start, faults.start), ("end", &reference.end, faults.end)]
    {
        let Some(fault) = fault else { continue };
        let here = at.name(name);
        let line = boundary.line.small();
        let column = |byte: usize| {
            let line_start = memchr::memrchr(b'\n', &content.as_bytes()[..byte]).map_or(0, |lf| lf + 1);
            content[line_start..byte].chars().count() as u64 + 1
        };
        let (member, detail) = match fault {
            BoundaryFault::LineOutOfRange => ("line", Detail::Lines { line, lines: lines.len() as u64 }),
            BoundaryFault::StrEmpty | BoundaryFault::StrNotFound => {
                ("str", Detail::OnLine(line.unwrap_or(0)))
            }
            BoundaryFault::StrAmbiguous(first, second) => {
                let (first, second) = (column(first), column(second));
                ("str", Detail::Columns { line: line.unwrap_or(0), first, second })
            }
        };
        errors.push(Diagnostic::new(fault.code(), here.name(member).pointer()).with(detail));
    }
    let detail = Detail::Reversed { start: reference.start.line.small(), end: reference.end.line.small() };
    let code = match faults.order {
        None => return,
        Some(OrderFault::Lines) => Code::LinesReversed,
        Some(OrderFault::Boundaries) => Code::BoundariesReversed,
    };
    errors.push(Diagnostic::new(code, at.pointer()).with(detail));
}

/// Counts the sources of one valid annotation.
fn count_sources(sources: &[SourceRef<'_>], facts: &mut SessionFacts) {
    let supports = sources.iter().filter(|source| source.polarity == Polarity::Supports).count() as u64;
    let refutes = sources.len() as u64 - supports;
    facts.supports += supports;
    facts.refutes += refutes;
    match (supports, refutes) {
        (_, 0) => facts.claims_supported += 1,
        (0, _) => facts.claims_refuted += 1,
        _ => facts.claims_contested += 1,
    }
    for source in sources {
        facts.confidence += billionths(source.confidence);
        facts.bands[band(source.confidence)] += 1;
    }
}

/// The band of a confidence: primary [0.9, 1], secondary [0.6, 0.9), anecdotal [0.3, 0.6), weak.
fn band(confidence: f64) -> usize {
    [0.9, 0.6, 0.3].iter().position(|floor| *floor <= confidence).unwrap_or(3)
}

/// A confidence in whole units of 1e-9, rounded half to even from the exact value of the double.
fn billionths(confidence: f64) -> u64 {
    if !(0.0 < confidence && confidence <= 1.0) {
        return 0;
    }
    let bits = confidence.to_bits();
    let (exponent, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
    // confidence = mantissa / 2^shift, exactly.
    let (mantissa, shift) =
        if exponent == 0 { (fraction, 1074) } else { (fraction | (1 << 52), 1075 - exponent) };
    let product = u128::from(mantissa) * 1_000_000_000;
    if shift > 127 {
        return 0;
    }
    let (whole, rest, half) = (product >> shift, product & ((1 << shift) - 1), 1u128 << (shift - 1));
    let up = rest > half || (rest == half && whole % 2 == 1);
    whole as u64 + u64::from(up)
}

/// Distinct documents and distinct spans that valid annotations cite.
fn count_spans(spans: &mut Vec<DocumentSpan>, facts: &mut SessionFacts) {
    spans.sort_unstable();
    spans.dedup();
    facts.spans_cited = spans.len() as u64;
    spans.dedup_by_key(|cited| cited.document);
    facts.documents_cited = spans.len() as u64;
}

/// Coverage of the claim documents by the claims of valid annotations.
fn count_coverage(
    session: &Session<'_>,
    claim_paths: &ClaimPaths,
    scratch: &mut SessionScratch,
    facts: &mut SessionFacts,
) {
    merge(&mut scratch.claim_spans);
    let mut spans = scratch.claim_spans.as_slice();
    for (i, document) in session.documents.iter().enumerate() {
        let count = spans.partition_point(|claim| claim.document as usize == i);
        let (here, rest) = spans.split_at(count);
        spans = rest;
        let counts =
            if claim_paths.is_empty() { scratch.claimed[i] } else { claim_paths.matches(document.path) };
        if counts {
            char_coverage(document.content, here, &mut facts.chars);
            sentence_coverage(document.content, here, &mut facts.sentences);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_is_rounded_half_to_even_from_the_exact_double() {
        for (confidence, units) in [
            (0.0, 0),
            (-0.0, 0),
            (1.0, 1_000_000_000),
            (0.1, 100_000_000),
            (0.95, 950_000_000),
            (5e-10, 1), // the double lies just above the half
            (1.5e-9, 1),
            (2.5e-9, 3), // just below and just above the half
            (f64::MIN_POSITIVE, 0),
            (5e-324, 0),
            (0.999_999_999_9, 1_000_000_000),
            // Exactly half: 2^-10 · k with k · 1e9 / 2^10 = whole + 1/2.
            (1.0 / 1024.0, 976_562),
            (3.0 / 1024.0, 2_929_688),
        ] {
            assert_eq!(billionths(confidence), units, "{confidence}");
        }
    }

    #[test]
    fn bands_begin_at_their_floor() {
        for (confidence, expected) in
            [(1.0, 0), (0.9, 0), (0.899_999, 1), (0.6, 1), (0.59, 2), (0.3, 2), (0.29, 3), (0.0, 3)]
        {
            assert_eq!(band(confidence), expected, "{confidence}");
        }
    }
}

//! A session: every ref resolved, validity, coverage, polarity, confidence, independence.

use super::columns::Columns;
use super::coverage::{DocumentSpan, char_coverage, merge, sentence_coverage, shared_coverage};
use super::long_lines::LongLines;
use super::pages::{Documents, Pages};
use crate::diagnostic::{At, Code, Detail, Diagnostic};
use crate::limits::WHOLE_TEXT_BYTES;
use crate::model::{Annotation, Polarity, Ref, Session, SourceRef};
use crate::resolve::{BoundaryFault, OrderFault, Page, RefFaults, resolve_on};
use crate::settings::{ClaimPaths, Settings};
use crate::text::{Escaped, TextPart};
use crate::verdict::{SessionFacts, Share};

/// Lists whose memory goes from record to record.
#[derive(Default)]
pub(crate) struct SessionScratch {
    pages: Pages,
    /// The document of each ref, in the record's order: an annotation's claim, then its sources.
    targets: Vec<Option<u32>>,
    /// Shared documents that claims name, by their number and an annotation that does.
    claimed: Vec<(u32, u32)>,
    /// What each of the record's own documents is to it.
    roles: Vec<Role>,
    long_lines: LongLines,
    columns: Columns,
    part: TextPart,
    claim_spans: Vec<DocumentSpan>,
    source_spans: Vec<DocumentSpan>,
}

#[derive(Clone, Copy, Default)]
struct Role {
    /// Some ref names it.
    is_named: bool,
    /// Its coverage counts.
    is_covered: bool,
}

impl SessionScratch {
    /// Finds the document of every ref, and makes those ready that are looked at.
    fn prepare(&mut self, session: &Session<'_>, documents: Documents<'_>, claim_paths: &ClaimPaths) {
        self.claim_spans.clear();
        self.source_spans.clear();
        self.targets.clear();
        self.roles.clear();
        self.claimed.clear();
        self.pages.reset(session.documents.len());
        let by_claims = claim_paths.is_empty();
        self.roles.extend(session.documents.iter().map(|document| Role {
            is_named: false,
            is_covered: !by_claims && claim_paths.matches(document.path),
        }));
        for (i, annotation) in session.annotations.iter().enumerate() {
            if let Some(claimed) = self.target(session, documents, &annotation.claim) {
                match self.roles.get_mut(claimed) {
                    Some(role) => role.is_covered |= by_claims,
                    None => self.claimed.push((claimed as u32, i as u32)),
                }
            }
            for source in session.sources_of(annotation) {
                self.target(session, documents, &source.reference);
            }
        }
        for (i, (document, role)) in session.documents.iter().zip(&self.roles).enumerate() {
            if role.is_named || role.is_covered {
                self.pages.prepare(i, &document.content, role.is_covered);
            }
        }
        self.long_lines.find(session, documents, &self.pages, &self.targets);
        self.columns.reset();
        if !self.claimed.is_empty() {
            self.choose_claimed(session, claim_paths);
        }
    }

    /// Of the shared documents that claims name, keeps those that count, each once and in their order. A
    /// glob chooses among them: what no claim of the record names is no matter of this record.
    fn choose_claimed(&mut self, session: &Session<'_>, claim_paths: &ClaimPaths) {
        self.claimed.sort_unstable();
        self.claimed.dedup_by_key(|(document, _)| *document);
        if !claim_paths.is_empty() {
            let path = |annotation: u32| session.annotations[annotation as usize].claim.path;
            self.claimed.retain(|(_, annotation)| claim_paths.matches(path(*annotation)));
        }
    }

    /// Takes note of a ref's document.
    #[inline]
    fn target(
        &mut self,
        session: &Session<'_>,
        documents: Documents<'_>,
        reference: &Ref<'_>,
    ) -> Option<usize> {
        let own = session.paths.find(&session.documents, reference.path);
        let target = own.or_else(|| documents.find_shared(reference.path));
        self.targets.push(target.map(|target| target as u32));
        match self.roles.get_mut(target?) {
            Some(role) => role.is_named = true,
            None => self.pages.name_shared(documents, target?),
        }
        target
    }
}

/// Resolves every ref of the session, adds what is wrong to `errors` in document order, and counts.
pub(crate) fn check_session(
    session: &Session<'_>,
    settings: &Settings,
    scratch: &mut SessionScratch,
    errors: &mut Vec<Diagnostic>,
) -> SessionFacts {
    let documents = Documents::new(session, settings.documents.as_deref());
    scratch.prepare(session, documents, &settings.claim_paths);
    let sentences = settings.sentences.then(Share::default);
    let mut facts = SessionFacts { sentences, ..SessionFacts::default() };
    let root = At::ROOT;
    let inside = root.name("session");
    let list = if session.place.annotations_in_session { &inside } else { &root }.name("annotations");
    let mut first_ref = 0;
    for (i, annotation) in session.annotations.iter().enumerate() {
        let at = list.index(i);
        let valid = check_annotation(
            (session, documents),
            annotation,
            first_ref,
            &at,
            scratch,
            &mut facts.refs,
            errors,
        );
        first_ref += 1 + annotation.sources.len();
        facts.annotations.add(valid);
        if valid {
            count_sources(session.sources_of(annotation), &mut facts);
        }
    }
    count_spans(&mut scratch.source_spans, &mut facts);
    count_coverage(session, documents, scratch, &mut facts);
    facts
}

/// Resolves the refs of one annotation, of which the claim is the record's ref number `first_ref`. Where
/// all of them resolve, their spans are kept.
fn check_annotation(
    (session, documents): (&Session<'_>, Documents<'_>),
    annotation: &Annotation<'_>,
    first_ref: usize,
    at: &At<'_>,
    scratch: &mut SessionScratch,
    refs: &mut Share,
    errors: &mut Vec<Diagnostic>,
) -> bool {
    let claim = check_ref(documents, &annotation.claim, first_ref, &at.name("claim"), scratch, errors);
    refs.add(claim.is_some());
    let kept = scratch.source_spans.len();
    let mut valid = claim.is_some();
    let at = at.name("sources");
    for (j, source) in session.sources_of(annotation).iter().enumerate() {
        let span = check_ref(documents, &source.reference, first_ref + 1 + j, &at.index(j), scratch, errors);
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

#[inline]
fn check_ref(
    documents: Documents<'_>,
    reference: &Ref<'_>,
    number: usize,
    at: &At<'_>,
    scratch: &mut SessionScratch,
    errors: &mut Vec<Diagnostic>,
) -> Option<DocumentSpan> {
    let Some(document) = scratch.targets[number] else {
        let detail = if documents.has_shared() { Detail::Shared } else { Detail::None };
        errors.push(Diagnostic::new(Code::PathNotFound, at.name("path").pointer()).with(detail));
        return None;
    };
    let page = scratch.pages.page(documents, document);
    match resolve_on(page, reference, scratch.long_lines.known(number)) {
        Ok(span) => Some(DocumentSpan { document, span }),
        Err(faults) => {
            report_faults(&faults, reference, (document, page), at, &mut scratch.columns, errors);
            None
        }
    }
}

#[cold]
fn report_faults(
    faults: &RefFaults,
    reference: &Ref<'_>,
    (document, page): (u32, Page<'_>),
    at: &At<'_>,
    columns: &mut Columns,
    errors: &mut Vec<Diagnostic>,
) {
    for (name, boundary, fault) in
        [("start", &reference.start, faults.start), ("end", &reference.end, faults.end)]
    {
        let Some(fault) = fault else { continue };
        let here = at.name(name);
        let small = boundary.line.small();
        let line = small.unwrap_or(0);
        let (member, detail) = match fault {
            BoundaryFault::LineOutOfRange => {
                ("line", Detail::Lines { line: small, lines: page.line_count() as u64 })
            }
            BoundaryFault::StrEmpty | BoundaryFault::StrNotFound => ("str", Detail::OnLine(line)),
            BoundaryFault::StrAmbiguous(first, second) => {
                let [first, second] = columns.of(document, page, line, [first, second]);
                ("str", Detail::Columns { line, first, second })
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
    spans.sort_unstable_by_key(DocumentSpan::key);
    spans.dedup();
    facts.spans_cited = spans.len() as u64;
    spans.dedup_by_key(|cited| cited.document);
    facts.documents_cited = spans.len() as u64;
}

/// Coverage of the claim documents by the claims of valid annotations.
fn count_coverage(
    session: &Session<'_>,
    documents: Documents<'_>,
    scratch: &mut SessionScratch,
    facts: &mut SessionFacts,
) {
    merge(&mut scratch.claim_spans);
    let mut spans = scratch.claim_spans.as_slice();
    for (i, document) in session.documents.iter().enumerate() {
        let count = spans.iter().take_while(|claim| claim.document as usize == i).count();
        let (here, rest) = spans.split_at(count);
        spans = rest;
        if !scratch.roles[i].is_covered {
            continue;
        }
        match scratch.pages.text(i, &document.content) {
            Ok(text) => count_text(text, here, facts),
            Err(escaped) => count_parts(escaped, here, WHOLE_TEXT_BYTES, &mut scratch.part, facts),
        }
    }
    for (number, _) in &scratch.claimed {
        let from = spans.partition_point(|claim| claim.document < *number);
        let to = spans.partition_point(|claim| claim.document <= *number);
        if let Some((shared, document)) = documents.shared(*number as usize) {
            shared_coverage(shared, document, &spans[from..to], facts);
        }
    }
}

fn count_text(text: &str, claims: &[DocumentSpan], facts: &mut SessionFacts) {
    char_coverage(text, claims, &mut facts.chars);
    if let Some(share) = &mut facts.sentences {
        sentence_coverage(text, claims, share);
    }
}

/// The same part by part. No sentence goes on after an LF, and no LF counts as a character, so that the
/// sums are those of the whole.
fn count_parts(
    escaped: &Escaped<'_>,
    mut claims: &[DocumentSpan],
    bytes: usize,
    part: &mut TextPart,
    facts: &mut SessionFacts,
) {
    let mut line = 1;
    let mut here = Vec::new();
    while let Some(next) = escaped.unescape_part(line, bytes, part) {
        line = next;
        while let [first, rest @ ..] = claims
            && first.span.end <= part.start()
        {
            claims = rest;
        }
        let reaching = claims.iter().take_while(|claim| claim.span.start < part.end());
        here.clear();
        here.extend(
            reaching.filter_map(|claim| Some(DocumentSpan { span: part.span(claim.span)?, ..*claim })),
        );
        count_text(part.text(), &here, facts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{LineIndex, Scanner, Span};
    use proptest::prelude::*;
    use proptest::sample::Index;

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

    proptest! {
        /// The naive twin: the whole text at once.
        #[test]
        fn parts_add_up_to_the_whole(
            text in "([ab.1) \\n]|\r\n|é。|\"|1\\. A){0,60}", cuts in prop::collection::vec((any::<Index>(), any::<Index>()), 0..6),
            bytes in 1usize..40,
        ) {
            let literal = serde_json::to_string(&text).unwrap();
            let mut scanner = Scanner::default();
            let scan = scanner.scan(&literal.as_bytes()[1..]).unwrap();
            let escaped = Escaped::new(&literal.as_bytes()[1..], &scan, &scanner);
            let index = LineIndex::new(&text);
            // A place in the text, and in what stands for it in the literal.
            let places: Vec<(u32, u32)> = text.char_indices().filter(|(_, c)| *c != '\n').map(|(at, _)| {
                let line = index.line_of(at) as i64;
                let start = escaped.line(line).unwrap().0.start + at - index.line(line).unwrap().start;
                (at as u32, start as u32)
            }).collect();
            let (mut whole, mut parts) = (Vec::new(), Vec::new());
            for (a, b) in cuts.iter().filter(|_| !places.is_empty()) {
                let (a, b) = (places[a.index(places.len())], places[b.index(places.len())]);
                let (start, end) = (a.min(b), a.max(b));
                whole.push(DocumentSpan { document: 0, span: Span { start: start.0, end: end.0 } });
                parts.push(DocumentSpan { document: 0, span: Span { start: start.1, end: end.1 } });
            }
            for spans in [&mut whole, &mut parts] {
                spans.retain(|claim| claim.span.start < claim.span.end);
                merge(spans);
            }
            let facts = || SessionFacts { sentences: Some(Share::default()), ..SessionFacts::default() };
            let (mut expected, mut found) = (facts(), facts());
            count_text(&text, &whole, &mut expected);
            count_parts(&escaped, &parts, bytes, &mut TextPart::default(), &mut found);
            prop_assert_eq!(found, expected);
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

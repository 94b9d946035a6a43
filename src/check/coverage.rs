//! How much of a text is covered (contract, section 7).

use crate::model::Marker;
use crate::shared::SharedDocuments;
use crate::text::{Sentences, Span, count_non_white_space, is_countable, is_white_space};
use crate::verdict::{SessionFacts, Share};

/// A span and the document that it lies in, by the document's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DocumentSpan {
    pub(super) document: u32,
    pub(super) span: Span,
}

impl DocumentSpan {
    /// What sorts spans by document, start and end, with one comparison.
    pub(super) fn key(&self) -> u128 {
        u128::from(self.document) << 64 | u128::from(self.span.start) << 32 | u128::from(self.span.end)
    }
}

/// Sorts the spans by document and place, and makes one of those that overlap or touch.
pub(super) fn merge(spans: &mut Vec<DocumentSpan>) {
    spans.sort_unstable_by_key(DocumentSpan::key);
    spans.dedup_by(|later, earlier| {
        let joins = later.document == earlier.document && later.span.start <= earlier.span.end;
        if joins {
            earlier.span.end = earlier.span.end.max(later.span.end);
        }
        joins
    });
}

/// Code points without White_Space: those under the merged spans, of all.
pub(super) fn char_coverage(content: &str, merged: &[DocumentSpan], share: &mut Share) {
    share.whole += count_non_white_space(content);
    share.part += merged.iter().map(|claim| count_non_white_space(claim.span.text(content))).sum::<u64>();
}

/// Sentences that count: those with at least one covered character that is not white space, of all.
pub(super) fn sentence_coverage(content: &str, merged: &[DocumentSpan], share: &mut Share) {
    let mut spans = merged;
    for sentence in Sentences::new(content) {
        if !is_countable(&content[sentence.clone()]) {
            continue;
        }
        while let [passed, rest @ ..] = spans
            && passed.span.range().end <= sentence.start
        {
            spans = rest;
        }
        let reaching = spans.iter().take_while(|claim| claim.span.range().start < sentence.end);
        let mut shared = reaching.map(|claim| {
            let range = claim.span.range();
            &content[range.start.max(sentence.start)..range.end.min(sentence.end)]
        });
        share.add(shared.any(|text| !text.chars().all(is_white_space)));
    }
}

/// The same of a shared document, of which all is counted once for all records: a record looks at what its
/// own spans reach.
pub(super) fn shared_coverage(
    shared: &SharedDocuments,
    document: u32,
    merged: &[DocumentSpan],
    facts: &mut SessionFacts,
) {
    let content = shared.text(document);
    facts.chars.whole += shared.chars(document);
    facts.chars.part +=
        merged.iter().map(|claim| count_non_white_space(claim.span.text(content))).sum::<u64>();
    let Some((share, index)) = facts.sentences.as_mut().zip(shared.sentences(document)) else { return };
    share.whole += index.countable;
    let starts = &index.starts;
    // Sentences before this one are done with.
    let mut next = 0;
    for range in merged.iter().map(|claim| claim.span.range()) {
        let first = starts.partition_point(|start| *start as usize <= range.start).saturating_sub(1);
        let first = first.max(next);
        let reached = starts[first..].iter().take_while(|start| (**start as usize) < range.end).count();
        for i in first..first + reached {
            let start = starts[i] as usize;
            let end = starts.get(i + 1).map_or(content.len(), |end| *end as usize);
            let here = &content[range.start.max(start)..range.end.min(end)];
            if !here.chars().all(is_white_space) && is_countable(&content[start..end]) {
                share.part += 1;
                next = i + 1;
            }
        }
    }
}

/// Sentences of an answer that count: those that hold a known marker, of all.
///
/// Every inline match is first replaced by one space. It belongs to the sentence of the nearest
/// non-white-space character before it on its line, or, if there is none, after it on that line.
pub(super) fn answer_coverage(answer: &str, markers: &[(Marker<'_>, bool)]) -> Share {
    let (text, places) = lift_markers(answer, markers);
    let anchors = anchors(&text, &places);
    let mut anchors = anchors.as_slice();
    let mut share = Share::default();
    for sentence in Sentences::new(&text) {
        let here = anchors.partition_point(|anchor| *anchor < sentence.end);
        anchors = &anchors[here..];
        if is_countable(&text[sentence]) {
            share.add(here > 0);
        }
    }
    share
}

/// The answer with a space for each marker, and where in it the known ones stood.
fn lift_markers(answer: &str, markers: &[(Marker<'_>, bool)]) -> (String, Vec<usize>) {
    let mut text = String::with_capacity(answer.len());
    let mut places = Vec::new();
    let mut at = 0;
    for (marker, known) in markers {
        let range = marker.span.range();
        text.push_str(&answer[at..range.start]);
        if *known {
            places.push(text.len());
        }
        text.push(' ');
        at = range.end;
    }
    text.push_str(&answer[at..]);
    (text, places)
}

/// The character that each place belongs to, as its byte; in ascending order. The text between two places
/// is looked at once, however many markers stand side by side.
fn anchors(text: &str, places: &[usize]) -> Vec<usize> {
    let mut anchors = Vec::with_capacity(places.len());
    // The last character before, on this line; whether a marker waits for the next one.
    let (mut before, mut waiting, mut from) = (None, false, 0);
    for place in places.iter().copied().chain([text.len()]) {
        let between = &text[from..place];
        if waiting {
            let line = between.split('\n').next().unwrap_or("");
            anchors.extend(line.find(is_solid).map(|at| from + at));
        }
        let line = between.rfind('\n').map_or(0, |lf| lf + 1);
        let last = between[line..].rfind(is_solid).map(|at| from + line + at);
        before = if line > 0 { last } else { last.or(before) };
        if place < text.len() {
            anchors.extend(before);
        }
        waiting = before.is_none();
        from = (place + 1).min(text.len());
    }
    anchors
}

fn is_solid(c: char) -> bool {
    !is_white_space(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::inline_markers;
    use proptest::prelude::*;

    fn cover(answer: &str) -> (u64, u64) {
        let markers: Vec<(Marker<'_>, bool)> = inline_markers(answer).map(|m| (m, m.name == "S1")).collect();
        let share = answer_coverage(answer, &markers);
        (share.part, share.whole)
    }

    #[test]
    fn a_marker_belongs_to_what_stands_before_it_on_its_line() {
        assert_eq!(cover("Done.[S1] Next one."), (1, 2));
        assert_eq!(cover("One. [S1]\nTwo."), (1, 2));
        assert_eq!(cover("One.\n[S1] Two."), (1, 2));
        assert_eq!(cover("One.\n[S1]\nTwo."), (0, 2));
        assert_eq!(cover("One [S2]. Two [S1][S1]."), (1, 2));
        assert_eq!(cover("[S1]"), (0, 0));
        assert_eq!(cover("1. [S1] Foo."), (1, 1));
    }

    fn spans(pairs: &[(u32, u32)]) -> Vec<DocumentSpan> {
        let mut spans: Vec<DocumentSpan> = pairs
            .iter()
            .map(|(start, end)| DocumentSpan { document: 0, span: Span { start: *start, end: *end } })
            .collect();
        merge(&mut spans);
        spans
    }

    #[test]
    fn spans_that_overlap_or_touch_become_one() {
        assert_eq!(spans(&[(5, 9), (0, 2), (2, 3), (6, 7)]), spans(&[(0, 3), (5, 9)]));
    }

    proptest! {
        /// The naive twin: a flag for each character.
        #[test]
        fn coverage_agrees_with_its_naive_twin(
            text in "[ab. \n的。😀1)]{0,40}", cuts in prop::collection::vec((0usize..40, 0usize..12), 0..6),
        ) {
            let chars: Vec<(usize, char)> = text.char_indices().collect();
            let mut covered = vec![false; chars.len()];
            let mut pairs = Vec::new();
            for (from, len) in cuts {
                let to = (from + len).min(chars.len());
                if from >= to { continue; }
                covered[from..to].fill(true);
                let end = chars.get(to).map_or(text.len(), |(at, _)| *at);
                pairs.push((chars[from].0 as u32, end as u32));
            }
            let merged = spans(&pairs);
            let solid = |i: &usize| !is_white_space(chars[*i].1);
            let mut share = Share::default();
            char_coverage(&text, &merged, &mut share);
            let part = (0..chars.len()).filter(solid).filter(|i| covered[*i]).count() as u64;
            prop_assert_eq!(share, Share { part, whole: (0..chars.len()).filter(solid).count() as u64 });

            let mut share = Share::default();
            sentence_coverage(&text, &merged, &mut share);
            let mut naive = Share::default();
            for range in Sentences::new(&text).filter(|range| is_countable(&text[range.clone()])) {
                let hit = (0..chars.len()).filter(solid).any(|i| range.contains(&chars[i].0) && covered[i]);
                naive.add(hit);
            }
            prop_assert_eq!(share, naive);
        }

        /// The naive twin: look left, then right, from every marker.
        #[test]
        fn answers_agree_with_their_naive_twin(answer in "(\\[S1\\]|\\[S2\\]|[a. \n\u{3000}。1]){0,16}") {
            let markers: Vec<(Marker<'_>, bool)> = inline_markers(&answer).map(|m| (m, m.name == "S1")).collect();
            let (text, places) = lift_markers(&answer, &markers);
            let sentences: Vec<_> = Sentences::new(&text).collect();
            let mut hit = vec![false; sentences.len()];
            for place in places {
                let start = text[..place].rfind('\n').map_or(0, |lf| lf + 1);
                let end = text[place..].find('\n').map_or(text.len(), |lf| place + lf);
                let left = text[start..place].char_indices().rev().find(|(_, c)| !is_white_space(*c)).map(|(i, _)| start + i);
                let right = text[place..end].char_indices().find(|(_, c)| !is_white_space(*c)).map(|(i, _)| place + i);
                if let Some(anchor) = left.or(right) {
                    let i = sentences.iter().position(|range| range.contains(&anchor)).unwrap();
                    hit[i] = true;
                }
            }
            let mut naive = Share::default();
            for (range, hit) in sentences.into_iter().zip(hit) {
                if is_countable(&text[range]) {
                    naive.add(hit);
                }
            }
            prop_assert_eq!(answer_coverage(&answer, &markers), naive);
        }
    }
}

//! What people need to see of a text to understand a finding. Made only where an output asks for
//! it, from the finding's own place, so that the rules know nothing of it.

use crate::decode::json;
use crate::diagnostic::{Code, Detail, Diagnostic, Evidence, Origin, Pointer, Rule, Segment};
use crate::limits::{EVIDENCE_BYTES, EVIDENCE_MARKS};
use crate::model::{Answer, Boundary, Record, Ref, Session};
use crate::resolve::inline_markers;
use crate::shared::SharedDocuments;
use crate::text::{LineIndex, floor_boundary};
use std::ops::Range;

/// Adds to the first `count` errors what they need to be shown. `record` is the readable record, if it
/// is one; its refs may point into `shared` documents.
pub(crate) fn attach_evidence(
    raw: &[u8],
    record: Option<&Record<'_>>,
    shared: Option<&SharedDocuments>,
    errors: &mut [Diagnostic],
    count: usize,
) {
    for error in errors.iter_mut().take(count) {
        let Rule::Code(code) = error.rule else { continue };
        let evidence = match (record, error.offset) {
            (Some(Record::Session(session)), _) => of_ref(session, shared, code, &error.pointer),
            (Some(Record::Answer(answer)), _) => {
                of_answer(answer, error).or_else(|| of_value(raw, &error.pointer))
            }
            (None, Some(_)) if error.detail == Detail::Utf16 || code == Code::RecordTooLarge => None,
            (None, Some(offset)) => Some(of_bytes(raw, offset as usize..offset as usize + 1)),
            (None, None) => of_value(raw, &error.pointer),
        };
        error.evidence = evidence.map(Box::new);
    }
}

/// The line of a document that a ref's boundary should stand on.
fn of_ref(
    session: &Session<'_>,
    shared: Option<&SharedDocuments>,
    code: Code,
    pointer: &Pointer,
) -> Option<Evidence> {
    let (reference, side) = ref_at(session, pointer)?;
    let boundary = if side == Some("end") { &reference.end } else { &reference.start };
    let number = boundary.line.small()?;
    let content;
    let line = match session.paths.find(&session.documents, reference.path) {
        Some(own) => {
            content = session.documents[own].content.text();
            &content[LineIndex::new(&content).line(number)?]
        }
        None => {
            let (shared, found) = (shared?, shared?.find(reference.path)?);
            &shared.text(found)[shared.page(found)?.1.line(number)?]
        }
    };
    let marks = match code {
        Code::StrAmbiguous => occurrences(line, boundary.str),
        Code::BoundariesReversed => both_boundaries(line, &reference.start, &reference.end),
        Code::StrNotFound | Code::StrEmpty => Vec::new(),
        _ => return None,
    };
    let origin = Origin::Document(reference.path.to_owned());
    Some(window(origin, u64::try_from(number).ok()?, line, marks))
}

/// The ref that a pointer leads into, and the boundary, if it goes so far.
fn ref_at<'s, 'r>(
    session: &'s Session<'r>,
    pointer: &Pointer,
) -> Option<(&'s Ref<'r>, Option<&'static str>)> {
    let segments = match pointer.segments() {
        [Segment::Name("session"), rest @ ..] => rest,
        all => all,
    };
    let [Segment::Name("annotations"), Segment::Index(i), rest @ ..] = segments else { return None };
    let annotation = session.annotations.get(*i as usize)?;
    let (reference, rest) = match rest {
        [Segment::Name("claim"), rest @ ..] => (&annotation.claim, rest),
        [Segment::Name("sources"), Segment::Index(j), rest @ ..] => {
            (&session.sources_of(annotation).get(*j as usize)?.reference, rest)
        }
        _ => return None,
    };
    match rest {
        [Segment::Name(side), ..] => Some((reference, Some(side))),
        _ => Some((reference, None)),
    }
}

/// The first occurrences of `needle`, overlapping ones too.
fn occurrences(line: &str, needle: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while found.len() < EVIDENCE_MARKS && !needle.is_empty() {
        let Some(hit) = memchr::memmem::find(&line.as_bytes()[at..], needle.as_bytes()) else { break };
        found.push(at + hit..at + hit + needle.len());
        at += hit + 1;
    }
    found
}

fn both_boundaries(line: &str, start: &Boundary<'_>, end: &Boundary<'_>) -> Vec<Range<usize>> {
    [start, end].into_iter().flat_map(|boundary| occurrences(line, boundary.str)).collect()
}

/// The line of an answer on which a marker stands.
fn of_answer(answer: &Answer<'_>, error: &Diagnostic) -> Option<Evidence> {
    if error.pointer.segments().last() != Some(&Segment::Name("answer")) {
        return None;
    }
    let mut markers = inline_markers(answer.answer);
    let marker = match &error.marker {
        Some(name) => markers.find(|marker| marker.name == name),
        None => markers.next(),
    };
    let mark = marker.map_or(0..0, |marker| marker.span.range());
    let lines = LineIndex::new(answer.answer);
    let number = lines.line_of(mark.start);
    let range = lines.line(number as i64)?;
    let line = &answer.answer[range.clone()];
    let mark = mark.start - range.start..mark.end - range.start;
    let marks = Some(mark).filter(|mark| !mark.is_empty()).into_iter().collect();
    Some(window(Origin::Answer, number as u64, line, marks))
}

/// The value that a pointer names, in the record's own JSON.
fn of_value(raw: &[u8], pointer: &Pointer) -> Option<Evidence> {
    json::locate(raw, pointer).map(|range| of_bytes(raw, range))
}

/// A place in the record's own bytes, which need not be UTF-8.
fn of_bytes(raw: &[u8], place: Range<usize>) -> Evidence {
    let at = place.start.min(raw.len());
    let line_start = memchr::memrchr(b'\n', &raw[..at]).map_or(0, |lf| lf + 1);
    let line_end = memchr::memchr(b'\n', &raw[at..]).map_or(raw.len(), |lf| at + lf);
    let number = memchr::memchr_iter(b'\n', &raw[..line_start]).count() as u64 + 1;
    let is_start = |at: &usize| raw[*at] & 0xc0 != 0x80;
    let from = (at.saturating_sub(EVIDENCE_BYTES / 3).max(line_start)..at).find(is_start).unwrap_or(at);
    let to = line_end.min(at + EVIDENCE_BYTES / 2);
    let to = (at..to).rev().find(is_start).filter(|_| to < line_end).unwrap_or(to);
    // Whole characters are marked.
    let end = (place.end.clamp(at, to)..to).find(is_start).unwrap_or(to);
    let mut text = String::from_utf8_lossy(&raw[from..at]).into_owned();
    // A byte that is no character becomes one of three bytes, so the text is cut again.
    let cut = text.len().saturating_sub(EVIDENCE_BYTES / 3);
    let cut = (cut..=text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    let skipped =
        String::from_utf8_lossy(&raw[line_start..from]).chars().count() + text[..cut].chars().count();
    text.drain(..cut);
    let start = text.len();
    text.push_str(&String::from_utf8_lossy(&raw[at..end]));
    let marked = text.len();
    text.push_str(&String::from_utf8_lossy(&raw[end..to]));
    text.truncate(floor_boundary(&text, EVIDENCE_BYTES));
    let mark = start..marked.min(text.len());
    Evidence {
        origin: Origin::Record,
        line: number,
        skipped: skipped as u64,
        window: text,
        marks: Some(mark).filter(|mark| !mark.is_empty()).into_iter().collect(),
    }
}

/// At most [`EVIDENCE_BYTES`] of a line, from a little before the first mark.
fn window(origin: Origin, number: u64, line: &str, marks: Vec<Range<usize>>) -> Evidence {
    let first = marks.first().map_or(0, |mark| mark.start);
    let last = marks.last().map_or(0, |mark| mark.end);
    let from = if last <= EVIDENCE_BYTES { 0 } else { floor_boundary(line, first.saturating_sub(40)) };
    let to = floor_boundary(line, from + EVIDENCE_BYTES);
    let inside = |mark: &Range<usize>| mark.start >= from && mark.start < to;
    let shift = |mark: Range<usize>| mark.start - from..mark.end.min(to) - from;
    Evidence {
        origin,
        line: number,
        skipped: line[..from].chars().count() as u64,
        window: line[from..to].to_owned(),
        marks: marks.into_iter().filter(inside).map(shift).collect(),
    }
}

#[cfg(test)]
mod tests {
    use crate::checker::Checker;
    use crate::diagnostic::{Evidence, Origin};
    use crate::limits::EVIDENCE_BYTES;
    use crate::settings::Settings;

    /// The evidence of each error of a record.
    fn evidence(record: &str) -> Vec<Option<Evidence>> {
        let verdict = Checker::new(Settings::default()).with_evidence(usize::MAX).check(record.as_bytes());
        verdict.errors.into_iter().map(|error| error.evidence.map(|evidence| *evidence)).collect()
    }

    /// The marked texts.
    fn marked(evidence: &Evidence) -> Vec<&str> {
        evidence.marks.iter().map(|mark| &evidence.window[mark.clone()]).collect()
    }

    fn session(content: &str, start: &str, end: &str) -> String {
        format!(
            "{{\"documents\":[{{\"path\":\"a\",\"content\":\"{content}\"}},{{\"path\":\"b\",\"content\":\"p\"}}],\
             \"annotations\":[{{\"claim\":{{\"path\":\"a\",\"start\":{{\"line\":2,\"str\":\"{start}\"}},\
             \"end\":{{\"line\":2,\"str\":\"{end}\"}}}},\"sources\":[{{\"path\":\"b\",\"start\":{{\"line\":1,\"str\":\"p\"}},\
             \"end\":{{\"line\":1,\"str\":\"p\"}},\"polarity\":\"supports\",\"confidence\":1}}]}}]}}"
        )
    }

    #[test]
    fn every_occurrence_is_marked_overlaps_too() {
        let found = evidence(&session("x\\naaa 的", "aa", "的"));
        let [Some(start)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((start.origin.clone(), start.line), (Origin::Document("a".to_owned()), 2));
        assert_eq!(start.marks, [0..2, 1..3]);
    }

    #[test]
    fn reversed_boundaries_are_both_marked() {
        let found = evidence(&session("x\\none two", "two", "one"));
        assert_eq!(marked(found[0].as_ref().unwrap()), ["two", "one"]);
    }

    #[test]
    fn a_long_line_is_cut_to_a_window_of_whole_characters() {
        let line = format!("{}的x{}的x", "的".repeat(70_000), "é".repeat(40));
        let found = evidence(&session(&format!("x\\n{line}"), "的x", "absent"));
        let shown = found[0].as_ref().unwrap();
        assert!(shown.window.len() <= EVIDENCE_BYTES);
        assert_eq!(marked(shown), ["的x", "的x"]);
        assert_eq!(shown.skipped, 70_000 - 14);
        assert!(found[1].as_ref().unwrap().marks.is_empty());
    }

    #[test]
    fn a_fault_in_the_json_is_shown_where_it_is() {
        let shown = evidence("{\"a\": 的}").remove(0).unwrap();
        assert_eq!((marked(&shown), shown.window.as_str()), (vec!["的"], "{\"a\": 的}"));
        let shown = evidence("{\n\"a\": tru\n}").remove(0).unwrap();
        assert_eq!((shown.line, shown.window.as_str()), (2, "\"a\": tru"));
        let shown =
            evidence("{\"documents\":[{\"path\":7,\"content\":\"\"}],\"annotations\":[]}").remove(0).unwrap();
        assert_eq!(marked(&shown), ["7"]);
    }

    #[test]
    fn bytes_that_are_no_characters_stay_within_the_window() {
        let record = [b"{\"a\":\"".as_slice(), &[0xff; 500], b"\"}"].concat();
        let verdict = Checker::new(Settings::default()).with_evidence(1).check(&record);
        let shown = verdict.errors[0].evidence.as_ref().unwrap();
        assert!(shown.window.len() <= EVIDENCE_BYTES, "{}", shown.window.len());
        assert_eq!((shown.skipped, marked(shown).len()), (0, 1));
    }

    #[test]
    fn an_answer_shows_the_line_of_its_marker() {
        let shown = evidence(
            "{\"status\":\"answered\",\"answer\":\"One [S1].\\nTwo [S2].\",\"citations\":[\"S1\",\"S2\"],\
             \"context\":{\"sources\":[{\"marker\":\"S1\",\"chunk_id\":\"\",\"document_id\":\"\"}]}}",
        );
        let shown = shown[0].as_ref().unwrap();
        assert_eq!((shown.line, shown.window.as_str(), marked(shown)), (2, "Two [S2].", vec!["[S2]"]));
    }
}

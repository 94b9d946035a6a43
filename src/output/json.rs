//! Verdicts as JSON lines (contract, section 8), written straight to bytes.

use super::sanitize::is_unsafe;
use super::words::{constant_message, message};
use crate::diagnostic::{Diagnostic, Pointer, Segment};
use crate::verdict::{AnswerFacts, BANDS, Facts, Group, Id, RecordVerdict, SessionFacts, Share};
use std::io::Write as _;

/// Writes one verdict on a record of the input `file`, as one line with its LF.
///
/// Controls and marks that change the direction of writing are written as escapes, so that the line
/// can be shown on a terminal and still holds the same strings.
pub fn write_verdict(file: &str, verdict: &RecordVerdict, out: &mut Vec<u8>) {
    write_verdict_after(&verdict_head(file), verdict, out);
}

/// The beginning of every verdict on a record of the input `file`.
pub(crate) fn verdict_head(file: &str) -> Vec<u8> {
    let mut head = b"{\"file\":".to_vec();
    write_string(file, &mut head);
    head.extend_from_slice(b",\"line\":");
    head
}

/// The beginning of a line about a record, up to its `id`.
pub(crate) fn write_verdict_place(file: &str, verdict: &RecordVerdict, out: &mut Vec<u8>) {
    out.extend_from_slice(&verdict_head(file));
    write_line_and_id(verdict, out);
}

fn write_line_and_id(verdict: &RecordVerdict, out: &mut Vec<u8>) {
    write_number(verdict.line, out);
    match &verdict.id {
        None => {}
        Some(Id::Text(text)) => {
            out.extend_from_slice(b",\"id\":");
            write_string(text, out);
        }
        Some(Id::Number(digits)) => {
            out.extend_from_slice(b",\"id\":");
            out.extend_from_slice(digits.as_bytes());
        }
    }
}

/// The same as [`write_verdict`], with the head at hand.
pub(crate) fn write_verdict_after(head: &[u8], verdict: &RecordVerdict, out: &mut Vec<u8>) {
    // Room for most verdicts at once.
    out.reserve(1024);
    out.extend_from_slice(head);
    write_line_and_id(verdict, out);
    if let Some(kind) = verdict.kind {
        write_plain(",\"kind\":\"", kind.name(), "\"", out);
    }
    if let Some(groups) = &verdict.groups {
        write_groups(groups, out);
    }
    if let Some(cluster) = &verdict.cluster {
        out.extend_from_slice(b",\"cluster\":");
        write_string(cluster, out);
    }
    write_plain(",\"status\":\"", verdict.status.name(), "\"", out);
    out.extend_from_slice(b",\"errors\":");
    write_list(&verdict.errors, "code", out);
    out.extend_from_slice(b",\"lints\":");
    write_list(&verdict.lints, "lint", out);
    match &verdict.facts {
        None => {}
        Some(Facts::Session(facts)) => write_session(facts, out),
        Some(Facts::Answer(facts)) => write_answer(facts, out),
    }
    out.extend_from_slice(b"}\n");
}

/// The same as a string without the LF.
pub fn write_verdict_to_string(file: &str, verdict: &RecordVerdict) -> String {
    let mut out = Vec::new();
    write_verdict(file, verdict, &mut out);
    out.pop();
    String::from_utf8(out).unwrap_or_default()
}

/// `null` stands for a member that is absent.
fn write_groups(groups: &[Group], out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"groups\":{");
    for (i, group) in groups.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_string(group.pointer, out);
        out.push(b':');
        match &group.value {
            Some(value) => write_string(value, out),
            None => out.extend_from_slice(b"null"),
        }
    }
    out.push(b'}');
}

fn write_list(findings: &[Diagnostic], rule: &str, out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, finding) in findings.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_finding(finding, rule, out);
    }
    out.push(b']');
}

fn write_finding(finding: &Diagnostic, rule: &str, out: &mut Vec<u8>) {
    write_plain("{\"", rule, "\":\"", out);
    write_plain(finding.rule.name(), "\",\"pointer\":\"", "", out);
    write_pointer(&finding.pointer, out);
    out.push(b'"');
    if let Some(offset) = finding.offset {
        out.extend_from_slice(b",\"offset\":");
        write_number(offset, out);
    }
    if let Some(marker) = &finding.marker {
        out.extend_from_slice(b",\"marker\":");
        write_string(marker, out);
    }
    out.extend_from_slice(b",\"message\":\"");
    write_message(finding, out);
    out.extend_from_slice(b"\"}");
}

/// The words are plain; only a marker in them can need an escape.
fn write_message(finding: &Diagnostic, out: &mut Vec<u8>) {
    if let Some(words) = constant_message(finding) {
        return out.extend_from_slice(words.as_bytes());
    }
    let start = out.len();
    // Writing to a vector cannot fail.
    let _ = write!(out, "{}", message(finding));
    let needs_escape = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f | 0x7f..);
    if out[start..].iter().any(needs_escape) {
        let words = String::from_utf8_lossy(&out[start..]).into_owned();
        out.truncate(start);
        write_escaped(&words, out);
    }
}

fn write_session(facts: &SessionFacts, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"counts\":{\"annotations\":");
    write_share(facts.annotations, "valid", out);
    out.extend_from_slice(b",\"refs\":");
    write_share(facts.refs, "valid", out);
    out.extend_from_slice(b"},\"coverage\":{\"chars\":");
    write_share(facts.chars, "covered", out);
    if let Some(sentences) = facts.sentences {
        out.extend_from_slice(b",\"sentences\":");
        write_share(sentences, "covered", out);
    }
    out.extend_from_slice(b"},\"polarity\":{");
    write_count("\"supports\":", facts.supports, out);
    write_count(",\"refutes\":", facts.refutes, out);
    write_count(",\"claims\":{\"supported\":", facts.claims_supported, out);
    write_count(",\"refuted\":", facts.claims_refuted, out);
    write_count(",\"contested\":", facts.claims_contested, out);
    out.extend_from_slice(b"}},\"confidence\":{\"sum\":");
    write_billionths(u128::from(facts.confidence), out);
    for (i, (band, count)) in BANDS.iter().zip(facts.bands).enumerate() {
        let before = if i == 0 { ",\"bands\":{\"" } else { ",\"" };
        write_plain(before, band, "\":", out);
        write_number(count, out);
    }
    out.extend_from_slice(b"}}");
    write_count(",\"documents_cited\":", facts.documents_cited, out);
    write_count(",\"spans_cited\":", facts.spans_cited, out);
}

fn write_answer(facts: &AnswerFacts, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"counts\":{\"citations\":");
    write_share(facts.citations, "valid", out);
    out.push(b'}');
    if let Some(sentences) = facts.sentences {
        out.extend_from_slice(b",\"coverage\":{\"sentences\":");
        write_share(sentences, "covered", out);
        out.push(b'}');
    }
    write_count(",\"chunks_cited\":", facts.chunks_cited, out);
    write_count(",\"documents_cited\":", facts.documents_cited, out);
}

#[inline(always)]
fn write_share(share: Share, part: &str, out: &mut Vec<u8>) {
    write_plain("{\"", part, "\":", out);
    write_number(share.part, out);
    write_count(",\"total\":", share.whole, out);
    out.push(b'}');
}

#[inline(always)]
fn write_count(before: &str, count: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(before.as_bytes());
    write_number(count, out);
}

#[inline(always)]
fn write_plain(before: &str, text: &str, after: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(before.as_bytes());
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(after.as_bytes());
}

fn write_pointer(pointer: &Pointer, out: &mut Vec<u8>) {
    for segment in pointer.segments() {
        out.push(b'/');
        match segment {
            Segment::Name(name) => write_escaped(name, out),
            Segment::Index(index) => write_number(u64::from(*index), out),
        }
    }
}

#[inline(always)]
pub(super) fn write_number(number: u64, out: &mut Vec<u8>) {
    // Most counts are small.
    if number < 10 { out.push(b'0' + number as u8) } else { write_large(number, out) }
}

#[inline(never)]
fn write_large(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// A count of billionths as the shortest decimal of the same value.
pub(super) fn write_billionths(units: u128, out: &mut Vec<u8>) {
    const UNIT: u128 = 1_000_000_000;
    let (whole, mut rest) = match u64::try_from(units) {
        Ok(units) => (u128::from(units / UNIT as u64), units % UNIT as u64),
        Err(_) => (units / UNIT, (units % UNIT) as u64),
    };
    out.extend_from_slice(itoa::Buffer::new().format(whole).as_bytes());
    if rest == 0 {
        return;
    }
    out.push(b'.');
    let mut unit = UNIT as u64;
    while rest > 0 {
        unit /= 10;
        out.push(b'0' + (rest / unit) as u8);
        rest %= unit;
    }
}

/// A JSON string.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    write_escaped(text, out);
    out.push(b'"');
}

fn write_escaped(text: &str, out: &mut Vec<u8>) {
    let plain = |byte: &u8| matches!(byte, 0x20..=0x7e) && !matches!(byte, b'"' | b'\\');
    // Without a way out of the loop it is vector code.
    if text.as_bytes().iter().fold(true, |all, byte| all & plain(byte)) {
        return out.extend_from_slice(text.as_bytes());
    }
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            // All of these lie below U+10000, so one escape holds them.
            c if is_unsafe(c) => out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes()),
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn billionths_are_the_shortest_decimal() {
        for (units, text) in [
            (0, "0"),
            (1, "0.000000001"),
            (5_600_000_000, "5.6"),
            (1_000_000_000, "1"),
            (950_000_000, "0.95"),
        ] {
            let mut out = Vec::new();
            write_billionths(units, &mut out);
            assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn strings_come_back_as_they_were() {
        let all: String = ('\0'..='\u{ff}').chain("\u{2028}\u{202e}\u{feff}\u{fffe}😀的".chars()).collect();
        let mut out = Vec::new();
        write_string(&all, &mut out);
        assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), all);
        let text = String::from_utf8(out).unwrap();
        assert!(!text.chars().any(is_unsafe));
    }
}

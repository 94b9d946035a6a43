//! Markers in an answer's text (contract, section 5).

use crate::model::Marker;
use crate::text::{Span, is_decimal_digit};

/// The matches of `\[(S\d+)\]` in a text, in order, `\d` being any Unicode decimal digit.
///
/// ```
/// let names: Vec<&str> = sourcecheck::inline_markers("a [S1][S22], [s1] [S 1]").map(|m| m.name).collect();
/// assert_eq!(names, ["S1", "S22"]);
/// ```
pub fn inline_markers(text: &str) -> impl Iterator<Item = Marker<'_>> {
    memchr::memchr_iter(b'[', text.as_bytes()).filter_map(|open| marker_at(text, open))
}

/// The marker whose opening bracket stands at byte `open`.
fn marker_at(text: &str, open: usize) -> Option<Marker<'_>> {
    let digits = text[open + 1..].strip_prefix('S')?;
    let length = digits.find(|c| !is_decimal_digit(c)).filter(|length| *length > 0)?;
    if digits.as_bytes()[length] != b']' {
        return None;
    }
    let name = &text[open + 1..open + 2 + length];
    Some(Marker { name, span: Span { start: open as u32, end: (open + 3 + length) as u32 } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_exact_form_is_a_marker() {
        let names = |text| inline_markers(text).map(|m| m.name).collect::<Vec<_>>();
        assert_eq!(names("[S1][S2]"), ["S1", "S2"]);
        assert_eq!(names("[S[S1]]"), ["S1"]);
        assert_eq!(names("[S２] [S٣]"), ["S２", "S٣"]);
        assert!(names("[s1] [S 1] [S1, S2] [S] [S1 【S1】 ［S1］ [S½] [^S1] S1]").is_empty());
    }

    /// The naive twin: try each substring between brackets.
    fn naive(text: &str) -> Vec<(usize, String)> {
        let chars: Vec<char> = text.chars().collect();
        let mut found = Vec::new();
        for open in 0..chars.len() {
            let Some(len) = chars[open..].iter().position(|c| *c == ']') else { break };
            let inside = &chars[open..open + len];
            if let ['[', 'S', digits @ ..] = inside
                && !digits.is_empty()
                && digits.iter().all(|c| is_decimal_digit(*c))
            {
                found.push((open, inside[1..].iter().collect()));
            }
        }
        found
    }

    proptest! {
        #[test]
        fn agrees_with_its_naive_twin(text in "[\\[\\]S12２s ]{0,30}") {
            let found: Vec<(usize, String)> = inline_markers(&text)
                .map(|m| (text[..m.span.start as usize].chars().count(), m.name.to_owned()))
                .collect();
            prop_assert_eq!(found, naive(&text));
            for marker in inline_markers(&text) {
                prop_assert_eq!(format!("[{}]", marker.name), marker.span.text(&text));
            }
        }
    }
}

//! Sentences: the default rules of UAX #29, section 5, and the contract's rule for list labels.
//!
//! A sentence can end only after a paragraph separator (rule SB4) or after a terminator and what
//! closes it (rule SB11). So the text is scanned for the few bytes that can begin one of those
//! characters, and the rules are looked at only there.

use super::simd::{Simd, WINDOW, Window, Work, run};
use icu_properties::CodePointMapData;
use icu_properties::CodePointSetData;
use icu_properties::props::{Alphabetic, GeneralCategory, SentenceBreak};
use std::ops::{Range, RangeInclusive};

/// The version of Unicode whose data and rules are used everywhere in this crate.
pub const UNICODE_VERSION: &str = "17.0.0";

/// The sentences of a text, in order, as byte ranges that cover the text without a gap.
///
/// An empty text has none.
///
/// ```
/// let text = "One. Two!\n1. A list item.";
/// let found: Vec<&str> = sourcecheck::Sentences::new(text).map(|s| &text[s]).collect();
/// assert_eq!(found, ["One. ", "Two!\n", "1. A list item."]);
/// ```
#[derive(Clone, Debug)]
pub struct Sentences<'t> {
    text: &'t str,
    at: usize,
    join_labels: bool,
    ends: PossibleEnds,
}

impl<'t> Sentences<'t> {
    /// The sentences as the contract counts them: UAX #29, and a list label (`1. `, `b) `) at the
    /// start of a line is one sentence with what follows it.
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0, join_labels: true, ends: PossibleEnds::new() }
    }

    /// The sentences by the default rules of UAX #29 alone.
    pub fn uax29(text: &'t str) -> Self {
        Self { text, at: 0, join_labels: false, ends: PossibleEnds::new() }
    }

    /// The first boundary after `from`, which is a boundary itself.
    fn next_boundary(&mut self, from: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = from;
        loop {
            at = self.ends.next(bytes, at);
            let found = match bytes.get(at..) {
                None | Some([]) => return bytes.len(),
                Some([b'\n', ..]) => return at + 1,
                Some([b'.' | b'!' | b'?', after @ ..]) => usual_boundary(after),
                // 。！？ before an ideograph or a line's end.
                Some([0xe3, 0x80, 0x82, 0xe4..=0xe9, ..] | [0xef, 0xbc, 0x81 | 0x9f, 0xe4..=0xe9, ..]) => {
                    return at + 3;
                }
                Some([0xe3, 0x80, 0x82, b'\n', ..] | [0xef, 0xbc, 0x81 | 0x9f, b'\n', ..]) => return at + 4,
                // 、，
                Some([0xe3, 0x80, 0x81, ..] | [0xef, 0xbc, 0x8c, ..]) => {
                    at += 3;
                    continue;
                }
                Some(_) => None,
            };
            if let Some(length) = found {
                let boundary = at + 1 + length;
                if self.join_labels && ends_label(&bytes[..boundary], at) {
                    at = boundary;
                    continue;
                }
                return boundary;
            }
            let Some((class, next)) = self.class_at(at) else { return bytes.len() };
            if is_separator(class) {
                return self.after_separator(at);
            }
            if !is_terminator(class) {
                at = next;
                continue;
            }
            match self.after_terminator(at, class, next) {
                Ok(boundary) if self.join_labels && ends_label(&bytes[..boundary], at) => at = boundary,
                Ok(boundary) => return boundary,
                Err(no_boundary_until) => at = no_boundary_until,
            }
        }
    }

    /// Rules SB6 to SB11 for the terminator at `at`, `next` being the byte after it: the boundary
    /// that it makes, or (`Err`) the place up to which there is none.
    fn after_terminator(&self, at: usize, terminator: SentenceBreak, next: usize) -> Result<usize, usize> {
        let mut here = self.skip_extend(next);
        if terminator == SentenceBreak::ATerm {
            match self.class_at(here) {
                Some((SentenceBreak::Numeric, _)) => return Err(here), // SB6
                Some((SentenceBreak::Upper, _)) if self.letter_before(at) => return Err(here), // SB7
                _ => {}
            }
        }
        here = self.skip_all(here, SentenceBreak::Close); // SB9
        here = self.skip_all(here, SentenceBreak::Sp); // SB10
        if terminator == SentenceBreak::ATerm && self.lower_follows(here) {
            return Err(here); // SB8
        }
        match self.class_at(here) {
            None => Ok(self.text.len()),
            Some((SentenceBreak::SContinue, _)) => Err(here), // SB8a
            Some((class, _)) if is_terminator(class) => Err(here), // SB8a
            Some((class, _)) if is_separator(class) => Ok(self.after_separator(here)), // SB4
            Some(_) => Ok(here),                              // SB11
        }
    }

    /// The class of the character at byte `at` and the byte after it; `None` at the end.
    fn class_at(&self, at: usize) -> Option<(SentenceBreak, usize)> {
        let byte = *self.text.as_bytes().get(at)?;
        if let Some(class) = ASCII_CLASSES.get(usize::from(byte)) {
            return Some((*class, at + 1));
        }
        let c = self.text.get(at..)?.chars().next()?;
        Some((class_of(c), at + c.len_utf8()))
    }

    /// Past the paragraph separator at `at`; CR LF is one (SB3, SB4).
    fn after_separator(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        let crlf = rest.starts_with("\r\n");
        at + if crlf { 2 } else { rest.chars().next().map_or(0, char::len_utf8) }
    }

    /// Past the Extend and Format characters, which belong to the character before them (SB5).
    fn skip_extend(&self, mut at: usize) -> usize {
        while let Some((SentenceBreak::Extend | SentenceBreak::Format, next)) = self.class_at(at) {
            at = next;
        }
        at
    }

    /// Past every character of `class`, each with what extends it.
    fn skip_all(&self, mut at: usize, class: SentenceBreak) -> usize {
        while let Some((found, next)) = self.class_at(at)
            && found == class
        {
            at = self.skip_extend(next);
        }
        at
    }

    /// Whether an upper or lower case letter stands before byte `at` (SB7).
    fn letter_before(&self, at: usize) -> bool {
        let mut before = self.text[..at].chars().rev().map(class_of);
        let base = before.find(|class| !matches!(*class, SentenceBreak::Extend | SentenceBreak::Format));
        matches!(base, Some(SentenceBreak::Upper | SentenceBreak::Lower))
    }

    /// Whether the next character that is a letter, separator or terminator is a lower case letter
    /// (SB8). The next terminator stops the search, so that all searches together are linear.
    fn lower_follows(&self, at: usize) -> bool {
        use SentenceBreak as SB;
        let deciding = |class: &SB| {
            matches!(*class, SB::OLetter | SB::Upper | SB::Lower)
                || is_separator(*class)
                || is_terminator(*class)
        };
        self.text[at..].chars().map(class_of).find(deciding) == Some(SB::Lower)
    }
}

impl Iterator for Sentences<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        if self.at >= self.text.len() {
            return None;
        }
        let start = self.at;
        self.at = self.next_boundary(start);
        Some(start..self.at)
    }
}

/// Whether a sentence counts: it has a character that is Alphabetic or a number (Nd, Nl, No).
#[inline]
pub fn is_countable(sentence: &str) -> bool {
    sentence.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric) || has_countable(sentence)
}

fn has_countable(sentence: &str) -> bool {
    sentence.chars().any(|c| {
        if c.is_ascii() {
            return c.is_ascii_alphanumeric();
        }
        // Ideographs, which are looked at most, without a search in the data.
        if IDEOGRAPHS.contains(&c) {
            return true;
        }
        CodePointSetData::new::<Alphabetic>().contains(c)
            || matches!(
                CodePointMapData::<GeneralCategory>::new().get(c),
                GeneralCategory::DecimalNumber | GeneralCategory::LetterNumber | GeneralCategory::OtherNumber
            )
    })
}

/// The block of CJK unified ideographs, each of them Alphabetic. A test holds this against the data.
const IDEOGRAPHS: RangeInclusive<char> = '\u{4e00}'..='\u{9fff}';

/// Whether the boundary at the end of `text`, made by the full stop at byte `stop`, ends a list
/// label: on its LF line, blanks and `>#*+-`, then one to three digits or one letter, the full
/// stop, and blanks (contract, section 10).
///
/// Of the two characters that end a label, `)` alone never ends a sentence.
fn ends_label(text: &[u8], stop: usize) -> bool {
    let blanks = &text[stop + 1..];
    if text[stop] != b'.' || blanks.is_empty() || !blanks.iter().all(|b| matches!(b, b' ' | b'\t')) {
        return false;
    }
    let digits = text[..stop].iter().rev().take(4).take_while(|b| b.is_ascii_digit()).count();
    let label = match digits {
        0 if text[..stop].last().is_some_and(u8::is_ascii_alphabetic) => 1,
        1..=3 => digits,
        _ => return false,
    };
    let before = text[..stop - label]
        .iter()
        .rev()
        .find(|b| !matches!(b, b' ' | b'\t' | b'>' | b'#' | b'*' | b'+' | b'-'));
    matches!(before, None | Some(b'\n'))
}

fn is_separator(class: SentenceBreak) -> bool {
    matches!(class, SentenceBreak::Sep | SentenceBreak::CR | SentenceBreak::LF)
}

fn is_terminator(class: SentenceBreak) -> bool {
    matches!(class, SentenceBreak::ATerm | SentenceBreak::STerm)
}

fn class_of(c: char) -> SentenceBreak {
    let ascii = ASCII_CLASSES.get(c as usize).copied();
    ascii.unwrap_or_else(|| CodePointMapData::<SentenceBreak>::new().get(c))
}

/// The classes of ASCII. A test holds this against the data.
const ASCII_CLASSES: [SentenceBreak; 128] = {
    let mut classes = [SentenceBreak::Other; 128];
    let mut byte = 0;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'a'..=b'z' => SentenceBreak::Lower,
            b'A'..=b'Z' => SentenceBreak::Upper,
            b'0'..=b'9' => SentenceBreak::Numeric,
            b' ' | b'\t' | 0x0b | 0x0c => SentenceBreak::Sp,
            b'\n' => SentenceBreak::LF,
            b'\r' => SentenceBreak::CR,
            b'.' => SentenceBreak::ATerm,
            b'!' | b'?' => SentenceBreak::STerm,
            b',' | b'-' | b':' | b';' => SentenceBreak::SContinue,
            b'"' | b'\'' | b'(' | b')' | b'[' | b']' | b'{' | b'}' => SentenceBreak::Close,
            _ => SentenceBreak::Other,
        };
        byte += 1;
    }
    classes
};

/// Where the sentence ends if what follows its terminator is what follows most: a line's end (SB4), or a
/// blank and an upper case letter (SB11), with a quote or bracket between (SB9). `None` says nothing.
#[inline]
fn usual_boundary(after: &[u8]) -> Option<usize> {
    match after {
        [b'\n', ..] | [b' ', b'A'..=b'Z', ..] | [b' ', b'"', b'A'..=b'Z', ..] => Some(1),
        [b'"' | b')', b'\n', ..] | [b'"' | b')', b' ', b'A'..=b'Z', ..] => Some(2),
        _ => None,
    }
}

/// The places of a text at which a separator or a terminator can begin, found some windows at a time.
#[derive(Clone, Copy, Debug)]
struct PossibleEnds {
    /// Where the windows begin.
    base: usize,
    /// A bit for each place in them.
    bits: [u64; Self::WINDOWS],
}

impl PossibleEnds {
    const WINDOWS: usize = 8;

    fn new() -> Self {
        Self { base: 0, bits: [0; Self::WINDOWS] }
    }

    /// The next place from `at` on, or the end of the text. `at` never goes back; the first is 0.
    #[inline(always)]
    fn next(&mut self, text: &[u8], mut at: usize) -> usize {
        loop {
            if at == 0 || at >= self.base + Self::WINDOWS * WINDOW {
                if at >= text.len() {
                    return text.len();
                }
                *self = Self { base: at, bits: run(FindPossibleEnds(text, at)) };
            }
            let (window, bit) = ((at - self.base) / WINDOW, (at - self.base) % WINDOW);
            let rest = self.bits[window] & (u64::MAX << bit);
            if rest != 0 {
                return self.base + window * WINDOW + rest.trailing_zeros() as usize;
            }
            at = self.base + (window + 1) * WINDOW;
        }
    }
}

/// A bit for each byte, from one on, that can begin a separator or a terminator. A test holds this against
/// the data.
struct FindPossibleEnds<'t>(&'t [u8], usize);

impl Work for FindPossibleEnds<'_> {
    type Output = [u64; PossibleEnds::WINDOWS];

    #[inline(always)]
    fn work<S: Simd>(self, simd: S) -> Self::Output {
        let Self(text, base) = self;
        let mut found = [0; PossibleEnds::WINDOWS];
        for (i, bits) in found.iter_mut().enumerate() {
            let at = base + i * WINDOW;
            if at >= text.len() {
                break;
            }
            let window = Window::at(simd, text, at);
            let ascii =
                window.is(b'\n') | window.is(b'\r') | window.is(b'.') | window.is(b'!') | window.is(b'?');
            *bits = if window.not_ascii().bits() == 0 {
                ascii.bits()
            } else {
                let two = window.is(0xc2) | window.is(0xd6) | window.is(0xd8) | window.is(0xdf);
                let more = window.within(0xdb, 0xdc) | window.within(0xe0, 0xe3) | window.is(0xea);
                (ascii | two | more | window.within(0xef, 0xf0)).bits()
            };
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icu_segmenter::SentenceSegmenter;
    use icu_segmenter::options::SentenceBreakInvariantOptions;
    use proptest::prelude::*;

    fn boundaries(sentences: Sentences<'_>) -> Vec<usize> {
        std::iter::once(0).chain(sentences.map(|range| range.end)).collect()
    }

    /// The slow twin: the segmenter of ICU4X, by the same rules and data.
    fn twin(text: &str) -> Vec<usize> {
        if text.is_empty() {
            return vec![0];
        }
        let segmenter = SentenceSegmenter::new(SentenceBreakInvariantOptions::default());
        segmenter.segment_str(text).collect()
    }

    fn split(text: &str) -> Vec<&str> {
        Sentences::new(text).map(|range| &text[range]).collect()
    }

    #[test]
    fn the_table_of_bytes_is_exact() {
        let mut table = [false; 256];
        for c in '\0'..=char::MAX {
            let class = CodePointMapData::<SentenceBreak>::new().get(c);
            assert_eq!(class_of(c), class, "{c:?}");
            if is_separator(class) || is_terminator(class) {
                table[usize::from(c.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
            }
        }
        for (byte, can_end) in (0..=u8::MAX).zip(table) {
            assert_eq!(run(FindPossibleEnds(&[byte], 0))[0] == 1, can_end, "{byte:x}");
        }
    }

    #[test]
    fn what_is_told_by_its_bytes_alone() {
        for (c, class) in [
            ('。', SentenceBreak::STerm),
            ('！', SentenceBreak::STerm),
            ('？', SentenceBreak::STerm),
            ('、', SentenceBreak::SContinue),
            ('，', SentenceBreak::SContinue),
        ] {
            assert_eq!(class_of(c), class, "{c}");
        }
        // What begins with E4 to E9.
        for c in '\u{4000}'..='\u{9fff}' {
            assert!(matches!(class_of(c), SentenceBreak::OLetter | SentenceBreak::Other), "{c:?}");
        }
    }

    #[test]
    fn ideographs_are_alphabetic() {
        let alphabetic = CodePointSetData::new::<Alphabetic>();
        assert!(IDEOGRAPHS.into_iter().all(|c| alphabetic.contains(c)));
    }

    #[test]
    fn the_data_are_of_the_version_that_is_named() {
        // U+16EA0 came with Unicode 17.0; U+1C8A9..U+1C8FF is still unassigned.
        assert!(CodePointSetData::new::<Alphabetic>().contains('\u{16ea0}'));
        assert!(UNICODE_VERSION.starts_with("17."));
    }

    /// Unicode's own test: each line a text as code points, `÷` where it is broken, `×` where it is not.
    #[test]
    fn the_break_test_of_the_version_that_is_named() {
        let cases = include_str!("../../datasets/unicode/SentenceBreakTest-17.0.0.txt");
        assert!(cases.starts_with(&format!("# SentenceBreakTest-{UNICODE_VERSION}.txt")));
        let mut count = 0;
        for case in cases.lines().map(|line| line.split('#').next().unwrap_or("").trim()) {
            let (mut text, mut expected) = (String::new(), Vec::new());
            for token in case.split_whitespace() {
                match token {
                    "÷" => expected.push(text.len()),
                    "×" => {}
                    point => text.push(char::from_u32(u32::from_str_radix(point, 16).unwrap()).unwrap()),
                }
            }
            if !text.is_empty() {
                assert_eq!(boundaries(Sentences::uax29(&text)), expected, "{case}");
                count += 1;
            }
        }
        assert_eq!(count, 512);
    }

    #[test]
    fn list_labels_join_what_follows() {
        assert_eq!(split("1. Foo. Bar"), ["1. Foo. ", "Bar"]);
        assert_eq!(split("x\n > 12. \"Foo\""), ["x\n", " > 12. \"Foo\""]);
        assert_eq!(split("- a. Foo"), ["- a. Foo"]);
        assert_eq!(split("1234. Foo"), ["1234. ", "Foo"]);
        assert_eq!(split("It is 1. Foo"), ["It is 1. ", "Foo"]);
        assert_eq!(split("ab. Foo"), ["ab. ", "Foo"]);
        assert_eq!(split("1.\nFoo"), ["1.\n", "Foo"]);
        assert_eq!(split("1.\u{a0}Foo"), ["1.\u{a0}", "Foo"]);
        assert_eq!(split("x\r1. Foo"), ["x\r", "1. ", "Foo"]);
    }

    #[test]
    fn countable_sentences() {
        for (text, counts) in
            [("a", true), ("的", true), ("½", true), ("Ⅷ", true), ("٣", true), ("…!", false), ("", false)]
        {
            assert_eq!(is_countable(text), counts, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn agrees_with_its_slow_twin(text in "[aAzZ1.!?,:;)\"'( \n\r\t\u{85}\u{2028}\u{ad}\u{301}\u{200d}\u{2024}。！？，、的ªß\u{3000}»\u{a0}١\u{e01}]{0,24}") {
            prop_assert_eq!(boundaries(Sentences::uax29(&text)), twin(&text));
        }

        #[test]
        fn agrees_on_any_characters(text in any::<String>()) {
            prop_assert_eq!(boundaries(Sentences::uax29(&text)), twin(&text));
        }

        /// The naive twin of the label rule: boundaries inside a match of the contract's pattern, or
        /// at its end, are dropped.
        #[test]
        fn labels_agree_with_the_pattern(text in "[aB12.)( \t>#*\n\"]{0,20}") {
            let mut dropped = Vec::new();
            let mut start = 0;
            for line in text.split('\n') {
                if let Some(len) = naive_label(line) {
                    dropped.extend(start + 1..=start + len);
                }
                start += line.len() + 1;
            }
            let mut expected = twin(&text);
            expected.retain(|at| *at == text.len() || !dropped.contains(at));
            prop_assert_eq!(boundaries(Sentences::new(&text)), expected);
        }
    }

    /// The length of a match of `^[ \t>#*+-]*([0-9]{1,3}|[A-Za-z])[.)][ \t]+` with a character after.
    fn naive_label(line: &str) -> Option<usize> {
        let rest = line.trim_start_matches([' ', '\t', '>', '#', '*', '+', '-']);
        let digits = rest.chars().take_while(char::is_ascii_digit).count();
        let label = if digits > 0 {
            digits
        } else {
            usize::from(rest.starts_with(|c: char| c.is_ascii_alphabetic()))
        };
        if !(1..=3).contains(&label) || !rest[label..].starts_with(['.', ')']) {
            return None;
        }
        let body = &rest[label + 1..];
        let after = body.trim_start_matches([' ', '\t']);
        (body.len() > after.len() && !after.is_empty()).then_some(line.len() - after.len())
    }
}

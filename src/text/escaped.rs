//! Text as JSON writes it between its quotes. Most of a record is the contents of documents, and most
//! of those are looked at in a few lines only, so they are found and validated by one scan and
//! unescaped only where somebody reads them.

use super::LineIndex;
use super::block::{Places, WINDOW, Window, low_bits, padded};
use std::ops::Range;

/// A valid JSON string without its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Escaped<'r> {
    /// What stands between the quotes, and what follows in the record.
    bytes: &'r [u8],
    scan: Scan,
    /// Every line but the first.
    lines: &'r [EscapedLine],
}

/// Where in a literal a line begins: after an escape of LF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EscapedLine {
    start: u32,
    /// Escapes before it.
    escapes: u32,
}

/// What a scan says of a literal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    /// Bytes before the closing quote.
    pub(crate) bytes: usize,
    /// How many escapes there are; a pair of surrogates is one or two.
    pub(crate) escapes: usize,
    /// There is an escape of CR.
    pub(crate) has_cr: bool,
    /// Bytes of the longest line, as it is written.
    pub(crate) longest_line: usize,
}

impl<'r> Escaped<'r> {
    /// A literal that a [`Scanner`] has passed, with the lines that it found. `bytes` begin with it.
    pub(crate) fn new(bytes: &'r [u8], scan: Scan, lines: &'r [EscapedLine]) -> Self {
        Self { bytes, scan, lines }
    }

    /// The literal, and what follows it.
    pub(crate) fn bytes(&self) -> &'r [u8] {
        self.bytes
    }

    pub(crate) fn has_cr(&self) -> bool {
        self.scan.has_cr
    }

    /// Bytes of the longest line, as it is written.
    pub(crate) fn longest_line(&self) -> usize {
        self.scan.longest_line
    }

    /// How many lines the text has; at least 1.
    pub(crate) fn line_count(&self) -> usize {
        self.lines.len() + 1
    }

    /// Where in the literal line `number` (from 1) stands, without its LF, and whether there is an escape
    /// in it.
    #[inline]
    pub(crate) fn line(&self, number: i64) -> Option<(Range<usize>, bool)> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        let first = match index.checked_sub(1) {
            None => EscapedLine { start: 0, escapes: 0 },
            Some(before) => *self.lines.get(before)?,
        };
        let start = first.start as usize;
        let (end, escapes) = match self.lines.get(index) {
            None => (self.scan.bytes, self.scan.escapes),
            Some(next) => {
                let end = next.start as usize;
                let escape = if self.bytes[end - 1] == b'n' { r"\n" } else { r"\u000a" };
                (end - escape.len(), next.escapes as usize - 1)
            }
        };
        Some((start..end, escapes > first.escapes as usize))
    }

    /// Makes the first bytes of `text` the text and `lines` its index, keeping their memory. Returns how
    /// many they are; at least [`WINDOW`] more follow.
    pub(crate) fn unescape_into(&self, text: &mut Vec<u8>, lines: &mut LineIndex) -> usize {
        let starts = lines.begin();
        let length = unescape(self.bytes, 0..self.scan.bytes, text, |start| starts.push(start as u32));
        lines.end(length);
        length
    }

    /// The text, unescaped.
    pub(crate) fn unescape(&self) -> String {
        let mut text = Vec::new();
        let length = unescape(self.bytes, 0..self.scan.bytes, &mut text, |_| {});
        text.truncate(length);
        String::from_utf8(text).unwrap_or_default()
    }
}

/// Finds the ends of literals, with memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    escapes: Places,
}

impl Scanner {
    /// Scans a literal from the byte after its opening quote, and adds to `lines` every line but the
    /// first. `None` where it is no valid JSON string, or might be none: whether the bytes are UTF-8 is
    /// not looked at.
    pub(crate) fn scan(&mut self, bytes: &[u8], lines: &mut Vec<EscapedLine>) -> Option<Scan> {
        self.escapes.clear();
        let (mut at, mut carry) = (0, 0);
        let bytes_before_end = loop {
            let window = Window::at(bytes, at);
            let (escapes, escaped) = escape_starts(window.bits(|block| block.is(b'\\')), &mut carry);
            let ends = window.bits(|block| block.is(b'"') | block.at_most(0x1f)) & !escaped;
            if ends != 0 {
                let end = ends.trailing_zeros() as usize;
                self.escapes.add(escapes & low_bits(end), at);
                break at + end;
            }
            self.escapes.add(escapes, at);
            at += WINDOW;
        };
        // Anything else that ends it is a control character, or the end of the record.
        bytes.get(bytes_before_end).filter(|byte| **byte == b'"')?;
        self.look_at_escapes(&bytes[..bytes_before_end], lines)
    }

    /// Validates the escapes of a literal.
    fn look_at_escapes(&self, literal: &[u8], lines: &mut Vec<EscapedLine>) -> Option<Scan> {
        let (mut line_start, mut longest_line, mut has_cr) = (0, 0, false);
        let mut partner = usize::MAX;
        for (i, at) in self.escapes.as_slice().iter().enumerate() {
            let at = *at as usize;
            let length = match literal.get(at + 1)? {
                b'n' => 2,
                b'"' | b'\\' | b'/' | b't' | b'b' | b'f' => continue,
                _ if at == partner => continue,
                _ => match escape_at(&literal[at..])? {
                    ('\n', length) => length,
                    (c, length) => {
                        has_cr |= c == '\r';
                        partner = if length == SURROGATES { at + UNIT } else { partner };
                        continue;
                    }
                },
            };
            longest_line = longest_line.max(at - line_start);
            line_start = at + length;
            lines.push(EscapedLine { start: line_start as u32, escapes: i as u32 + 1 });
        }
        longest_line = longest_line.max(literal.len() - line_start);
        Some(Scan { bytes: literal.len(), escapes: self.escapes.as_slice().len(), has_cr, longest_line })
    }
}

/// Of the backslashes of a window, those that begin an escape, and the characters after those. `carry` is
/// 1 where the window before ends with one that begins an escape.
///
/// Backslashes come in runs, and every second one of a run begins an escape. Adding the first of the runs
/// that begin at odd places to all of them carries to the end of those runs, which tells the runs of the
/// two kinds apart (Langdale and Lemire, "Parsing gigabytes of JSON per second", 2019, section 3.1.1).
#[inline(always)]
fn escape_starts(backslashes: u64, carry: &mut u64) -> (u64, u64) {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let backslashes = backslashes & !*carry;
    let follows = backslashes << 1 | *carry;
    let odd_starts = backslashes & !EVEN & !follows;
    let (sums, overflow) = odd_starts.overflowing_add(backslashes);
    *carry = u64::from(overflow);
    let escaped = (EVEN ^ (sums << 1)) & follows;
    (backslashes & !escaped, escaped)
}

/// The character that an escape stands for, and the escape's bytes. A pair of surrogates is one.
#[inline]
fn escape_at(bytes: &[u8]) -> Option<(char, usize)> {
    let c = match bytes.get(1)? {
        b'n' => '\n',
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => return unicode_escape(bytes),
        _ => return None,
    };
    Some((c, 2))
}

/// Bytes of an escape by number, and of a pair of them.
const UNIT: usize = r"\u0000".len();
const SURROGATES: usize = 2 * UNIT;

fn unicode_escape(bytes: &[u8]) -> Option<(char, usize)> {
    let unit = |from: usize| {
        let digits: &[u8; 4] = bytes.get(from + 2..)?.first_chunk()?;
        digits.iter().try_fold(0, |value, digit| Some(value << 4 | (*digit as char).to_digit(16)?))
    };
    let first = unit(0)?;
    if let Some(c) = char::from_u32(first) {
        return Some((c, UNIT));
    }
    if first >= 0xdc00 || !bytes[UNIT..].starts_with(br"\u") {
        return None;
    }
    let second = unit(UNIT).filter(|second| (0xdc00..0xe000).contains(second))?;
    let c = char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))?;
    Some((c, SURROGATES))
}

/// Makes the first bytes of `text` what a part of a valid literal says, and calls `line` with the place
/// after each LF. Returns how many bytes they are; at least [`WINDOW`] more follow.
#[inline]
pub(crate) fn unescape(
    bytes: &[u8],
    part: Range<usize>,
    text: &mut Vec<u8>,
    mut line: impl FnMut(usize),
) -> usize {
    // An escape is longer than what it stands for, so the text fits; whole windows are copied, of which
    // the bytes beyond a run are written over.
    let needed = part.len() + 2 * WINDOW;
    if text.len() < needed {
        text.reserve_exact(needed - text.len());
        text.resize(needed, 0);
    }
    let (mut from, mut to) = (part.start, 0);
    while from < part.end {
        let window = match bytes[from..].first_chunk() {
            Some(window) => *window,
            None => padded(&bytes[from..]),
        };
        text[to..to + WINDOW].copy_from_slice(&window);
        let escapes = Window::new(&window).bits(|block| block.is(b'\\')) & low_bits(part.end - from);
        if escapes == 0 {
            (from, to) = (from + WINDOW, to + WINDOW);
            continue;
        }
        let run = escapes.trailing_zeros() as usize;
        (from, to) = unescape_one(bytes, from + run, text, to + run, &mut line);
    }
    to - (from - part.end)
}

/// Writes what the escape at `from` stands for to `to`; returns the places after both.
#[inline(always)]
fn unescape_one(
    raw: &[u8],
    from: usize,
    text: &mut [u8],
    to: usize,
    line: &mut impl FnMut(usize),
) -> (usize, usize) {
    let plain = match raw.get(from + 1) {
        Some(b'n') => {
            line(to + 1);
            b'\n'
        }
        Some(b't') => b'\t',
        Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
        _ => return unescape_rare(raw, from, text, to, line),
    };
    text[to] = plain;
    (from + 2, to + 1)
}

#[cold]
fn unescape_rare(
    raw: &[u8],
    from: usize,
    text: &mut [u8],
    to: usize,
    line: &mut impl FnMut(usize),
) -> (usize, usize) {
    // Of a literal that was scanned, every escape is valid.
    let Some((c, length)) = escape_at(&raw[from..]) else { return (raw.len(), to + raw.len() - from) };
    let written = c.encode_utf8(&mut text[to..]).len();
    if c == '\n' {
        line(to + 1);
    }
    (from + length, to + written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The slow twin: a JSON library.
    fn twin(literal: &str) -> Option<String> {
        serde_json::from_str(&format!("\"{literal}\"")).ok()
    }

    fn check(literal: &str) {
        let mut lines = Vec::new();
        let found = Scanner::default().scan(format!("{literal}\",\"x").as_bytes(), &mut lines);
        let Some(text) = twin(literal) else {
            // The literal ends early, or it is not valid.
            assert!(found.is_none_or(|scan| scan.bytes != literal.len()), "{literal}");
            return;
        };
        let found = found.expect("it is valid");
        assert_eq!(found.bytes, literal.len(), "{literal}");
        assert_eq!(found.escapes > 0, literal.contains('\\'));
        assert_eq!(found.has_cr, text.contains('\r'));
        let escaped = Escaped::new(literal.as_bytes(), found, &lines);
        assert_eq!(escaped.unescape(), text, "{literal}");
        assert_eq!(escaped.line_count(), text.split('\n').count());
        let mut longest = 0;
        for (i, line) in text.split('\n').enumerate() {
            let (range, has_escape) = escaped.line(i as i64 + 1).expect("the line is there");
            longest = longest.max(range.len());
            let mut here = b"used before".to_vec();
            let length = unescape(literal.as_bytes(), range, &mut here, |_| panic!("it is one line"));
            assert_eq!(here[..length], *line.as_bytes(), "{literal}");
            assert!(here.len() >= length + WINDOW);
        }
        assert_eq!(escaped.longest_line(), longest);
        let (mut unescaped, mut index) = (Vec::new(), LineIndex::default());
        let length = escaped.unescape_into(&mut unescaped, &mut index);
        assert_eq!(unescaped[..length], *text.as_bytes());
        assert_eq!(index, LineIndex::new(&text));
        for number in [i64::MIN, 0, escaped.line_count() as i64 + 1, i64::MAX] {
            assert_eq!(escaped.line(number), None);
        }
    }

    #[test]
    fn every_escape() {
        check(r#"\"\\\/\b\f\n\r\t\u0041\u000A\u000a\ud83d\ude00\uD83D\uDE00\u0000\uffff"#);
        for bad in [
            r"\x",
            r"\u12G4",
            r"\u+123",
            r"\ud83d",
            r"\ud83d\n",
            r"\ud83d\u0041",
            r"\ude00",
            "\u{1f}",
            "\n",
            r"\",
        ] {
            check(bad);
            check(&format!("0123456789abcdef{bad}0123456789abcdef"));
        }
    }

    #[test]
    fn a_literal_without_an_end_is_none() {
        for text in ["", "abc", r"abc\", r"abc\u00", r"abc\ud83d\u", "0123456789abcdef0123456789abcdef"] {
            assert_eq!(Scanner::default().scan(text.as_bytes(), &mut Vec::new()), None, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8192))]

        #[test]
        fn agrees_with_its_slow_twin(
            pieces in prop::collection::vec(prop_oneof![
                8 => "[a-z é的😀]{0,40}",
                4 => Just(r"\n".to_owned()), 1 => Just(r"\u000a".to_owned()), 1 => Just(r"\r".to_owned()),
                2 => r#"\\["\\/bfnrtu]"#, 1 => "\\\\u[0-9a-fA-F]{4}", 1 => Just(r"\ud83d\ude00".to_owned()),
                1 => "\\\\u[dD][89abcdefABCDEF][0-9]{2}", 1 => "\\\\{1,70}", 1 => any::<char>().prop_map(String::from),
            ], 0..12),
        ) {
            check(&pieces.concat());
        }
    }
}

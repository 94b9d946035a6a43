//! Text as JSON writes it between its quotes. Most of a record is the contents of documents, and most
//! of those are looked at in a few lines only, so they are found and validated by one scan and
//! unescaped only where somebody reads them.

use super::LineIndex;
use super::block::{BLOCK, Block};
use std::ops::Range;

/// A valid JSON string without its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Escaped<'r> {
    /// What stands between the quotes.
    raw: &'r str,
    scan: Scan,
    /// Where in `raw` each line but the first begins: after an escape of LF.
    starts: &'r [u32],
}

/// What a scan says of a literal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    /// Bytes before the closing quote.
    pub(crate) bytes: usize,
    /// There is at least one escape.
    pub(crate) has_escape: bool,
    /// There is an escape of CR.
    pub(crate) has_cr: bool,
    /// Bytes of the longest line, as it is written.
    pub(crate) longest_line: usize,
}

impl<'r> Escaped<'r> {
    /// A literal that [`scan`] has passed, with the places that it gave.
    pub(crate) fn new(raw: &'r str, scan: Scan, starts: &'r [u32]) -> Self {
        Self { raw, scan, starts }
    }

    pub(crate) fn raw(&self) -> &'r str {
        self.raw
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
        self.starts.len() + 1
    }

    /// Where in the literal line `number` (from 1) stands, without its LF.
    pub(crate) fn line(&self, number: i64) -> Option<Range<usize>> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        let start = match index.checked_sub(1) {
            None => 0,
            Some(before) => *self.starts.get(before)? as usize,
        };
        let end = match self.starts.get(index) {
            None => self.raw.len(),
            Some(next) => {
                let next = *next as usize;
                let escape = if self.raw.as_bytes()[next - 1] == b'n' { r"\n" } else { r"\u000a" };
                next - escape.len()
            }
        };
        Some(start..end)
    }

    /// Makes `text` the bytes of the text and `lines` its index, keeping their memory.
    pub(crate) fn unescape_into(&self, text: &mut Vec<u8>, lines: &mut LineIndex) {
        let starts = lines.begin();
        unescape(self.raw.as_bytes(), text, |start| starts.push(start as u32));
        lines.end(text.len());
    }

    /// The text, unescaped.
    pub(crate) fn unescape(&self) -> String {
        let mut text = Vec::new();
        unescape(self.raw.as_bytes(), &mut text, |_| {});
        String::from_utf8(text).unwrap_or_default()
    }
}

/// Scans a literal from the byte after its opening quote, and adds to `starts` where each line but
/// the first begins. `None` where it is no valid JSON string, or might be none: whether the bytes are
/// UTF-8 is not looked at.
pub(crate) fn scan(bytes: &[u8], starts: &mut Vec<u32>) -> Option<Scan> {
    let mut scan = Scan::default();
    let (mut at, mut line_start) = (0, 0);
    loop {
        at = next_special(bytes, at)?;
        match bytes[at] {
            b'"' => break,
            b'\\' => {}
            _ => return None,
        }
        scan.has_escape = true;
        let length = match bytes.get(at + 1)? {
            b'n' => 2,
            b'"' | b'\\' | b'/' | b't' | b'b' | b'f' => {
                at += 2;
                continue;
            }
            _ => match escape_at(&bytes[at..])? {
                ('\n', length) => length,
                (c, length) => {
                    scan.has_cr |= c == '\r';
                    at += length;
                    continue;
                }
            },
        };
        scan.longest_line = scan.longest_line.max(at - line_start);
        at += length;
        line_start = at;
        starts.push(at as u32);
    }
    scan.longest_line = scan.longest_line.max(at - line_start);
    scan.bytes = at;
    Some(scan)
}

/// The first quote, backslash or control character from `at` on.
#[inline(always)]
fn next_special(bytes: &[u8], mut at: usize) -> Option<usize> {
    while let Some(block) = bytes.get(at..)?.first_chunk() {
        let block = Block::new(block);
        let special = (block.is(b'"') | block.is(b'\\') | block.at_most(0x1f)).bits();
        if special != 0 {
            return Some(at + special.trailing_zeros() as usize);
        }
        at += BLOCK;
    }
    let rest = bytes[at..].iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
    rest.map(|rest| at + rest)
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

fn unicode_escape(bytes: &[u8]) -> Option<(char, usize)> {
    const ONE: usize = r"\u0000".len();
    let unit = |from: usize| {
        let digits: &[u8; 4] = bytes.get(from + 2..)?.first_chunk()?;
        digits.iter().try_fold(0, |value, digit| Some(value << 4 | (*digit as char).to_digit(16)?))
    };
    let first = unit(0)?;
    if let Some(c) = char::from_u32(first) {
        return Some((c, ONE));
    }
    if first >= 0xdc00 || !bytes[ONE..].starts_with(br"\u") {
        return None;
    }
    let second = unit(ONE).filter(|second| (0xdc00..0xe000).contains(second))?;
    let c = char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))?;
    Some((c, 2 * ONE))
}

/// Whether there is an escape in a part of a valid literal.
#[inline]
pub(crate) fn has_escape(raw: &[u8]) -> bool {
    let (blocks, rest) = raw.as_chunks();
    let last = match raw.last_chunk() {
        Some(last) => Block::new(last).is(b'\\').bits() != 0,
        None => rest.contains(&b'\\'),
    };
    last || blocks.iter().any(|block| Block::new(block).is(b'\\').bits() != 0)
}

/// Makes `text` what a part of a valid literal says. Calls `line` with the place after each LF.
#[inline]
pub(crate) fn unescape(raw: &[u8], text: &mut Vec<u8>, mut line: impl FnMut(usize)) {
    // An escape is longer than what it stands for, so the text fits; whole blocks are copied, of which
    // the bytes beyond a run are written over.
    if text.len() < raw.len() + BLOCK {
        text.reserve_exact(raw.len() + BLOCK - text.len());
        text.resize(raw.len() + BLOCK, 0);
    }
    let (mut from, mut to) = (0, 0);
    while let Some(block) = raw[from..].first_chunk() {
        text[to..to + BLOCK].copy_from_slice(block);
        let escapes = Block::new(block).is(b'\\').bits();
        if escapes == 0 {
            (from, to) = (from + BLOCK, to + BLOCK);
            continue;
        }
        let run = escapes.trailing_zeros() as usize;
        (from, to) = unescape_one(raw, from + run, text, to + run, &mut line);
    }
    while let Some(byte) = raw.get(from) {
        if *byte == b'\\' {
            (from, to) = unescape_one(raw, from, text, to, &mut line);
        } else {
            text[to] = *byte;
            (from, to) = (from + 1, to + 1);
        }
    }
    text.truncate(to);
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
    let Some((c, length)) = escape_at(&raw[from..]) else { return (raw.len(), to) };
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
        let mut starts = Vec::new();
        let found = scan(format!("{literal}\",\"x").as_bytes(), &mut starts);
        let Some(text) = twin(literal) else {
            // The literal ends early, or it is not valid.
            assert!(found.is_none_or(|scan| scan.bytes != literal.len()), "{literal}");
            return;
        };
        let found = found.expect("it is valid");
        assert_eq!(found.bytes, literal.len(), "{literal}");
        assert_eq!(found.has_escape, literal.contains('\\'));
        assert_eq!(found.has_cr, text.contains('\r'));
        let escaped = Escaped::new(literal, found, &starts);
        assert_eq!(escaped.unescape(), text, "{literal}");
        assert_eq!(escaped.line_count(), text.split('\n').count());
        let mut longest = 0;
        for (i, line) in text.split('\n').enumerate() {
            let range = escaped.line(i as i64 + 1).expect("the line is there");
            longest = longest.max(range.len());
            let mut here = b"used before".to_vec();
            assert_eq!(has_escape(&literal.as_bytes()[range.clone()]), literal[range.clone()].contains('\\'));
            unescape(&literal.as_bytes()[range], &mut here, |_| panic!("it is one line"));
            assert_eq!(here, line.as_bytes(), "{literal}");
        }
        assert_eq!(escaped.longest_line(), longest);
        let (mut unescaped, mut index) = (Vec::new(), LineIndex::default());
        escaped.unescape_into(&mut unescaped, &mut index);
        assert_eq!(unescaped, text.as_bytes());
        assert_eq!(index, LineIndex::new(&text));
        for number in [i64::MIN, 0, escaped.line_count() as i64 + 1, i64::MAX] {
            assert_eq!(escaped.line(number), None);
        }
    }

    #[test]
    fn every_escape() {
        check(r#"\"\\\/\b\f\n\r\t\u0041\u000A\u000a\ud83d\ude00\uD83D\uDE00\u0000\uffff"#);
        for bad in [r"\x", r"\u12G4", r"\u+123", r"\ud83d", r"\ud83d\n", r"\ud83d\u0041", r"\ude00", "\u{1f}", "\n", r"\"] {
            check(bad);
            check(&format!("0123456789abcdef{bad}0123456789abcdef"));
        }
    }

    #[test]
    fn a_literal_without_an_end_is_none() {
        for text in ["", "abc", r"abc\", r"abc\u00", r"abc\ud83d\u", "0123456789abcdef0123456789abcdef"] {
            assert_eq!(scan(text.as_bytes(), &mut Vec::new()), None, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8192))]

        #[test]
        fn agrees_with_its_slow_twin(
            pieces in prop::collection::vec(prop_oneof![
                8 => "[a-z é的😀]{0,20}",
                4 => Just(r"\n".to_owned()), 1 => Just(r"\u000a".to_owned()), 1 => Just(r"\r".to_owned()),
                2 => r#"\\["\\/bfnrtu]"#, 1 => "\\\\u[0-9a-fA-F]{4}", 1 => Just(r"\ud83d\ude00".to_owned()),
                1 => "\\\\u[dD][89abcdefABCDEF][0-9]{2}", 1 => any::<char>().prop_map(String::from),
            ], 0..12),
        ) {
            check(&pieces.concat());
        }
    }
}

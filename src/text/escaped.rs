//! Text as JSON writes it between its quotes. Most of a record is the contents of documents, and most
//! of those are looked at in a few lines only, so they are found and validated by one scan and
//! unescaped only where somebody reads them.

use super::simd::{Places, Simd, WINDOW, Window, Work, low_bits, run};
use super::{LineIndex, Span};
use simdutf8::basic::from_utf8;
use std::ops::Range;

/// A valid JSON string without its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Escaped<'r> {
    /// What stands between the quotes, and what follows in the record.
    bytes: &'r [u8],
    length: usize,
    has_cr: bool,
    longest_line: usize,
    /// Where each escape begins; a pair of surrogates is two.
    escapes: &'r [u32],
    /// Every line but the first.
    lines: &'r [EscapedLine],
}

/// Where in a literal a line begins: after an escape of LF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EscapedLine {
    start: u32,
    /// Escapes before it.
    escapes: u32,
}

/// Some lines of a literal, unescaped.
#[derive(Default)]
pub(crate) struct TextPart {
    /// The lines' bytes, and more.
    text: Vec<u8>,
    length: usize,
    /// Where each line begins: in the literal, and in the text.
    starts: Vec<(u32, u32)>,
}

impl TextPart {
    pub(crate) fn text(&self) -> &str {
        from_utf8(&self.text[..self.length]).unwrap_or_default()
    }

    /// Where in the literal it begins.
    pub(crate) fn start(&self) -> u32 {
        self.starts.first().map_or(0, |(literal, _)| *literal)
    }

    /// After its last place in the literal.
    pub(crate) fn end(&self) -> u32 {
        self.starts.last().map_or(0, |(literal, text)| literal + (self.length as u32 - text))
    }

    /// A span in places of the literal (those of its lines, and bytes of the text added) as one in this
    /// text; `None` where it ends before or begins after.
    pub(crate) fn span(&self, span: Span) -> Option<Span> {
        let first = self.start();
        if span.end <= first {
            return None;
        }
        let place = |place: u32| {
            let line = self.starts.partition_point(|(start, _)| *start <= place).saturating_sub(1);
            let (literal, text) = self.starts[line];
            (text + (place - literal)).min(self.length as u32)
        };
        let (start, end) = (place(span.start.max(first)), place(span.end));
        (start < end).then_some(Span { start, end })
    }
}

/// What a scan says of a literal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    /// Bytes before the closing quote.
    pub(crate) bytes: usize,
    /// There is an escape of CR.
    has_cr: bool,
    /// Bytes of the longest line, as it is written.
    longest_line: usize,
    /// Its escapes among those of the scanner.
    escapes: Range<usize>,
    /// Its lines among those of the scanner.
    lines: Range<usize>,
}

impl Scan {
    /// Whether there is any escape.
    pub(crate) fn has_escape(&self) -> bool {
        !self.escapes.is_empty()
    }
}

impl<'r> Escaped<'r> {
    /// The literal at the beginning of `bytes`.
    pub(crate) fn new(bytes: &'r [u8], scan: &Scan, scanner: &'r Scanner) -> Self {
        Self {
            bytes,
            length: scan.bytes,
            has_cr: scan.has_cr,
            longest_line: scan.longest_line,
            escapes: &scanner.escapes.as_slice()[scan.escapes.clone()],
            lines: &scanner.lines[scan.lines.clone()],
        }
    }

    /// The literal, and what follows it.
    pub(crate) fn bytes(&self) -> &'r [u8] {
        self.bytes
    }

    /// Bytes of the literal.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn has_cr(&self) -> bool {
        self.has_cr
    }

    /// Bytes of the longest line, as it is written.
    pub(crate) fn longest_line(&self) -> usize {
        self.longest_line
    }

    /// How many lines the text has; at least 1.
    pub(crate) fn line_count(&self) -> usize {
        self.lines.len() + 1
    }

    /// Where in the literal line `number` (from 1) stands, without its LF, and the escapes in it.
    #[inline]
    pub(crate) fn line(&self, number: i64) -> Option<(Range<usize>, &'r [u32])> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        let first = match index.checked_sub(1) {
            None => EscapedLine { start: 0, escapes: 0 },
            Some(before) => *self.lines.get(before)?,
        };
        let (end, escapes) = match self.lines.get(index) {
            None => (self.length, self.escapes.len()),
            Some(next) => {
                let escapes = next.escapes as usize - 1;
                (self.escapes[escapes] as usize, escapes)
            }
        };
        Some((first.start as usize..end, &self.escapes[first.escapes as usize..escapes]))
    }

    /// Makes the first bytes of `text` the text and `lines` its index, keeping their memory. Returns how
    /// many they are; at least [`WINDOW`] more follow.
    pub(crate) fn unescape_into(&self, text: &mut Vec<u8>, lines: &mut LineIndex) -> usize {
        let starts = lines.begin();
        starts.reserve(self.lines.len());
        let length =
            unescape(self.bytes, 0..self.length, self.escapes, text, |start| starts.push(start as u32));
        lines.end(length);
        length
    }

    /// Unescapes lines from number `first` (from 1) on until they are `bytes` long, or to the end, into
    /// `part`. Returns the number of the line after them; `None` where there is no line `first`.
    pub(crate) fn unescape_part(&self, first: usize, bytes: usize, part: &mut TextPart) -> Option<usize> {
        let (start, _) = self.line(first as i64)?;
        let after =
            self.lines[first - 1..].partition_point(|line| (line.start as usize) < start.start + bytes);
        let last = (first + after).min(self.line_count());
        let (end, _) = self.line(last as i64)?;
        let before =
            |index: usize| index.checked_sub(1).map_or(0, |index| self.lines[index].escapes as usize);
        let escapes = before(first - 1)
            ..self.lines.get(last - 1).map_or(self.escapes.len(), |next| next.escapes as usize - 1);
        part.starts.clear();
        part.starts.push((start.start as u32, 0));
        let mut lines = self.lines[first - 1..last - 1].iter();
        part.length =
            unescape(self.bytes, start.start..end.end, &self.escapes[escapes], &mut part.text, |at| {
                part.starts.extend(lines.next().map(|line| (line.start, at as u32)));
            });
        Some(last + 1)
    }

    /// The text, unescaped.
    pub(crate) fn unescape(&self) -> String {
        let mut text = Vec::new();
        let length = unescape(self.bytes, 0..self.length, self.escapes, &mut text, |_| {});
        text.truncate(length);
        String::from_utf8(text).unwrap_or_default()
    }
}

/// Finds the ends, escapes and lines of literals, in memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    escapes: Places,
    lines: Vec<EscapedLine>,
}

impl Scanner {
    /// Forgets the literals that were scanned.
    pub(crate) fn clear(&mut self) {
        self.escapes.clear();
        self.lines.clear();
    }

    /// Forgets the literal that was scanned last.
    pub(crate) fn forget(&mut self, scan: &Scan) {
        self.escapes.truncate(scan.escapes.start);
        self.lines.truncate(scan.lines.start);
    }

    /// Scans a literal from the byte after its opening quote. `None` where it is no valid JSON string, or
    /// might be none: whether the bytes are UTF-8 is not looked at.
    pub(crate) fn scan(&mut self, bytes: &[u8]) -> Option<Scan> {
        let (escapes, lines) = (self.escapes.len(), self.lines.len());
        let literal = run(FindEnd { bytes, escapes: &mut self.escapes });
        let scan = literal.and_then(|literal| self.look_at_escapes(literal, escapes));
        if scan.is_none() {
            self.escapes.truncate(escapes);
            self.lines.truncate(lines);
        }
        scan
    }

    /// Validates the escapes of a literal, those from number `first` on, and finds its lines.
    fn look_at_escapes(&mut self, literal: &[u8], first: usize) -> Option<Scan> {
        let escapes = &self.escapes.as_slice()[first..];
        let lines = self.lines.len();
        let (mut line_start, mut longest_line, mut has_cr, mut partner) = (0, 0, false, usize::MAX);
        for (i, at) in escapes.iter().enumerate() {
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
            self.lines.push(EscapedLine { start: line_start as u32, escapes: i as u32 + 1 });
        }
        longest_line = longest_line.max(literal.len() - line_start);
        let escapes = first..first + escapes.len();
        Some(Scan { bytes: literal.len(), has_cr, longest_line, escapes, lines: lines..self.lines.len() })
    }
}

/// Finds the bytes before the first quote that is not escaped, and adds the escapes among them.
struct FindEnd<'b, 'p> {
    bytes: &'b [u8],
    escapes: &'p mut Places,
}

impl<'b> Work for FindEnd<'b, '_> {
    type Output = Option<&'b [u8]>;

    #[inline(always)]
    fn work<S: Simd>(self, simd: S) -> Option<&'b [u8]> {
        let (mut at, mut carry) = (0, 0);
        let end = loop {
            let window = Window::at(simd, self.bytes, at);
            let (escapes, escaped) = escape_starts(window.is(b'\\').bits(), &mut carry);
            let ends = (window.is(b'"') | window.at_most(0x1f)).bits() & !escaped;
            if ends != 0 {
                let end = ends.trailing_zeros() as usize;
                self.escapes.add(escapes & low_bits(end), at);
                break at + end;
            }
            self.escapes.add(escapes, at);
            at += WINDOW;
        };
        // Anything else that ends it is a control character, or the end of the record.
        self.bytes.get(end).filter(|byte| **byte == b'"')?;
        Some(&self.bytes[..end])
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
    let unit = |from: usize| hex4(bytes.get(from + 2..)?.first_chunk()?);
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

/// The number that four hexadecimal digits write.
#[inline]
fn hex4(digits: &[u8; 4]) -> Option<u32> {
    let [a, b, c, d] = digits.map(|digit| HEX[usize::from(digit)]);
    let number = a << 12 | b << 8 | c << 4 | d;
    (number <= 0xffff).then_some(number)
}

/// What each byte is as a hexadecimal digit; for others, what makes any number too large.
const HEX: [u32; 256] = {
    let mut table = [0x10000; 256];
    let mut digit = 0;
    while digit < 16 {
        table[b"0123456789abcdef"[digit] as usize] = digit as u32;
        table[b"0123456789ABCDEF"[digit] as usize] = digit as u32;
        digit += 1;
    }
    table
};

/// Makes the first bytes of `text` what a part of a valid literal says, and calls `line` with the place
/// after each LF. `escapes` are where the part's escapes begin. Returns how many bytes they are; at least
/// [`WINDOW`] more follow.
#[inline]
pub(crate) fn unescape(
    bytes: &[u8],
    part: Range<usize>,
    escapes: &[u32],
    text: &mut Vec<u8>,
    mut line: impl FnMut(usize),
) -> usize {
    // An escape is longer than what it stands for, so the text fits.
    let needed = part.len() + RUN + WINDOW;
    if text.len() < needed {
        text.reserve_exact(needed - text.len());
        text.resize(needed, 0);
    }
    let (mut from, mut to) = (part.start, 0);
    for at in escapes {
        let at = *at as usize;
        if at < from {
            continue; // the second of a pair
        }
        to = copy_run(&bytes[from..], at - from, text, to);
        let plain = match bytes.get(at + 1) {
            Some(b'n') => {
                line(to + 1);
                b'\n'
            }
            Some(b't') => b'\t',
            Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
            _ => {
                (from, to) = unescape_rare(bytes, at, text, to, &mut line);
                continue;
            }
        };
        text[to] = plain;
        (from, to) = (at + 2, to + 1);
    }
    copy_run(&bytes[from..], part.end - from, text, to)
}

/// What is copied at once; most runs are shorter, so that no branch hangs on their length.
const RUN: usize = 2 * WINDOW;

/// Copies `length` bytes to `to`, and as many more as it likes. Returns the place after them.
#[inline(always)]
fn copy_run(bytes: &[u8], length: usize, text: &mut [u8], to: usize) -> usize {
    match (bytes.first_chunk::<RUN>(), text[to..].first_chunk_mut::<RUN>()) {
        (Some(run), Some(into)) if length <= RUN => *into = *run,
        _ => text[to..to + length].copy_from_slice(&bytes[..length]),
    }
    to + length
}

#[cold]
fn unescape_rare(
    bytes: &[u8],
    from: usize,
    text: &mut [u8],
    to: usize,
    line: &mut impl FnMut(usize),
) -> (usize, usize) {
    // Of a literal that was scanned, every escape is valid.
    let Some((c, length)) = escape_at(&bytes[from..]) else { return (from, to) };
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
        let mut scanner = Scanner::default();
        scanner.scan(br#"used\nbefore\n""#).expect("it is valid");
        let found = scanner.scan(format!("{literal}\",\"x").as_bytes());
        let Some(text) = twin(literal) else {
            // The literal ends early, or it is not valid.
            assert!(found.as_ref().is_none_or(|scan| scan.bytes != literal.len()), "{literal}");
            return;
        };
        let found = found.expect("it is valid");
        assert_eq!(found.bytes, literal.len(), "{literal}");
        assert_eq!(found.has_escape(), literal.contains('\\'));
        assert_eq!(found.has_cr, text.contains('\r'));
        let escaped = Escaped::new(literal.as_bytes(), &found, &scanner);
        assert_eq!(escaped.unescape(), text, "{literal}");
        assert_eq!(escaped.line_count(), text.split('\n').count());
        let mut longest = 0;
        for (i, line) in text.split('\n').enumerate() {
            let (range, escapes) = escaped.line(i as i64 + 1).expect("the line is there");
            longest = longest.max(range.len());
            let mut here = b"used before".to_vec();
            let length =
                unescape(literal.as_bytes(), range, escapes, &mut here, |_| panic!("it is one line"));
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
            assert_eq!(Scanner::default().scan(text.as_bytes()), None, "{text}");
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

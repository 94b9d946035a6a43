//! One record a line, or one record in all? Decided by the first line that is not blank (contract,
//! section 1, "Files").

use crate::text::is_json_white_space;

/// What the beginning of an input says about the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sniffed {
    /// One record a line.
    Lines,
    /// The whole input is one record.
    Value,
    /// More of the input is needed.
    Unknown,
}

/// Decides by the beginning of an input; `whole` says that there is no more of it.
///
/// The first line that is not blank holds a whole JSON value, or something that no value can begin
/// with: one record a line. It holds the beginning of a value that the first token of the next
/// non-blank line goes on with: the whole input is one record. The next line cannot go on with it:
/// a torn record, and one record a line.
pub(super) fn sniff(head: &[u8], whole: bool) -> Sniffed {
    let mut lines = head.split_inclusive(|byte| *byte == b'\n').filter(|line| !is_blank(line));
    let Some(first) = lines.next() else {
        return if whole { Sniffed::Lines } else { Sniffed::Unknown };
    };
    let is_complete = |line: &[u8]| whole || line.ends_with(b"\n");
    if !is_complete(first) {
        return Sniffed::Unknown;
    }
    let mut grammar = Grammar::default();
    if grammar.take_line(first).is_none() || grammar.due == Due::End {
        return Sniffed::Lines;
    }
    match lines.next() {
        None if whole => Sniffed::Lines,
        None => Sniffed::Unknown,
        Some(next) if !is_complete(next) => Sniffed::Unknown,
        Some(next) => {
            let goes_on = next_token(next).and_then(|(token, _)| grammar.take(token)).is_some();
            if goes_on { Sniffed::Value } else { Sniffed::Lines }
        }
    }
}

/// Whether a line holds JSON white space only.
pub(super) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| is_json_white_space(*byte))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Open(u8),
    Close(u8),
    Colon,
    Comma,
    String,
    /// A number, `true`, `false` or `null`.
    Scalar,
}

/// What JSON's grammar lets come next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Due {
    #[default]
    Value,
    ValueOrClose,
    Name,
    NameOrClose,
    Colon,
    CommaOrClose,
    End,
}

/// JSON's grammar, token by token.
#[derive(Default)]
struct Grammar {
    /// The brackets that are open.
    open: Vec<u8>,
    due: Due,
}

impl Grammar {
    /// Takes the tokens of a line; `None` where the grammar forbids one.
    fn take_line(&mut self, mut line: &[u8]) -> Option<()> {
        while !is_blank(line) {
            let (token, rest) = next_token(line)?;
            self.take(token)?;
            line = rest;
        }
        Some(())
    }

    fn take(&mut self, token: Token) -> Option<()> {
        self.due = match (self.due, token) {
            (Due::Value | Due::ValueOrClose, Token::Open(bracket)) => {
                self.open.push(bracket);
                if bracket == b'{' { Due::NameOrClose } else { Due::ValueOrClose }
            }
            (Due::Value | Due::ValueOrClose, Token::String | Token::Scalar) => self.after_value(),
            (Due::Name | Due::NameOrClose, Token::String) => Due::Colon,
            (Due::Colon, Token::Colon) => Due::Value,
            (Due::CommaOrClose, Token::Comma) if self.open.last() == Some(&b'{') => Due::Name,
            (Due::CommaOrClose, Token::Comma) => Due::Value,
            (Due::NameOrClose | Due::ValueOrClose | Due::CommaOrClose, Token::Close(bracket)) => {
                let opened = if bracket == b'}' { b'{' } else { b'[' };
                self.open.pop().filter(|open| *open == opened)?;
                self.after_value()
            }
            _ => return None,
        };
        Some(())
    }

    fn after_value(&self) -> Due {
        if self.open.is_empty() { Due::End } else { Due::CommaOrClose }
    }
}

/// The first token of a line and what follows it; `None` where no token begins, or one is cut.
fn next_token(line: &[u8]) -> Option<(Token, &[u8])> {
    let start = line.iter().position(|byte| !is_json_white_space(*byte))?;
    let line = &line[start..];
    let (token, length) = match line[0] {
        bracket @ (b'{' | b'[') => (Token::Open(bracket), 1),
        bracket @ (b'}' | b']') => (Token::Close(bracket), 1),
        b':' => (Token::Colon, 1),
        b',' => (Token::Comma, 1),
        b'"' => (Token::String, string_length(line)?),
        _ => (Token::Scalar, scalar_length(line)?),
    };
    Some((token, &line[length..]))
}

/// The length of a string that ends on its line.
fn string_length(line: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match line.get(at)? {
            b'"' => return Some(at + 1),
            b'\\'
                if matches!(
                    line.get(at + 1)?,
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' | b'u'
                ) =>
            {
                at += 2;
            }
            b'\\' | 0..=0x1f => return None,
            _ => at += 1,
        }
    }
}

fn scalar_length(line: &[u8]) -> Option<usize> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let length = line.iter().take_while(|byte| is_part(byte)).count();
    let scalar = &line[..length];
    (matches!(scalar, b"true" | b"false" | b"null") || is_number(scalar)).then_some(length)
}

/// Whether the bytes are a number as RFC 8259 writes numbers.
fn is_number(bytes: &[u8]) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let unsigned = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let whole = digits(unsigned);
    if whole == 0 || (whole > 1 && unsigned[0] == b'0') {
        return false;
    }
    let mut rest = &unsigned[whole..];
    if let [b'.', fraction @ ..] = rest {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let unsigned =
            exponent.strip_prefix(b"-").or_else(|| exponent.strip_prefix(b"+")).unwrap_or(exponent);
        let count = digits(unsigned);
        return count > 0 && count == unsigned.len();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Sniffed {
        sniff(text.as_bytes(), true)
    }

    #[test]
    fn a_whole_value_on_the_first_line_means_lines() {
        for text in ["{}", "{}\n{}", "\n \r\n{\"a\":[1,2]}\n", "[1]\n", "1\n2\n", "\"a\"\n", "", "\n\n"] {
            assert_eq!(whole(text), Sniffed::Lines, "{text:?}");
        }
    }

    #[test]
    fn what_no_value_begins_with_means_lines() {
        for text in [
            "nonsense\n{}\n",
            "{,\n",
            "[1 2\n",
            "{'a':\n1}",
            "tru\ne\n",
            "{} {}\n",
            "}\n",
            "[01,\n2]",
            "[1.\n5]",
        ] {
            assert_eq!(whole(text), Sniffed::Lines, "{text:?}");
        }
    }

    #[test]
    fn a_beginning_that_goes_on_means_one_value() {
        for text in [
            "{\n\"a\":1}",
            "{\"a\":1,\r\n\r\n  \"b\":2}",
            "[\n{}]",
            "[\n]",
            "{\"a\":\n{",
            "[1\n,2]",
            "{\"a\"\n:1}",
            "[\n\n\n  -1.5e3",
        ] {
            assert_eq!(whole(text), Sniffed::Value, "{text:?}");
        }
    }

    #[test]
    fn a_torn_record_means_lines() {
        for text in [
            "{\"a\":1,\n{\"a\":2}",
            "{\"a\":\"b\n{\"a\":1}",
            "[1,\n]",
            "{\"a\":1\n\"b\":2}",
            "{\"a\":\n",
            "{\"a\":1,\n\"b",
            "[\n}",
        ] {
            assert_eq!(whole(text), Sniffed::Lines, "{text:?}");
        }
    }

    #[test]
    fn more_is_asked_for_only_where_it_matters() {
        for (text, expected) in [
            ("", Sniffed::Unknown),
            ("  ", Sniffed::Unknown),
            ("{}", Sniffed::Unknown),
            ("{}\n", Sniffed::Lines),
            ("{\n", Sniffed::Unknown),
            ("{\n\n \"a\"", Sniffed::Unknown),
            ("{\n\n \"a\"\n", Sniffed::Value),
        ] {
            assert_eq!(sniff(text.as_bytes(), false), expected, "{text:?}");
        }
    }
}

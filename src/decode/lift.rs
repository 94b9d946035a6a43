//! Long contents are taken out of a record before the parser sees it. Most of a corpus is contents, and
//! few of their lines are looked at: one scan finds and validates each, and its text is made where it is
//! read.

use crate::limits::{FAR_SEARCHES, LIFTED_BYTES, LIFTED_FROM_BYTES, NEAR_BYTES, SHORT_CONTENTS};
use crate::model::Content;
use crate::text::{Escaped, Scan, Scanner, is_json_white_space};
use memchr::memmem;
use simdutf8::basic::from_utf8;

/// A content that was left out of what the parser has read.
pub(super) struct Lifted<'r> {
    /// Where in the copy its quotes stand, with nothing between them.
    place: usize,
    /// Where in the record it begins.
    start: usize,
    /// The text, where it holds no escape.
    plain: &'r str,
    scan: Scan,
}

/// Copies records without their long contents, in memory that is used again.
#[derive(Default)]
pub(super) struct Lifter {
    search: NameSearch,
    scanner: Scanner,
}

impl Lifter {
    /// Makes `copy` the record without its long contents, of which only the quotes stay, and `lifted` those
    /// contents.
    ///
    /// They are found by `"content"` between quotes of which the first is not escaped, a colon and a quote.
    /// If the first quote opens a string, this is a member's name and the beginning of its value; if it
    /// closes one, what follows it is no JSON, with the content or without. So the copy is valid exactly
    /// where the record is.
    pub(super) fn copy<'r>(&mut self, raw: &'r [u8], copy: &mut Vec<u8>, lifted: &mut Vec<Lifted<'r>>) {
        copy.clear();
        self.scanner.clear();
        if raw.len() < LIFTED_FROM_BYTES {
            return copy.extend_from_slice(raw);
        }
        let (mut copied, mut at, mut short) = (0, 0, 0);
        while let Some(found) = self.search.find(&raw[at..], copied == 0) {
            let name = at + found;
            at = name + NAME.len();
            let Some(start) = value_after(raw, name, at) else { continue };
            let Some(scan) = self.scanner.scan(&raw[start..]) else { continue };
            let end = start + scan.bytes;
            let plain = from_utf8(&raw[start..end]).ok().filter(|_| scan.bytes >= LIFTED_BYTES);
            let Some(plain) = plain else {
                self.scanner.forget(&scan);
                short += 1;
                if short == SHORT_CONTENTS {
                    break;
                }
                continue;
            };
            short = 0;
            copy.extend_from_slice(&raw[copied..start]);
            lifted.push(Lifted { place: copy.len(), start, plain, scan });
            (copied, at) = (end, end);
        }
        copy.extend_from_slice(&raw[copied..]);
    }

    /// The content that was lifted from this place of the copy of `raw`.
    #[inline]
    pub(super) fn content<'r>(
        &'r self,
        raw: &'r [u8],
        lifted: &[Lifted<'r>],
        place: usize,
    ) -> Option<Content<'r>> {
        let found = lifted.binary_search_by_key(&place, |lifted| lifted.place).ok()?;
        let lifted = &lifted[found];
        Some(if lifted.scan.has_escape() {
            Content::of_escaped(Escaped::new(&raw[lifted.start..], &lifted.scan, &self.scanner))
        } else {
            Content::of_text(lifted.plain)
        })
    }
}

/// Finds the name of the member that may hold a long string.
struct NameSearch {
    finder: memmem::Finder<'static>,
    /// How often nothing far away is to be looked for.
    skip: u32,
}

const NAME: &[u8] = br#""content""#;

impl Default for NameSearch {
    fn default() -> Self {
        Self { finder: memmem::Finder::new(NAME), skip: 0 }
    }
}

impl NameSearch {
    /// Where the name stands next. Documents stand together in most records, and the rest is not worth
    /// searching: where a record has no name far from the last content, the next ones are searched no
    /// further than [`NEAR_BYTES`]. A content that is missed is read by the parser.
    fn find(&mut self, rest: &[u8], is_first: bool) -> Option<usize> {
        let near = rest.get(..NEAR_BYTES).filter(|_| !is_first).unwrap_or(rest);
        let found = self.finder.find(near);
        if found.is_some() || near.len() == rest.len() {
            return found;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        let found = self.finder.find(rest);
        self.skip = if found.is_none() { FAR_SEARCHES } else { 0 };
        found
    }
}

/// Where the string begins, after its quote, that is the value of the name that stands at `name` and
/// ends at `end`.
fn value_after(raw: &[u8], name: usize, end: usize) -> Option<usize> {
    let backslashes = raw[..name].iter().rev().take_while(|byte| **byte == b'\\').count();
    if backslashes % 2 == 1 {
        return None;
    }
    let skip_blanks =
        |at: usize| at + raw[at..].iter().take_while(|byte| is_json_white_space(**byte)).count();
    let colon = skip_blanks(end);
    let quote = skip_blanks(raw.get(colon..)?.starts_with(b":").then_some(colon + 1)?);
    raw[quote..].starts_with(b"\"").then_some(quote + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The copy of a record, and the contents that were lifted.
    fn lift(raw: &str) -> (String, Vec<String>) {
        let (mut lifter, mut copy, mut lifted) = (Lifter::default(), Vec::new(), Vec::new());
        lifter.copy(raw.as_bytes(), &mut copy, &mut lifted);
        let text = |lifted_one: &Lifted<'_>| {
            let content = lifter.content(raw.as_bytes(), &lifted, lifted_one.place);
            content.expect("it was lifted from there").text().into_owned()
        };
        (String::from_utf8(copy).unwrap(), lifted.iter().map(text).collect())
    }

    #[test]
    fn long_contents_leave_their_quotes() {
        let long = "0123456789".repeat(60);
        let raw =
            format!(r#"[{{"content" : "{long}\n\"x\""}},{{"content":"short"}},{{"content":"{long}"}}]"#);
        let (copy, lifted) = lift(&raw);
        assert_eq!(copy, r#"[{"content" : ""},{"content":"short"},{"content":""}]"#);
        assert_eq!(lifted, [format!("{long}\n\"x\""), long]);
    }

    #[test]
    fn where_nothing_is_to_be_gained_all_of_it_stays() {
        let small = format!(r#"{{"content":"{}"}}"#, "x".repeat(LIFTED_BYTES));
        assert_eq!(lift(&small), (small.clone(), vec![]));
        let long = "x".repeat(LIFTED_FROM_BYTES);
        let count = |short: usize| {
            lift(&format!(r#"[{}{{"content":"{long}"}}]"#, r#"{"content":"x"},"#.repeat(short))).1.len()
        };
        assert_eq!([count(SHORT_CONTENTS - 1), count(SHORT_CONTENTS)], [1, 0]);
    }

    #[test]
    fn what_may_be_no_content_stays() {
        let long = "0123456789".repeat(60);
        for raw in [
            format!(r#"{{"a":"\"content\":\"{long}"}}"#),
            format!(r#"{{"a":"\"content":"{long}"}}"#),
            format!(r#"{{"content","{long}"}}"#),
            format!(r#"{{"content":{long}}}"#),
            format!(r#"{{"content":"{long}\x"}}"#),
            format!(r#"{{"content":"{long}"#),
            format!("{{\"content\":\"{long}\t\"}}"),
        ] {
            let (copy, lifted) = lift(&raw);
            assert_eq!((copy.as_str(), lifted.len()), (raw.as_str(), 0));
        }
        // Two backslashes are one that is escaped: the quote after them ends the string.
        let (_, lifted) = lift(&format!(r#"{{"a":"\\\\"content":"{long}"}}"#));
        assert_eq!(lifted, [long]);
    }

    #[test]
    fn contents_far_apart_are_looked_for_again() {
        let long = "0123456789".repeat(20);
        let near = format!(r#"{{"content":"{long}","pad":"{}"}}"#, "x".repeat(NEAR_BYTES));
        let far = format!(r#"{{"content":"{long}","pad":"{}","content":"{long}"}}"#, "x".repeat(NEAR_BYTES));
        let mut lifter = Lifter::default();
        let mut count = |raw: &str| {
            let (mut copy, mut lifted) = (Vec::new(), Vec::new());
            lifter.copy(raw.as_bytes(), &mut copy, &mut lifted);
            lifted.len()
        };
        assert_eq!([count(&far), count(&near), count(&far)], [2, 1, 1]);
        assert!((0..=FAR_SEARCHES).any(|_| count(&far) == 2));
    }
}

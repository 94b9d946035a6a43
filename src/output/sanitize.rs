//! The only way for text from the input to reach a terminal or a table.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// Text that a terminal cannot take for anything but text: controls (C0, DEL, C1), separators that
/// break lines, and marks that change the direction of writing are shown as `\u{…}`.
///
/// ```
/// assert_eq!(sourcecheck::Safe("a\u{1b}[31mb\u{202e}").to_string(), r"a\u{1b}[31mb\u{202e}");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Safe<'t>(pub &'t str);

impl fmt::Display for Safe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            if is_unsafe(c) { write!(f, "\\u{{{:x}}}", u32::from(c))? } else { f.write_char(c)? }
        }
        Ok(())
    }
}

/// Characters that never reach a terminal as they are.
pub(super) fn is_unsafe(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
    )
}

/// A cell of a table that came from the data. A spreadsheet takes what starts with `=`, `+`, `-`,
/// `@`, TAB or CR for a formula; such a cell gets an apostrophe in front.
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        return Cow::Owned(format!("'{text}"));
    }
    Cow::Borrowed(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_and_no_direction_mark_comes_through() {
        for c in ('\0'..'\u{20}').chain('\u{7f}'..='\u{9f}').chain(
            "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}"
                .chars(),
        ) {
            let text = Safe(&c.to_string()).to_string();
            assert!(text.is_ascii() && text.starts_with("\\u{"), "{c:?}");
        }
        assert_eq!(Safe("é的😀 ok").to_string(), "é的😀 ok");
    }

    #[test]
    fn formulas_are_disarmed() {
        for (text, cell) in
            [("=1+1", "'=1+1"), ("-5", "'-5"), ("@a", "'@a"), ("\ta", "'\ta"), ("a=1", "a=1"), ("", "")]
        {
            assert_eq!(csv_cell(text), cell);
        }
    }
}

//! Properties of single characters, of the Unicode version that `run.json` names.

use super::simd::{Simd, WINDOW, Window, Work, low_bits, run};
use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;

/// Whether `c` has the property White_Space.
///
/// The set is closed by Unicode's stability policy; a test holds it against the data.
pub fn is_white_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r'
            | ' '
            | '\u{85}'
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
    )
}

/// White space as JSON has it (RFC 8259, section 2).
pub fn is_json_white_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Whether `c` is a decimal digit of any script (general category Nd).
pub fn is_decimal_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    CodePointMapData::<GeneralCategory>::new().get(c) == GeneralCategory::DecimalNumber
}

/// How many code points of `text` are not White_Space.
pub fn count_non_white_space(text: &str) -> u64 {
    run(NonWhiteSpace(text))
}

struct NonWhiteSpace<'t>(&'t str);

impl Work for NonWhiteSpace<'_> {
    type Output = u64;

    #[inline(always)]
    fn work<S: Simd>(self, simd: S) -> u64 {
        let bytes = self.0.as_bytes();
        let mut count = 0;
        for at in (0..bytes.len()).step_by(WINDOW) {
            let window = Window::at(simd, bytes, at);
            let continuation = window.within(0x80, 0xbf);
            let others = window.is(b' ') | window.within(b'\t', b'\r') | continuation;
            count += u64::from((!others.bits() & low_bits(bytes.len() - at)).count_ones());
            if window.not_ascii().bits() != 0 {
                // White space beyond ASCII begins with one of four bytes.
                let leads = window.is(0xc2) | window.within(0xe1, 0xe3);
                count -= white_space_at(self.0, at, leads.bits());
            }
        }
        count
    }
}

/// How many of the characters at `at + i`, for each bit i, are white space.
fn white_space_at(text: &str, at: usize, mut bits: u64) -> u64 {
    let mut count = 0;
    while bits != 0 {
        let here = at + bits.trailing_zeros() as usize;
        count += u64::from(text[here..].chars().next().is_some_and(is_white_space));
        bits &= bits - 1;
    }
    count
}

/// The last character boundary at or before byte `at`. (`str::floor_char_boundary` is newer than the
/// oldest compiler that this crate supports.)
pub(crate) fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use icu_properties::CodePointSetData;
    use icu_properties::props::WhiteSpace;
    use proptest::prelude::*;

    #[test]
    fn white_space_is_what_the_data_say() {
        let data = CodePointSetData::new::<WhiteSpace>();
        for c in '\0'..=char::MAX {
            assert_eq!(is_white_space(c), data.contains(c), "{c:?}");
            assert_eq!(count_non_white_space(&c.to_string()), u64::from(!is_white_space(c)), "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn counting_agrees_with_its_naive_twin(text in "[a \\n\u{85}\u{a0}\u{3000}\u{1680}é的。😀\u{2003}]{0,500}") {
            let naive = text.chars().filter(|c| !is_white_space(*c)).count() as u64;
            prop_assert_eq!(count_non_white_space(&text), naive);
        }
    }
}

//! Properties of single characters, of the Unicode version that `run.json` names.

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

/// Whether `byte` is white space when it stands alone in UTF-8.
fn is_ascii_white_space(byte: u8) -> bool {
    byte == b' ' || byte.wrapping_sub(b'\t') < 5
}

/// How many code points of `text` are not White_Space.
pub fn count_non_white_space(text: &str) -> u64 {
    let (blocks, rest) = text.as_bytes().as_chunks::<BLOCK>();
    let ascii = blocks.iter().map(|block| count_in_block(block)).sum::<u64>() + count_in_block(rest);
    ascii - non_ascii_white_space(text)
}

/// A block short enough that its counts fit in a byte.
const BLOCK: usize = 128;

/// Code points that begin in the block and are not ASCII white space. Branch-free, so that the
/// compiler makes vector code of it.
#[inline(always)]
fn count_in_block(block: &[u8]) -> u64 {
    let counts = |byte: &u8| u8::from((*byte as i8) >= -64) & u8::from(!is_ascii_white_space(*byte));
    u64::from(block.iter().fold(0u8, |sum, byte| sum + counts(byte)))
}

/// White space beyond ASCII. It begins with one of four bytes, most of them rare.
fn non_ascii_white_space(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let is_at = |at: usize| text[at..].chars().next().is_some_and(is_white_space);
    let two = memchr::memchr2_iter(0xc2, 0xe1, bytes).filter(|&at| is_at(at)).count();
    let three = memchr::memchr2_iter(0xe2, 0xe3, bytes).filter(|&at| is_at(at)).count();
    (two + three) as u64
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

//! Text as the contract sees it: byte spans, LF lines, exactly-once search, white space, sentences.

mod chars;
mod escaped;
mod find;
mod find_many;
mod line_index;
mod sentences;
mod simd;
mod span;

pub(crate) use chars::floor_boundary;
pub use chars::{count_non_white_space, is_decimal_digit, is_json_white_space, is_white_space};
pub(crate) use escaped::{Escaped, Scan, Scanner, TextPart, unescape};
pub(crate) use find::find_once_on;
pub use find::{Occurrence, find_once};
pub(crate) use find_many::find_each_once;
pub use line_index::LineIndex;
pub use sentences::{Sentences, UNICODE_VERSION, is_countable};
pub(crate) use simd::WINDOW;
pub use span::{Span, Units};

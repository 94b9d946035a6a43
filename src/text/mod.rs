//! Text as the contract sees it: byte spans, LF lines, exactly-once search, white space, sentences.

mod chars;
mod find;
mod line_index;
mod sentences;
mod span;

pub use chars::{count_non_white_space, is_decimal_digit, is_json_white_space, is_white_space};
pub use find::{Occurrence, find_once};
pub use line_index::LineIndex;
pub use sentences::{Sentences, UNICODE_VERSION, is_countable};
pub use span::{Span, Units};

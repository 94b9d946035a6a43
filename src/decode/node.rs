//! A value of a record, whatever has read it: what decoding asks of both readers.

use crate::diagnostic::JsonType;
use crate::keys::Key;
use crate::model::Content;

/// A value of a record, whatever read it. Strings live as long as the record's decoded bytes.
pub(crate) trait Node<'r>: Copy {
    /// The members of an object, in the record's order, repeated names included.
    type Members: Iterator<Item = (&'r str, Self)>;
    /// The elements of an array.
    type Items: Iterator<Item = Self>;

    fn json_type(self) -> JsonType;
    fn string(self) -> Option<&'r str>;
    fn number(self) -> Option<Number<'r>>;
    /// A value that is no string as JSON text, if the reader knows every digit of it.
    fn json_text(self) -> Option<String>;
    fn members(self) -> Option<Self::Members>;
    fn items(self) -> Option<Self::Items>;

    /// A boundary that is written as most are: `{"line":1,"str":"x"}` and nothing more. `None` says
    /// nothing: then the members are to be read one by one.
    fn usual_boundary(self) -> Option<UsualBoundary<'r>> {
        None
    }

    /// The same for a claim: its path, start and end.
    fn usual_claim(self) -> Option<UsualRef<'r>> {
        None
    }

    /// The same for a source, with its polarity and confidence.
    fn usual_source(self) -> Option<(UsualRef<'r>, &'r str, Number<'r>)> {
        None
    }
}

/// A boundary's line and string.
pub(crate) type UsualBoundary<'r> = (i64, &'r str);

/// A ref's path, start and end.
pub(crate) type UsualRef<'r> = (&'r str, UsualBoundary<'r>, UsualBoundary<'r>);

/// What a reader knows of the contents of documents beyond their strings.
pub(crate) trait Contents<'r> {
    /// The content whose string is `string`.
    fn content(&self, string: &'r str) -> Content<'r>;

    /// The value at a key as JSON text, where its node does not know it; the key leads to one value.
    fn json_text(&self, key: &Key) -> Option<String>;
}

/// Contents that were all decoded with the record.
pub(crate) struct Decoded;

impl<'r> Contents<'r> for Decoded {
    fn content(&self, string: &'r str) -> Content<'r> {
        Content::of_text(string)
    }

    fn json_text(&self, _: &Key) -> Option<String> {
        None
    }
}

/// A number, as exactly as its reader knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number<'r> {
    /// An integer; `-0` reads as 0.
    Integer(i64),
    /// The nearest double; the exact digits are lost.
    Double(f64),
    /// The digits as they were written.
    Text(&'r str),
}

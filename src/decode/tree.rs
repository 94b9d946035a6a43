//! A record as the careful reader keeps it: every value, numbers as they were written.

use super::json::write_quoted;
use super::node::{Node, Number};
use crate::diagnostic::JsonType;

/// A value as the careful reader keeps it.
#[derive(Debug)]
pub(crate) enum Tree<'r> {
    Null,
    Boolean(bool),
    Number(&'r str),
    String(String),
    Array(Vec<Tree<'r>>),
    Object(Vec<(String, Tree<'r>)>),
}

impl Tree<'_> {
    /// The value as JSON text without white space; numbers digit for digit.
    fn write_compact(&self, out: &mut String) {
        match self {
            Tree::Null => out.push_str("null"),
            Tree::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            Tree::Number(digits) => out.push_str(digits),
            Tree::String(string) => write_quoted(string, out),
            Tree::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    out.push_str(if i > 0 { "," } else { "" });
                    item.write_compact(out);
                }
                out.push(']');
            }
            Tree::Object(members) => {
                out.push('{');
                for (i, (name, value)) in members.iter().enumerate() {
                    out.push_str(if i > 0 { "," } else { "" });
                    write_quoted(name, out);
                    out.push(':');
                    value.write_compact(out);
                }
                out.push('}');
            }
        }
    }
}

/// The members of an object that was read with care.
pub(crate) struct TreeMembers<'t, 'r>(std::slice::Iter<'t, (String, Tree<'r>)>);

impl<'t, 'r> Iterator for TreeMembers<'t, 'r> {
    type Item = (&'t str, &'t Tree<'r>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(name, value)| (name.as_str(), value))
    }
}

impl<'t, 'r> Node<'t> for &'t Tree<'r> {
    type Members = TreeMembers<'t, 'r>;
    type Items = std::slice::Iter<'t, Tree<'r>>;

    fn json_type(self) -> JsonType {
        match self {
            Tree::Null => JsonType::Null,
            Tree::Boolean(_) => JsonType::Boolean,
            Tree::Number(_) => JsonType::Number,
            Tree::String(_) => JsonType::String,
            Tree::Array(_) => JsonType::Array,
            Tree::Object(_) => JsonType::Object,
        }
    }

    fn string(self) -> Option<&'t str> {
        match self {
            Tree::String(string) => Some(string),
            _ => None,
        }
    }

    fn number(self) -> Option<Number<'t>> {
        match self {
            Tree::Number(text) => Some(Number::Text(text)),
            _ => None,
        }
    }

    fn json_text(self) -> Option<String> {
        let mut text = String::new();
        self.write_compact(&mut text);
        Some(text)
    }

    fn members(self) -> Option<Self::Members> {
        match self {
            Tree::Object(members) => Some(TreeMembers(members.iter())),
            _ => None,
        }
    }

    fn items(self) -> Option<Self::Items> {
        match self {
            Tree::Array(items) => Some(items.iter()),
            _ => None,
        }
    }
}

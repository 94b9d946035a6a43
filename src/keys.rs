//! Where in a record its `id`, its groups and its cluster stand: JSON Pointers that a caller gives.

use crate::diagnostic::Pointer;
use crate::error::Error;

/// A JSON Pointer (RFC 6901) to a member or element of every record.
///
/// The names on its way are names that the checker reads: each stands once in its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    text: &'static str,
}

impl Key {
    /// Where an `id` stands where nothing else is said.
    pub const ID: Self = Self { text: "/id" };

    /// Reads a pointer such as `/meta/lang`. It lives as long as the program, since findings name it.
    ///
    /// # Errors
    /// What is wrong with it: no `/` at its beginning, a `~` that is neither `~0` nor `~1`, or more than
    /// eight steps.
    pub fn parse(text: &'static str) -> Result<Self, Error> {
        let key = Self { text };
        let wrong = |why: &str| Err(Error::setting(format!("{text:?} is no JSON Pointer: {why}")));
        if !text.starts_with('/') {
            return wrong("it starts with `/`, as in `/model` or `/meta/lang`");
        }
        if key.steps().count() > Pointer::DEPTH {
            return wrong("it has more than eight steps");
        }
        let is_escape = |rest: &str| rest.starts_with('0') || rest.starts_with('1');
        if !text.split('~').skip(1).all(is_escape) {
            return wrong("`~` is written `~0`, and `/` within a name `~1`");
        }
        Ok(key)
    }

    /// The pointer as it was given.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// Its steps, escaped as they were given.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.text.split('/').skip(1)
    }

    /// The pointer to its first steps.
    pub(crate) fn pointer(&self, steps: usize) -> Pointer {
        self.steps().take(steps).fold(Pointer::ROOT, Pointer::name)
    }
}

/// Whether a step names a member.
pub(crate) fn names(step: &str, member: &str) -> bool {
    if step.contains('~') { step.replace("~1", "/").replace("~0", "~") == member } else { step == member }
}

/// The element of an array that a step means; no leading zeros.
pub(crate) fn index(step: &str) -> Option<usize> {
    let is_index = step == "0" || (!step.starts_with('0') && step.bytes().all(|byte| byte.is_ascii_digit()));
    if is_index { step.parse().ok() } else { None }
}

/// What is read of each record beside what is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// Where its `id` stands.
    pub id: Key,
    /// What it is grouped by, each on its own.
    pub groups: Vec<Key>,
    /// What adjacent records have in common that are one cluster.
    pub cluster: Option<Key>,
}

impl Default for Keys {
    fn default() -> Self {
        Self { id: Key::ID, groups: Vec::new(), cluster: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_as_rfc_6901_has_them() {
        assert_eq!(Key::parse("/meta/lang").unwrap().steps().collect::<Vec<_>>(), ["meta", "lang"]);
        assert_eq!(Key::parse("/a~1b/").unwrap().pointer(2).to_string(), "/a~1b/");
        assert!(names("a~1b", "a/b") && names("~01", "~1") && names("", "") && !names("a", "b"));
        assert_eq!(
            [index("0"), index("12"), index("01"), index("-"), index("")],
            [Some(0), Some(12), None, None, None]
        );
        for wrong in ["", "model", "/a~2", "/a~", "/1/2/3/4/5/6/7/8/9"] {
            let message = Key::parse(wrong).unwrap_err().to_string();
            assert!(message.contains("no JSON Pointer"), "{message}");
        }
    }
}

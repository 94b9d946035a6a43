//! What a run is grouped by: the values at the pointers that a caller gave.

use super::Findings;
use super::node::{Contents, Node};
use crate::diagnostic::{Code, Diagnostic};
use crate::hash::Fnv;
use crate::keys::{Key, Keys, index, names};
use crate::limits::GROUP_BYTES;
use crate::text::floor_boundary;
use crate::verdict::Group;

/// Reads an `id` that stands elsewhere, the groups and the cluster of a record.
pub(super) fn read_keys<'r, N: Node<'r>>(
    root: N,
    contents: &impl Contents<'r>,
    keys: &Keys,
    findings: &mut Findings,
) {
    if keys.id != Key::ID
        && let Some(node) = look_up(root, &keys.id, findings)
    {
        findings.set_id(node, contents);
    }
    for key in &keys.groups {
        let value = value_at(root, contents, key, findings);
        findings.groups.push(Group { pointer: key.text(), value });
    }
    if let Some(key) = &keys.cluster {
        findings.cluster = value_at(root, contents, key, findings);
    }
}

/// A string as it is, other values as JSON text; cut where it is long.
fn value_at<'r, N: Node<'r>>(
    root: N,
    contents: &impl Contents<'r>,
    key: &Key,
    findings: &mut Findings,
) -> Option<String> {
    let node = look_up(root, key, findings)?;
    let text = match node.string() {
        Some(string) => Some(contents.content(string).text().into_owned()),
        None => node.json_text().or_else(|| contents.json_text(key)),
    };
    text.map(cut)
}

/// The value at a pointer. A name on the way that stands twice is an error, and names nothing.
fn look_up<'r, N: Node<'r>>(root: N, key: &Key, findings: &mut Findings) -> Option<N> {
    let mut here = root;
    for (depth, step) in key.steps().enumerate() {
        let Some(members) = here.members() else {
            here = here.items()?.nth(index(step)?)?;
            continue;
        };
        let mut found = members.filter(|(name, _)| names(step, name)).map(|(_, value)| value);
        here = found.next()?;
        if found.next().is_some() {
            repeated(key, depth + 1, findings);
            return None;
        }
    }
    Some(here)
}

/// Says so once a name, whoever read it.
#[cold]
fn repeated(key: &Key, steps: usize, findings: &mut Findings) {
    let error = Diagnostic::new(Code::DuplicateField, key.pointer(steps));
    let is_said = |other: &Diagnostic| {
        other.rule == error.rule && other.pointer.to_string() == error.pointer.to_string()
    };
    if !findings.errors.iter().any(is_said) {
        findings.errors.push(error);
    }
}

/// A value of at most [`GROUP_BYTES`]: of a longer one its beginning and the FNV-1a hash of all of it.
fn cut(text: String) -> String {
    if text.len() <= GROUP_BYTES {
        return text;
    }
    let end = format!("…#{:016x}", Fnv::of(text.as_bytes()));
    let start = floor_boundary(&text, GROUP_BYTES - end.len());
    text[..start].to_owned() + &end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut_and_stay_apart() {
        let (one, two) = ("é".repeat(200) + "1", "é".repeat(200) + "2");
        let cuts = [cut(one), cut(two)];
        assert!(cuts.iter().all(|value| value.len() <= 256 && value.contains("é…#")), "{cuts:?}");
        assert_ne!(cuts[0], cuts[1]);
        assert_eq!(cut("x".repeat(256)), "x".repeat(256));
    }
}

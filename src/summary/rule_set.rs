//! Which codes and lints a record has, a bit each.

use super::tally::index;
use crate::diagnostic::{Code, Lint, Rule};

/// Every code, then every lint, in the order of their tables.
pub(crate) fn rules() -> impl Iterator<Item = Rule> {
    Code::ALL.iter().copied().map(Rule::Code).chain(Lint::ALL.iter().copied().map(Rule::Lint))
}

/// A set of codes and lints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleSet(u128);

impl RuleSet {
    pub(crate) fn insert(&mut self, rule: Rule) {
        self.0 |= 1 << index(rule);
    }

    pub(crate) fn contains(self, rule: Rule) -> bool {
        self.0 & 1 << index(rule) != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn to_vec(self) -> Vec<Rule> {
        rules().filter(|rule| self.contains(*rule)).collect()
    }

    /// The set as one number, and back.
    pub(crate) fn bits(self) -> u128 {
        self.0
    }

    pub(crate) fn from_bits(bits: u128) -> Self {
        Self(bits)
    }
}

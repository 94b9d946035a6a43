//! What is found while pairs come, in the order of NEW.

use super::line::{FileNames, Record};
use crate::summary::{Listed, ListedRecord, Matching, PairGroups};
use crate::verdict::Status;
use std::collections::BTreeMap;

/// Which of the two runs a record is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Base,
    New,
}

/// Why a record is in no pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Only,
    Repeated,
    WithoutId,
}

/// Records that are counted, of which those with the least positions are kept.
#[derive(Default)]
struct Kept {
    count: u64,
    records: BTreeMap<u64, ListedRecord>,
}

impl Kept {
    fn add(&mut self, limit: usize, position: u64, make: impl FnOnce() -> ListedRecord) {
        self.count += 1;
        let last = self.records.last_key_value().map(|(position, _)| *position);
        if self.records.len() >= limit {
            if last.is_none_or(|last| position > last) {
                return;
            }
            self.records.pop_last();
        }
        self.records.insert(position, make());
    }

    fn into_listed(self) -> Listed {
        Listed { count: self.count, first: self.records.into_values().collect() }
    }
}

/// The tallies of the pairs and the lists of records.
pub(super) struct Findings {
    limit: usize,
    pub(super) pairs: PairGroups,
    no_longer_valid: Kept,
    now_valid: Kept,
    /// By run, then by reason.
    unpaired: [[Kept; 3]; 2],
}

impl Findings {
    /// Lists at most `limit` records each; NEW is grouped by these pointers.
    pub(super) fn new(limit: usize, pointers: &[String]) -> Self {
        Self {
            limit,
            pairs: PairGroups::new(pointers),
            no_longer_valid: Kept::default(),
            now_valid: Kept::default(),
            unpaired: Default::default(),
        }
    }

    /// Takes the next pair; `position` is that of its record in NEW.
    pub(super) fn pair(&mut self, base: &Record, new: &Record, position: u64, files: &FileNames) {
        self.pairs.add(&base.counted, &new.counted);
        let was_valid = base.counted.status == Status::Valid;
        let is_valid = new.counted.status == Status::Valid;
        let list = match (was_valid, is_valid) {
            (true, false) => &mut self.no_longer_valid,
            (false, true) => &mut self.now_valid,
            _ => return,
        };
        let (before, after) = (base.counted.rules, new.counted.rules);
        list.add(self.limit, position, || ListedRecord {
            before: Some(base.counted.status),
            new_codes: after.without(before).to_vec(),
            gone_codes: before.without(after).to_vec(),
            ..listed(Of::New, new, files)
        });
    }

    /// Takes a record that is in no pair.
    pub(super) fn unpaired(&mut self, of: Of, why: Why, record: &Record, position: u64, files: &FileNames) {
        let list = &mut self.unpaired[of as usize][why as usize];
        list.add(self.limit, position, || listed(of, record, files));
    }

    /// No more records come.
    pub(super) fn finish(mut self) -> (PairGroups, Matching) {
        self.pairs.close();
        let [base, new] = self.unpaired.map(|lists| lists.map(Kept::into_listed));
        let side = |[only, repeated, without_id]: [Listed; 3]| crate::summary::SideMatching {
            only,
            repeated,
            without_id,
        };
        let matching = Matching {
            pairs: self.pairs.pairs(),
            base: side(base),
            new: side(new),
            no_longer_valid: self.no_longer_valid.into_listed(),
            now_valid: self.now_valid.into_listed(),
        };
        (self.pairs, matching)
    }
}

/// A record as lists have it, with its status in its own run alone.
fn listed(of: Of, record: &Record, files: &FileNames) -> ListedRecord {
    let status = Some(record.counted.status);
    ListedRecord {
        id: record.id.clone(),
        file: files.name(record.file),
        line: record.line,
        before: status.filter(|_| of == Of::Base),
        after: status.filter(|_| of == Of::New),
        new_codes: Vec::new(),
        gone_codes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_positions_are_kept() {
        let record = |line| ListedRecord {
            id: None,
            file: "a".into(),
            line,
            before: None,
            after: None,
            new_codes: Vec::new(),
            gone_codes: Vec::new(),
        };
        for (limit, wanted) in [(0, &[][..]), (1, &[1]), (3, &[1, 2, 4]), (9, &[1, 2, 4, 5, 7])] {
            let mut kept = Kept::default();
            [4, 7, 1, 5, 2].into_iter().for_each(|position| kept.add(limit, position, || record(position)));
            let listed = kept.into_listed();
            let lines: Vec<u64> = listed.first.iter().map(|record| record.line).collect();
            assert_eq!(lines, wanted);
            assert_eq!((listed.count, listed.left_out()), (5, 5 - wanted.len() as u64));
        }
    }
}

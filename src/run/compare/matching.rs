//! Which records of two runs are the same: first on the assumption that they stand in the same order, which
//! one pass proves or not; else by sorting both by id. Both ways give the pairs in the order of NEW.

use super::CompareOptions;
use super::compact::{read_bytes, read_id, read_record, write_bytes, write_id, write_record};
use super::findings::{Findings, Of, Why};
use super::line::{FileNames, Record};
use super::verdicts::Verdicts;
use crate::error::Error;
use crate::run::finished::FinishedRun;
use crate::run::sorter::{Scratch, Sorted, Sorter};
use crate::verdict::Id;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Finds the pairs of two runs, and the records that are in none.
pub(super) fn match_runs(
    base: &FinishedRun<'_>,
    new: &FinishedRun<'_>,
    scratch: Scratch<'_>,
    options: &CompareOptions<'_>,
) -> Result<Findings, Error> {
    let findings = || Findings::new(options.max_listed, &new.file.settings.group_by);
    match in_same_order(base, new, scratch, options, findings())? {
        Some(findings) => Ok(findings),
        None => sorted_by_id(base, new, scratch, options, findings()),
    }
}

/// Reads both runs side by side. `None` where they turn out not to have the same ids in the same order, each
/// once.
fn in_same_order(
    base: &FinishedRun<'_>,
    new: &FinishedRun<'_>,
    scratch: Scratch<'_>,
    options: &CompareOptions<'_>,
    mut findings: Findings,
) -> Result<Option<Findings>, Error> {
    let (mut base, mut new) = (base.verdicts()?, new.verdicts()?);
    let mut hashes = Sorter::new(scratch, "hashes");
    loop {
        options.go_on()?;
        let (before, after) = match (base.next()?, new.next()?) {
            (None, None) => break,
            (Some(before), Some(after)) if before.id == after.id => (before, after),
            _ => return Ok(None),
        };
        let position = new.position();
        match &after.id {
            None => {
                findings.unpaired(Of::Base, Why::WithoutId, &before, position, base.files());
                findings.unpaired(Of::New, Why::WithoutId, &after, position, new.files());
            }
            Some(id) => {
                hashes.push(&hash(id).to_be_bytes(), &[])?;
                findings.pair(&before, &after, position, new.files());
            }
        }
    }
    Ok(if has_repeated(hashes.finish()?)? { None } else { Some(findings) })
}

/// Whether a key stands twice. Two ids may have one hash: then the runs are sorted for nothing.
fn has_repeated(mut sorted: Sorted<'_>) -> Result<bool, Error> {
    let mut last = None;
    while let Some((key, _)) = sorted.next()? {
        let key: Option<[u8; 8]> = key.try_into().ok();
        if key.is_some() && key == last {
            return Ok(true);
        }
        last = key;
    }
    Ok(false)
}

fn hash(id: &Id) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// Sorts the records of both runs by id, joins them, and sorts the pairs by their place in NEW.
fn sorted_by_id(
    base: &FinishedRun<'_>,
    new: &FinishedRun<'_>,
    scratch: Scratch<'_>,
    options: &CompareOptions<'_>,
    mut findings: Findings,
) -> Result<Findings, Error> {
    let mut by_id = Sorter::new(scratch, "ids");
    let mut files = [FileNames::default(), FileNames::default()];
    for (of, run) in [(Of::Base, base), (Of::New, new)] {
        let mut verdicts = run.verdicts()?;
        read_all(of, &mut verdicts, &mut by_id, &mut findings, options)?;
        files[of as usize] = verdicts.into_files();
    }
    let mut join = Join { findings, files, pairs: Sorter::new(scratch, "pairs"), held: None };
    let mut sorted = by_id.finish()?;
    while let Some((key, value)) = sorted.next()? {
        options.go_on()?;
        join.take(key, value)?;
    }
    drop(sorted);
    join.finish(options)
}

/// Hands every record of a run to the sort; those without an id are in no pair.
fn read_all(
    of: Of,
    verdicts: &mut Verdicts<'_>,
    by_id: &mut Sorter<'_>,
    findings: &mut Findings,
    options: &CompareOptions<'_>,
) -> Result<(), Error> {
    let (mut key, mut value) = (Vec::new(), Vec::new());
    while let Some(record) = verdicts.next()? {
        options.go_on()?;
        let Some(id) = &record.id else {
            findings.unpaired(of, Why::WithoutId, &record, verdicts.position(), verdicts.files());
            continue;
        };
        key.clear();
        value.clear();
        write_key(id, of, verdicts.position(), &mut key);
        write_record(&record, &mut value);
        by_id.push(&key, &value)?;
    }
    Ok(())
}

/// Bytes of a hash, and of the place at the end of a key.
const HASH_BYTES: usize = 8;
const PLACE_BYTES: usize = 1 + 8;

/// The hash comes first, since it decides most comparisons; the length before the id keeps what follows a
/// short id from being taken for a part of a longer one.
fn write_key(id: &Id, of: Of, position: u64, key: &mut Vec<u8>) {
    key.extend_from_slice(&hash(id).to_be_bytes());
    let length_at = key.len();
    key.extend_from_slice(&[0; 4]);
    write_id(id, key);
    let length = (key.len() - length_at - 4) as u32;
    key[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
    key.push(of as u8);
    key.extend_from_slice(&position.to_be_bytes());
}

/// The id's bytes, the run and the position of a key.
fn read_key(key: &[u8]) -> Option<(&[u8], Of, u64)> {
    let (id, place) =
        key.get(HASH_BYTES + 4..)?.split_at_checked(key.len() - HASH_BYTES - 4 - PLACE_BYTES)?;
    let (of, position) = place.split_first()?;
    let of = if *of == Of::Base as u8 { Of::Base } else { Of::New };
    Some((id, of, u64::from_be_bytes(position.try_into().ok()?)))
}

/// Joins records that come sorted by id.
struct Join<'s> {
    findings: Findings,
    files: [FileNames; 2],
    /// The pairs, by their position in NEW.
    pairs: Sorter<'s>,
    held: Option<SameId>,
}

/// The records with one id that have come so far.
struct SameId {
    id: Vec<u8>,
    /// The record of each run, unless the id is repeated.
    records: [Option<(u64, Vec<u8>)>; 2],
    is_repeated: bool,
}

impl Join<'_> {
    /// Takes the next record.
    fn take(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let (id, of, position) = read_key(key).ok_or_else(garbled)?;
        if self.held.as_ref().is_none_or(|held| held.id != id) {
            self.close()?;
            self.held = Some(SameId { id: id.to_vec(), records: [None, None], is_repeated: false });
        }
        let Some(held) = &mut self.held else { return Ok(()) };
        if !held.is_repeated && held.records[of as usize].is_none() {
            held.records[of as usize] = Some((position, value.to_vec()));
            return Ok(());
        }
        held.is_repeated = true;
        let earlier = std::mem::take(&mut held.records);
        self.list_all(Why::Repeated, id, earlier)?;
        self.list(of, Why::Repeated, id, position, value)
    }

    /// No more records have the id that is held.
    fn close(&mut self) -> Result<(), Error> {
        let Some(SameId { id, records, .. }) = self.held.take() else { return Ok(()) };
        match records {
            [Some((_, base)), Some((position, new))] => {
                let mut value = Vec::with_capacity(id.len() + base.len() + new.len() + 4);
                write_bytes(&id, &mut value);
                value.extend_from_slice(&base);
                value.extend_from_slice(&new);
                self.pairs.push(&position.to_be_bytes(), &value)
            }
            records => self.list_all(Why::Only, &id, records),
        }
    }

    fn list_all(&mut self, why: Why, id: &[u8], records: [Option<(u64, Vec<u8>)>; 2]) -> Result<(), Error> {
        for (of, record) in [Of::Base, Of::New].into_iter().zip(records) {
            if let Some((position, value)) = record {
                self.list(of, why, id, position, &value)?;
            }
        }
        Ok(())
    }

    fn list(&mut self, of: Of, why: Why, id: &[u8], position: u64, value: &[u8]) -> Result<(), Error> {
        let record = read_record(read_id(id), &mut &*value).ok_or_else(garbled)?;
        self.findings.unpaired(of, why, &record, position, &self.files[of as usize]);
        Ok(())
    }

    /// Gives the pairs in the order of NEW.
    fn finish(mut self, options: &CompareOptions<'_>) -> Result<Findings, Error> {
        self.close()?;
        let mut sorted = self.pairs.finish()?;
        while let Some((key, value)) = sorted.next()? {
            options.go_on()?;
            let position = u64::from_be_bytes(key.try_into().map_err(|_| garbled())?);
            let (base, new) = read_pair(value).ok_or_else(garbled)?;
            self.findings.pair(&base, &new, position, &self.files[Of::New as usize]);
        }
        Ok(self.findings)
    }
}

fn read_pair(mut rest: &[u8]) -> Option<(Record, Record)> {
    let id = read_id(read_bytes(&mut rest)?);
    Some((read_record(None, &mut rest)?, read_record(id, &mut rest)?))
}

/// What was written to a temporary file was read back otherwise.
fn garbled() -> Error {
    Error::defect("a temporary file is not as it was written")
}

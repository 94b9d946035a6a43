//! Sorts more records than memory holds: they are sorted in parts, the parts go to temporary files, and the
//! files are merged. A record is a key and a value, both bytes; records are ordered by their keys' bytes.

use crate::error::Error;
use crate::limits::{SORT_FILES, SORT_READ_BYTES};
use crate::storage::Storage;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Where temporary files are made.
#[derive(Clone, Copy)]
pub(super) struct Scratch<'s> {
    pub(super) storage: &'s dyn Storage,
    pub(super) folder: &'s Path,
    /// Bytes that a sort holds before it writes them.
    pub(super) limit: usize,
}

/// Records on their way to be sorted. Its files go when it does.
pub(super) struct Sorter<'s> {
    files: Files<'s>,
    part: Part,
}

/// The temporary files of one sort.
struct Files<'s> {
    scratch: Scratch<'s>,
    name: &'static str,
    made: usize,
    paths: Vec<PathBuf>,
}

impl Drop for Files<'_> {
    fn drop(&mut self) {
        for path in &self.paths {
            // That one is gone already is fine.
            let _ = self.scratch.storage.remove(path);
        }
    }
}

/// Records in memory: their bytes one after the other, and what is moved when they are sorted.
#[derive(Default)]
struct Part {
    bytes: Vec<u8>,
    records: Vec<Slot>,
    next: usize,
}

#[derive(Clone, Copy)]
struct Slot {
    /// The first bytes of the key, which decide most comparisons.
    prefix: u64,
    start: u32,
    key: u32,
    end: u32,
}

impl Slot {
    fn key(self) -> Range<usize> {
        self.start as usize..self.key as usize
    }

    fn value(self) -> Range<usize> {
        self.key as usize..self.end as usize
    }
}

impl Part {
    fn size(&self) -> usize {
        self.bytes.len() + self.records.len() * size_of::<Slot>()
    }

    fn push(&mut self, key: &[u8], value: &[u8]) {
        let mut prefix = [0; 8];
        let length = key.len().min(prefix.len());
        prefix[..length].copy_from_slice(&key[..length]);
        // A part is far below 4 GiB, unless one record alone is not.
        let at = |bytes: &Vec<u8>| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let start = at(&self.bytes);
        self.bytes.extend_from_slice(key);
        let end_of_key = at(&self.bytes);
        self.bytes.extend_from_slice(value);
        let end = at(&self.bytes);
        self.records.push(Slot { prefix: u64::from_be_bytes(prefix), start, key: end_of_key, end });
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.records.sort_unstable_by(|a, b| {
            a.prefix.cmp(&b.prefix).then_with(|| bytes[a.key()].cmp(&bytes[b.key()]))
        });
    }
}

impl<'s> Sorter<'s> {
    /// A sort with a name of its own among those in the same folder.
    pub(super) fn new(scratch: Scratch<'s>, name: &'static str) -> Self {
        let files = Files { scratch, name, made: 0, paths: Vec::new() };
        Self { files, part: Part::default() }
    }

    pub(super) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let size = key.len() + value.len() + size_of::<Slot>();
        if !self.part.records.is_empty() && self.part.size() + size > self.files.scratch.limit {
            self.spill()?;
        }
        self.part.push(key, value);
        Ok(())
    }

    /// Writes what is held to a file.
    fn spill(&mut self) -> Result<(), Error> {
        self.part.sort();
        let mut file = self.files.create()?;
        for slot in &self.part.records {
            file.write(&self.part.bytes[slot.key()], &self.part.bytes[slot.value()])?;
        }
        file.finish()?;
        self.part.bytes.clear();
        self.part.records.clear();
        Ok(())
    }

    /// The records in their order.
    pub(super) fn finish(mut self) -> Result<Sorted<'s>, Error> {
        self.part.sort();
        while self.files.paths.len() > SORT_FILES {
            let rest = self.files.paths.split_off(SORT_FILES);
            let some = std::mem::replace(&mut self.files.paths, rest);
            let some = Files { paths: some, ..self.files.share() };
            let mut file = self.files.create()?;
            let mut merged = Sorted::new(some, Part::default())?;
            while let Some((key, value)) = merged.next()? {
                file.write(key, value)?;
            }
            file.finish()?;
        }
        let files = Files { paths: std::mem::take(&mut self.files.paths), ..self.files.share() };
        Sorted::new(files, std::mem::take(&mut self.part))
    }
}

impl<'s> Files<'s> {
    /// The same place, with no files of its own.
    fn share(&self) -> Self {
        Self { scratch: self.scratch, name: self.name, made: self.made, paths: Vec::new() }
    }

    fn create(&mut self) -> Result<Writer, Error> {
        let path = self.scratch.folder.join(format!("{}-{}", self.name, self.made));
        self.made += 1;
        let file = self.scratch.storage.create(&path);
        let file = file.map_err(|error| Error::create(path.display(), error))?;
        self.paths.push(path.clone());
        Ok(Writer { path, file: BufWriter::with_capacity(SORT_READ_BYTES, file) })
    }
}

struct Writer {
    path: PathBuf,
    file: BufWriter<Box<dyn crate::storage::OutputFile>>,
}

impl Writer {
    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let length = |bytes: &[u8]| (bytes.len() as u32).to_le_bytes();
        let (file, parts) = (&mut self.file, [&length(key), &length(value), key, value]);
        let written = parts.into_iter().try_for_each(|part| file.write_all(part));
        written.map_err(|error| Error::write(self.path.display(), error))
    }

    fn finish(mut self) -> Result<(), Error> {
        self.file.flush().map_err(|error| Error::write(self.path.display(), error))
    }
}

/// One file that is merged, and its next record.
struct Reader {
    path: PathBuf,
    file: BufReader<Box<dyn Read + Send>>,
    record: Vec<u8>,
    key: usize,
}

impl Reader {
    fn open(scratch: Scratch<'_>, path: &Path) -> Result<Self, Error> {
        let file =
            scratch.storage.open(path).map_err(|error| Error::read(path.display(), error.to_string()))?;
        let file = BufReader::with_capacity(SORT_READ_BYTES, file);
        Ok(Self { path: path.to_owned(), file, record: Vec::new(), key: 0 })
    }

    /// Reads the next record; `false` at the end.
    fn advance(&mut self) -> Result<bool, Error> {
        self.try_advance().map_err(|error| Error::read(self.path.display(), error.to_string()))
    }

    fn try_advance(&mut self) -> io::Result<bool> {
        if io::BufRead::fill_buf(&mut self.file)?.is_empty() {
            return Ok(false);
        }
        let mut length = [0; 4];
        self.file.read_exact(&mut length)?;
        self.key = u32::from_le_bytes(length) as usize;
        self.file.read_exact(&mut length)?;
        self.record.resize(self.key + u32::from_le_bytes(length) as usize, 0);
        self.file.read_exact(&mut self.record)?;
        Ok(true)
    }

    fn key(&self) -> &[u8] {
        &self.record[..self.key]
    }
}

impl PartialEq for Reader {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Reader {}

impl PartialOrd for Reader {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Reader {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(other.key())
    }
}

/// A record.
type KeyAndValue<'r> = (&'r [u8], &'r [u8]);

/// The records of a sort, in their order.
pub(super) struct Sorted<'s> {
    heap: BinaryHeap<Reverse<Reader>>,
    /// The one whose record was given last.
    given: Option<Reader>,
    /// What never left memory.
    part: Part,
    /// Removed when all is read, or given up.
    _files: Files<'s>,
}

impl<'s> Sorted<'s> {
    fn new(files: Files<'s>, part: Part) -> Result<Self, Error> {
        let mut heap = BinaryHeap::new();
        for path in &files.paths {
            let mut reader = Reader::open(files.scratch, path)?;
            if reader.advance()? {
                heap.push(Reverse(reader));
            }
        }
        Ok(Self { heap, given: None, part, _files: files })
    }

    /// The next record's key and value.
    pub(super) fn next(&mut self) -> Result<Option<KeyAndValue<'_>>, Error> {
        if let Some(mut reader) = self.given.take()
            && reader.advance()?
        {
            self.heap.push(Reverse(reader));
        }
        let held = self.part.records.get(self.part.next).copied();
        let is_held_first = match (held, self.heap.peek()) {
            (None, None) => return Ok(None),
            (Some(slot), Some(Reverse(reader))) => &self.part.bytes[slot.key()] <= reader.key(),
            (held, _) => held.is_some(),
        };
        if let (true, Some(slot)) = (is_held_first, held) {
            self.part.next += 1;
            return Ok(Some((&self.part.bytes[slot.key()], &self.part.bytes[slot.value()])));
        }
        self.given = self.heap.pop().map(|Reverse(reader)| reader);
        Ok(self.given.as_ref().map(|reader| reader.record.split_at(reader.key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Disk;
    use proptest::prelude::*;

    /// A folder of this test's own; the test takes it away, which works only where it is empty.
    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("sourcecheck-sorter-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    fn sort(folder: &Path, limit: usize, records: &[(Vec<u8>, Vec<u8>)]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut sorter = Sorter::new(Scratch { storage: &Disk, folder, limit }, "test");
        records.iter().for_each(|(key, value)| sorter.push(key, value).unwrap());
        let mut sorted = sorter.finish().unwrap();
        let mut found = Vec::new();
        while let Some((key, value)) = sorted.next().unwrap() {
            found.push((key.to_vec(), value.to_vec()));
        }
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn equals_a_sort_in_memory(
            keys in proptest::collection::vec(proptest::collection::vec(0u8..3, 0..12), 0..200),
            limit in 30usize..2000,
        ) {
            let folder = folder("property");
            // Values that follow from the keys: the order among equal keys is open.
            let records: Vec<_> = keys.into_iter().map(|key| (key.clone(), [b"v", key.as_slice()].concat())).collect();
            let mut wanted = records.clone();
            wanted.sort();
            prop_assert_eq!(sort(&folder, limit, &records), wanted);
            std::fs::remove_dir(folder).unwrap();
        }
    }

    #[test]
    fn many_files_are_merged_in_passes() {
        let folder = folder("passes");
        let records: Vec<_> =
            (0..5_000u32).rev().map(|i| (i.to_be_bytes().to_vec(), vec![i as u8])).collect();
        let found = sort(&folder, 100, &records);
        assert!(found.iter().rev().eq(&records));
        std::fs::remove_dir(folder).unwrap();
    }
}

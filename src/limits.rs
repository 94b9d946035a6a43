//! Every number that bounds something, with its reason.

/// Bytes that one read asks for, and so the usual size of a batch. Between 256 KiB and 2 MiB makes
/// no difference; more falls out of the second-level cache.
pub const READ_BYTES: usize = 512 * 1024;

/// With so many bytes at hand a batch is worth its while: a slower writer at the other end of a pipe
/// goes on while they are checked.
pub const ENOUGH_BYTES: usize = 64 * 1024;

/// Reads go to addresses that are multiples of this: the kernel copies to an odd address at a third
/// of the speed on some processors.
pub const READ_ALIGN: usize = 4096;

/// Levels of nesting a record may have; its own object is level 1 (contract, "JSON profile").
pub const DEPTH: usize = 128;

/// The default of `--max-record-bytes`: 256 MiB.
pub const RECORD_BYTES: usize = 256 * 1024 * 1024;

/// The largest `--max-record-bytes`: offsets within a record are kept in 32 bits, and the JSON
/// parser takes no more.
pub const RECORD_BYTES_CEILING: usize = u32::MAX as usize - 1024;

/// The default of `--max-documents-bytes`: 1 GiB.
pub const DOCUMENTS_BYTES: u64 = 1024 * 1024 * 1024;

/// So much longer than all documents may be, a line of their file may be: for names, and for what nobody reads.
pub const DOCUMENT_LINE_SLACK: u64 = 1024 * 1024;

/// Bytes of a document's line that a finding may carry for people to see.
pub const EVIDENCE_BYTES: usize = 240;

/// Occurrences of one boundary string that a finding lists; people read no more.
pub const EVIDENCE_MARKS: usize = 16;

/// Lines up to this length are searched without setting up a searcher.
pub const SHORT_LINE_BYTES: usize = 4096;

/// Contents from this length on are found and validated before the parser sees the record; for
/// shorter ones the detour costs more than it saves.
pub const LIFTED_BYTES: usize = 64;

/// Records from this length on are looked at for contents at all.
pub const LIFTED_FROM_BYTES: usize = 512;

/// After so many contents in a row that are too short, the rest of a record is not looked at.
pub const SHORT_CONTENTS: usize = 8;

/// So far after a content the next one is looked for at once.
pub const NEAR_BYTES: usize = 1024;

/// After a search further off that was in vain, so many records are not searched there.
pub const FAR_SEARCHES: u32 = 64;

/// From this length on a line is long: it is not unescaped or counted anew for each ref that names
/// it, and refs that name it are resolved together where they are many.
pub const LONG_LINE_BYTES: usize = 1024;

/// Texts up to this length have no index of lines: looking for a line takes less.
pub const SHORT_TEXT_BYTES: usize = 256;

/// A longer document whose coverage counts is unescaped and counted part by part, each of about this
/// length: a giant record then takes little more memory than it is long, and parts stay in near caches.
pub const WHOLE_TEXT_BYTES: usize = 256 * 1024;

/// So many boundaries on one long line are looked for together; one by one is faster for fewer.
pub const MANY_BOUNDARIES: usize = 32;

/// Bytes compared per byte of a line, for each class of lengths, before a search for many strings
/// changes to an automaton: text takes fewer, and so many take no longer than the automaton.
pub const FIND_MANY_STEPS: usize = 32;

/// States of one automaton of that search, or a quarter of the line's length if that is more: some
/// 130 MB at the first, and passes over the line in proportion to the strings' length.
pub const FIND_MANY_GROUP_BYTES: usize = 4 * 1024 * 1024;

/// Up to so many documents a path is looked up by comparing with each; beyond, by hashing.
pub const LINEAR_PATHS: usize = 16;

/// The default of `--max-diagnostics`: findings that a report for people shows in full.
pub const DIAGNOSTICS: usize = 20;

/// Finished batches that may wait for an earlier one, per thread: bounds the memory of a run in
/// which one record takes long.
pub const WAITING_BATCHES: u64 = 4;

/// Buffers that have grown beyond this for one giant record are given back after it.
pub const BUFFER_KEEP_BYTES: usize = 8 * 1024 * 1024;

/// The longest name of a group, in bytes; of a longer value its beginning and a hash are kept.
pub const GROUP_BYTES: usize = 256;

/// Groups that are told apart at one pointer; those that come first are kept.
pub const GROUPS: usize = 100_000;

/// Groups at one pointer that the tables show: those with the most records.
pub const GROUPS_SHOWN: usize = 1000;

/// Bins of the histogram of coverage per record.
pub const HISTOGRAM_BINS: usize = 20;

/// The default of `--max-listed`: records that each list of a comparison names.
pub const LISTED: usize = 100;

/// Bytes that a sort holds before it writes them to a temporary file. Some 30 MB a sort, of which two are
/// under way at a time, keep a comparison of any size under 150 MB.
pub const SORT_BYTES: usize = 32 * 1024 * 1024;

/// Temporary files that a sort merges at a time: enough for 2 GB in one pass, and far from what a process may
/// have open.
pub const SORT_FILES: usize = 64;

/// Bytes that are read at a time of each file that is merged.
pub const SORT_READ_BYTES: usize = 256 * 1024;

//! Records as few bytes, for the way through temporary files. Numbers are LEB128: most take one byte.

use super::line::Record;
use crate::summary::{Counted, GroupValue, Metric, RuleSet, Shares};
use crate::verdict::{Id, Share, Status};

/// An id as bytes: equal bytes mean equal ids.
pub(super) fn write_id(id: &Id, out: &mut Vec<u8>) {
    let (kind, text) = match id {
        Id::Text(text) => (b't', text),
        Id::Number(digits) => (b'n', digits),
    };
    out.push(kind);
    out.extend_from_slice(text.as_bytes());
}

/// The id that the bytes stand for.
pub(super) fn read_id(bytes: &[u8]) -> Option<Id> {
    let (kind, text) = bytes.split_first()?;
    let text = std::str::from_utf8(text).ok()?.to_owned();
    Some(if *kind == b't' { Id::Text(text) } else { Id::Number(text) })
}

/// Bytes with their length before them.
pub(super) fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_number(bytes.len() as u128, out);
    out.extend_from_slice(bytes);
}

/// The bytes that [`write_bytes`] wrote; `rest` then begins after them.
pub(super) fn read_bytes<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = read(rest)?;
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(bytes)
}

fn write_number(mut number: u128, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn read_number(rest: &mut &[u8]) -> Option<u128> {
    let (mut number, mut shift) = (0u128, 0);
    loop {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u128::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
}

fn read<T: TryFrom<u128>>(rest: &mut &[u8]) -> Option<T> {
    T::try_from(read_number(rest)?).ok()
}

/// A record without its id.
pub(super) fn write_record(record: &Record, out: &mut Vec<u8>) {
    let counted = &record.counted;
    let head = [counted.status as u128, record.file.into(), record.line.into(), counted.cluster.into()];
    head.into_iter().for_each(|number| write_number(number, out));
    write_number(counted.rules.bits(), out);
    write_number(counted.groups.len() as u128, out);
    for group in &counted.groups {
        match group {
            GroupValue::Absent => write_number(0, out),
            GroupValue::Unreadable => write_number(1, out),
            GroupValue::Is(value) => {
                write_number(2, out);
                write_bytes(value.as_bytes(), out);
            }
        }
    }
    write_shares(&counted.shares, out);
}

/// A bit for each metric that the record adds to, then what it adds.
fn write_shares(shares: &Shares, out: &mut Vec<u8>) {
    let is_there = |share: &Share| *share != Share::default();
    let there = shares.iter().rev().fold(0, |bits, share| bits << 1 | u128::from(is_there(share)));
    write_number(there, out);
    for share in shares.iter().filter(|share| is_there(share)) {
        write_number(share.part.into(), out);
        write_number(share.whole.into(), out);
    }
}

/// The record that [`write_record`] wrote, with an id.
pub(super) fn read_record(id: Option<Id>, rest: &mut &[u8]) -> Option<Record> {
    let status = match read_number(rest)? {
        0 => Status::Valid,
        1 => Status::Invalid,
        _ => Status::Malformed,
    };
    let (file, line, cluster) = (read(rest)?, read(rest)?, read(rest)?);
    let rules = RuleSet::from_bits(read_number(rest)?);
    let groups = (0..read_number(rest)?).map(|_| read_group(rest)).collect::<Option<_>>()?;
    let counted = Counted { status, shares: read_shares(rest)?, rules, groups, cluster };
    Some(Record { id, file, line, counted })
}

fn read_group(rest: &mut &[u8]) -> Option<GroupValue> {
    Some(match read_number(rest)? {
        0 => GroupValue::Absent,
        1 => GroupValue::Unreadable,
        _ => GroupValue::Is(String::from_utf8(read_bytes(rest)?.to_vec()).ok()?),
    })
}

fn read_shares(rest: &mut &[u8]) -> Option<Shares> {
    let mut shares = [Share::default(); Metric::ALL.len()];
    let there = read_number(rest)?;
    for (i, share) in shares.iter_mut().enumerate() {
        if there >> i & 1 == 1 {
            *share = Share { part: read(rest)?, whole: read(rest)? };
        }
    }
    Some(shares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Code, Lint, Rule};
    use proptest::prelude::*;

    #[test]
    fn numbers_of_every_length() {
        for number in [0, 1, 127, 128, 300, u128::from(u64::MAX), u128::MAX] {
            let mut out = Vec::new();
            write_number(number, &mut out);
            let rest = &mut out.as_slice();
            assert_eq!((read_number(rest), rest.is_empty()), (Some(number), true));
            assert_eq!(read_number(&mut &out[..out.len() - 1]), None);
        }
    }

    proptest! {
        #[test]
        fn a_record_comes_back(
            parts in proptest::collection::vec((0u64..3, 0u64..u64::MAX), Metric::ALL.len()),
            (file, line, cluster, bits) in (any::<u32>(), any::<u64>(), any::<u64>(), 0..4u8),
            groups in proptest::collection::vec(proptest::option::of("[a-c]{0,3}"), 0..3),
        ) {
            let mut shares = [Share::default(); Metric::ALL.len()];
            for (share, (part, whole)) in shares.iter_mut().zip(parts) {
                *share = if part == 0 { Share::default() } else { Share { part, whole } };
            }
            let mut rules = RuleSet::default();
            if bits & 1 == 1 {
                rules.insert(Rule::Code(Code::InvalidUtf8));
            }
            if bits & 2 == 2 {
                rules.insert(Rule::Lint(Lint::WeakSource));
            }
            let groups: Vec<GroupValue> = groups.into_iter().map(|value| value.map_or(GroupValue::Absent, |value| {
                if value.is_empty() { GroupValue::Unreadable } else { GroupValue::Is(value) }
            })).collect();
            let id = Id::Text(format!("é{line}"));
            let counted = Counted { status: Status::Invalid, shares, rules, groups, cluster };
            let record = Record { id: Some(id.clone()), file, line, counted };
            let (mut key, mut value) = (Vec::new(), Vec::new());
            write_id(&id, &mut key);
            write_record(&record, &mut value);
            let rest = &mut value.as_slice();
            prop_assert_eq!(read_record(read_id(&key), rest), Some(record));
            prop_assert!(rest.is_empty());
        }
    }
}

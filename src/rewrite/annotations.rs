//! A record without its invalid annotations, byte for byte as it was otherwise.

use crate::decode::json::locate_elements;
use crate::diagnostic::{Pointer, Rule, Segment};
use crate::verdict::RecordVerdict;
use std::ops::Range;

/// The record without the annotations that its verdict has an error of; `None` where there is no such error.
/// With an annotation goes the white space and the one comma between it and its neighbour.
pub(super) fn drop_invalid(raw: &[u8], verdict: &RecordVerdict) -> Option<Vec<u8>> {
    let (list, invalid) = invalid_annotations(verdict)?;
    let (array, elements) = locate_elements(raw, &list)?;
    Some(without(raw, &array, &elements, &invalid))
}

/// Where the annotations stand, and which of them are invalid, in their order. A denied lint makes the record
/// invalid and not the annotation.
fn invalid_annotations(verdict: &RecordVerdict) -> Option<(Pointer, Vec<usize>)> {
    let codes = verdict.errors.iter().filter(|error| matches!(error.rule, Rule::Code(_)));
    let places = codes.filter_map(|error| match error.pointer.segments() {
        [Segment::Name("annotations"), Segment::Index(i), ..] => Some((false, *i as usize)),
        [Segment::Name("session"), Segment::Name("annotations"), Segment::Index(i), ..] => {
            Some((true, *i as usize))
        }
        _ => None,
    });
    let places: Vec<(bool, usize)> = places.collect();
    let (in_session, _) = places.first()?;
    let list = if *in_session { Pointer::ROOT.name("session") } else { Pointer::ROOT };
    let mut invalid: Vec<usize> = places.into_iter().map(|(_, i)| i).collect();
    invalid.sort_unstable();
    invalid.dedup();
    Some((list.name("annotations"), invalid))
}

/// `raw` without some elements of an array: `invalid` are their places, in order.
fn without(raw: &[u8], array: &Range<usize>, elements: &[Range<usize>], invalid: &[usize]) -> Vec<u8> {
    if invalid.len() >= elements.len() {
        return [&raw[..array.start], b"[]", &raw[array.end..]].concat();
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut invalid = invalid.iter().copied().peekable();
    // What stands before an element is copied with it, but before the first that is kept it is what stood
    // before the first of all.
    let (mut from, mut is_first) = (elements.first().map_or(array.start, |first| first.start), true);
    out.extend_from_slice(&raw[..from]);
    for (i, element) in elements.iter().enumerate() {
        if invalid.next_if_eq(&i).is_none() {
            let start = if is_first { element.start } else { from };
            out.extend_from_slice(&raw[start..element.end]);
            is_first = false;
        }
        from = element.end;
    }
    out.extend_from_slice(&raw[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drop(text: &str, invalid: &[usize]) -> String {
        let pointer = Pointer::ROOT.name("annotations");
        let (array, elements) = locate_elements(text.as_bytes(), &pointer).unwrap();
        String::from_utf8(without(text.as_bytes(), &array, &elements, invalid)).unwrap()
    }

    #[test]
    fn one_comma_goes_with_an_element() {
        let text = "{ \"a\":1e400,\n \"annotat\\u0069ons\" : [ {\"x\":1} ,\t[2]\n, 3 ] , \"b\": [ ] }";
        let with = |array: &str| text.replace("[ {\"x\":1} ,\t[2]\n, 3 ]", array);
        assert_eq!(drop(text, &[]), text);
        assert_eq!(drop(text, &[0]), with("[ [2]\n, 3 ]"));
        assert_eq!(drop(text, &[1]), with("[ {\"x\":1}\n, 3 ]"));
        assert_eq!(drop(text, &[2]), with("[ {\"x\":1} ,\t[2] ]"));
        assert_eq!(drop(text, &[0, 1]), with("[ 3 ]"));
        assert_eq!(drop(text, &[1, 2]), with("[ {\"x\":1} ]"));
        assert_eq!(drop(text, &[0, 2]), with("[ [2] ]"));
        assert_eq!(drop(text, &[0, 1, 2]), with("[]"));
        assert_eq!(drop("{\"annotations\":[]}", &[]), "{\"annotations\":[]}");
    }

    proptest! {
        /// The twin: parsed, and without these elements.
        #[test]
        fn what_is_left_is_what_is_left_of_the_value(
            kept in proptest::collection::vec((any::<bool>(), "[ \t\r\n]{0,2}", "[ \t\r\n]{0,2}"), 0..7),
            around in ("[ \n]{0,3}", "[ \n]{0,3}"),
        ) {
            let element = |i: usize| format!("{{\"n\":{i},\"s\":\",]}}[{{\\\"\"}}");
            let list: Vec<String> = kept.iter().enumerate()
                .map(|(i, (_, before, after))| format!("{before}{}{after}", element(i))).collect();
            let blank = if list.is_empty() { around.1.as_str() } else { "" };
            let head = format!("{}{{\"o\":[1,[2]],\"annotations\":", around.0);
            let tail = format!(",\"z\":\"]\"}}{}", around.0);
            let text = format!("{head}[{blank}{}]{tail}", list.join(","));
            let invalid: Vec<usize> = kept.iter().enumerate().filter(|(_, (keep, ..))| !keep).map(|(i, _)| i).collect();
            let left = drop(&text, &invalid);
            prop_assert!(left.starts_with(&head) && left.ends_with(&tail), "{left}");
            let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let list = value["annotations"].as_array_mut().unwrap();
            let mut i = 0;
            list.retain(|_| { i += 1; kept[i - 1].0 });
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&left).unwrap(), value);
        }
    }
}

//! The fast reader and the careful one give the same verdict, whatever the record.

use proptest::collection::vec;
use proptest::prelude::*;
use sourcecheck::{Checker, RecordVerdict, Settings, write_verdict_to_string};

fn both(record: &[u8]) -> (RecordVerdict, RecordVerdict) {
    let fast = Checker::new(Settings::default()).check(record);
    let careful = Checker::new(Settings::default()).careful_only().check(record);
    (fast, careful)
}

/// JSON texts that stand where a value of any type may stand.
fn any_value() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("null"),
        Just("true"),
        Just("-0"),
        Just("0"),
        Just("1"),
        Just("1.0"),
        Just("2"),
        Just("3.5e1"),
        Just("1e400"),
        Just("-1e400"),
        Just("1e-400"),
        Just("18446744073709551616"),
        Just("99999999999999999999999999"),
        Just("1.5"),
        Just("0.3"),
        Just("\"\""),
        Just("\"a\""),
        Just("\"S1\""),
        Just("\"supports\""),
        Just("\"\\ud83d\\ude00\""),
        Just("\"\\ud83d\""),
        Just("\"\\u0000\\n\""),
        Just("\"é的\""),
        Just("\"answered\""),
        Just("[]"),
        Just("{}"),
    ];
    let deep = (0usize..132)
        .prop_map(|n| "[".repeat(n) + &"]".repeat(n))
        .prop_map(|text| if text.is_empty() { "1".to_owned() } else { text });
    prop_oneof![20 => scalar.prop_map(str::to_owned), 1 => deep]
}

/// A string literal that is often the right one.
fn string(right: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![12 => prop::sample::select(right).prop_map(|s| format!("\"{s}\"")), 1 => any_value()]
}

fn number(right: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![12 => prop::sample::select(right).prop_map(str::to_owned), 1 => any_value()]
}

/// An object from members that are there or not, twice or in another order, with others between.
fn object(members: Vec<(&'static str, BoxedStrategy<String>)>) -> BoxedStrategy<String> {
    let member = |(name, value): (&'static str, BoxedStrategy<String>)| {
        (value, 0..40u8).prop_map(move |(value, fate)| match fate {
            0 => String::new(),
            1 => format!("\"{name}\":{value},\"{name}\":{value}"),
            2 => format!("\"x\":{value},\"{name}\" : {value}"),
            3 => format!("\"\\u{:04x}{}\":{value}", name.as_bytes()[0], &name[1..]),
            _ => format!("\"{name}\":{value}"),
        })
    };
    let members: Vec<_> = members.into_iter().map(member).collect();
    let others = vec(any_value().prop_map(|value| format!("\"other\":{value}")), 0..3);
    (members, others, any::<u64>())
        .prop_map(|(mut members, others, order)| {
            members.extend(others);
            members.retain(|member| !member.is_empty());
            if order % 4 == 0 && !members.is_empty() {
                let by = order as usize / 4 % members.len();
                members.rotate_left(by);
            }
            format!("{{{}}}", members.join(","))
        })
        .boxed()
}

fn list(item: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let right = vec(item, 0..4).prop_map(|items| format!("[{}]", items.join(",")));
    prop_oneof![20 => right, 1 => any_value()].boxed()
}

fn boundary() -> BoxedStrategy<String> {
    let str = string(&["cat", "the", "mat", "é", "\\ud83d\\ude00", "warm", ""]);
    object(vec![("line", number(&["1", "1", "2", "2.0", "9"]).boxed()), ("str", str.boxed())])
}

fn reference(more: bool) -> BoxedStrategy<String> {
    let mut members =
        vec![("path", string(&["a", "a", "b", "c"]).boxed()), ("start", boundary()), ("end", boundary())];
    if more {
        members.push(("polarity", string(&["supports", "refutes"]).boxed()));
        members.push(("confidence", number(&["0.9", "1", "0", "0.25", "1.0", "0.1234567895"]).boxed()));
    }
    object(members)
}

fn session() -> BoxedStrategy<String> {
    let content = string(&["the cat sat on the mat\\nit was warm", "é \\ud83d\\ude00\\ncat", "", "a\\r\\nb"]);
    let document = object(vec![("path", string(&["a", "b", "c"]).boxed()), ("content", content.boxed())]);
    let annotation = object(vec![("claim", reference(false)), ("sources", list(reference(true)))]);
    let (documents, annotations) = (list(document), list(annotation));
    let inside = object(vec![("documents", documents.clone()), ("annotations", annotations.clone())]);
    prop_oneof![
        4 => object(vec![("id", any_value().boxed()), ("documents", documents.clone()), ("annotations", annotations.clone())]),
        1 => object(vec![("session", inside)]),
        1 => object(vec![("session", object(vec![("documents", documents)])), ("annotations", annotations), ("id", any_value().boxed())]),
    ]
    .boxed()
}

fn answer() -> BoxedStrategy<String> {
    let text = string(&["Warm [S1].", "A [S1][S2]. B.", "None.", " ", "x [S٣]"]);
    let citations = list(string(&["S1", "S2", "S1"]).boxed());
    let form = vec![
        ("status", string(&["answered", "insufficient"]).boxed()),
        ("answer", text.boxed()),
        ("citations", citations),
    ];
    let source = object(vec![
        ("marker", string(&["S1", "S2", "S3", "s1"]).boxed()),
        ("chunk_id", string(&["c1", "c2"]).boxed()),
        ("document_id", string(&["d"]).boxed()),
        ("title", any_value().boxed()),
    ]);
    let context = object(vec![("sources", list(source))]);
    let output = object(form.clone()).prop_map(|form| format!("{form:?}"));
    let mut members = form;
    members.push(("context", context.clone()));
    prop_oneof![3 => object(members), 1 => object(vec![("output", output.boxed()), ("context", context)])]
        .boxed()
}

fn record() -> BoxedStrategy<String> {
    prop_oneof![3 => session(), 2 => answer(), 1 => any_value()].boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8000))]

    #[test]
    fn on_records_of_every_shape(record in record()) {
        let (fast, careful) = both(record.as_bytes());
        prop_assert_eq!(write_verdict_to_string("f", &fast), write_verdict_to_string("f", &careful));
        prop_assert_eq!(fast, careful);
    }

    #[test]
    fn on_mutated_records(record in record(), edits in vec((any::<prop::sample::Index>(), 0..4u8, any::<u8>()), 1..4)) {
        let mut bytes = record.into_bytes();
        for (place, edit, byte) in edits {
            if bytes.is_empty() { break; }
            let at = place.index(bytes.len());
            match edit {
                0 => { bytes.remove(at); }
                1 => bytes.insert(at, byte),
                2 => bytes[at] = byte,
                _ => bytes.truncate(at),
            }
        }
        let (fast, careful) = both(&bytes);
        prop_assert_eq!(fast, careful);
    }

    /// Members that nobody reads, however many, change nothing.
    #[test]
    fn unread_members_change_nothing(record in session(), values in vec(any_value(), 0..40)) {
        prop_assume!(record.len() > 2);
        let plain = both(record.as_bytes()).0;
        let mut more = String::from("{");
        for (i, value) in values.iter().filter(|value| !value.contains("ud83d\"") && value.len() < 200).enumerate() {
            more.push_str(&format!("\"unread{}\":{value},", i % 9));
        }
        more.push_str(&record[1..]);
        let (fast, careful) = both(more.as_bytes());
        prop_assert_eq!(&fast, &careful);
        // A fault of the text itself has another place now.
        if plain.errors.iter().all(|error| error.offset.is_none()) {
            prop_assert_eq!(write_verdict_to_string("f", &fast), write_verdict_to_string("f", &plain));
        }
    }

    /// Both readers round decimals to the same double.
    #[test]
    fn on_confidences(digits in "[01]\\.[0-9]{1,25}", exponent in -20i32..3) {
        let record = |confidence: &str| format!(
            "{{\"documents\":[{{\"path\":\"a\",\"content\":\"x\"}}],\"annotations\":[{{\"claim\":{{\"path\":\"a\",\"start\":{{\"line\":1,\"str\":\"x\"}},\"end\":{{\"line\":1,\"str\":\"x\"}}}},\"sources\":[{{\"path\":\"a\",\"start\":{{\"line\":1,\"str\":\"x\"}},\"end\":{{\"line\":1,\"str\":\"x\"}},\"polarity\":\"supports\",\"confidence\":{confidence}}}]}}]}}"
        );
        for confidence in [digits.clone(), format!("{digits}e{exponent}")] {
            let (fast, careful) = both(record(&confidence).as_bytes());
            prop_assert_eq!(fast, careful, "{}", confidence);
        }
    }
}

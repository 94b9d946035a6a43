//! The fast reader and the careful one give the same verdict, whatever the record.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use sourcecheck::{
    Boundary, Checker, Facts, Key, Keys, LineNumber, RecordVerdict, Ref, Settings, resolve_ref,
    write_verdict_to_string,
};

/// The verdicts of both readers, with what people would see of each error. What a run may be grouped by
/// is held to be the same on the way.
fn both(record: &[u8]) -> (RecordVerdict, RecordVerdict) {
    let check = |settings: &Settings| {
        let checker = || Checker::new(settings.clone()).with_evidence(3);
        (checker().check(record), checker().careful_only().check(record))
    };
    let (fast, careful) = check(&grouped());
    assert_eq!(fast, careful, "grouped: {}", String::from_utf8_lossy(record));
    check(&Settings::default())
}

/// Groups by members of every type, contents that the fast reader does not unescape among them.
fn grouped() -> Settings {
    let key = |text| Key::parse(text).unwrap();
    let groups = ["/x", "/id", "/documents", "/documents/0/content", "/session/documents/1/content"];
    let more =
        ["/annotations/0/sources/0/confidence", "/context/sources/0", "/answer", "/documents/0/path/x"];
    let groups = groups.into_iter().chain(more).map(key).collect();
    let keys = Keys { id: key("/annotations/0/claim/start/line"), groups, cluster: Some(key("/status")) };
    Settings { keys, ..Settings::default() }
}

fn json(verdict: &RecordVerdict) -> String {
    write_verdict_to_string("f", verdict)
}

/// JSON texts of every type, some of them hard to read.
const VALUES: &[&str] = &[
    "null",
    "true",
    "-0",
    "0",
    "1",
    "1.0",
    "2",
    "3.5e1",
    "1E+0",
    "10e-1",
    "1e400",
    "-1e400",
    "1e-400",
    "1.5",
    "0.3",
    "18446744073709551616",
    "99999999999999999999999999",
    "0.30000000000000004",
    "\"\"",
    "\"a\"",
    "\"S1\"",
    "\"supports\"",
    "\"answered\"",
    "\"é的\"",
    "\"\\ud83d\\ude00\"",
    "\"\\uD83D\\uDE00\"",
    "\"\\u0000\\n\"",
    "\"\\/\\b\\f\\r\\t\\\\\\\"\"",
    "\"\\u005B\"",
    "\"\\uffff\"",
    "[]",
    "{}",
    "[{\"a\":[1,{}]},null]",
];

/// Texts that are no JSON, or not under the profile.
const FAULTS: &[&str] = &[
    "\"\\ud83d\"",
    "\"\\ude00\\ud83d\"",
    "\"\\ud83dx\"",
    "\"\\ud83d\\u0041\"",
    "\"\\u12\"",
    "\"\\x41\"",
    "\"a\tb\"",
    "\"a\u{0}b\"",
    "NaN",
    "01",
    "-",
    "+1",
    ".5",
    "1.",
    "1e",
    "tru",
    "'a'",
    "[1,]",
    "{,}",
    "{\"a\"}",
    "",
    "/**/1",
];

/// JSON that may stand in a record where nobody reads it.
fn valid_value() -> impl Strategy<Value = String> {
    let deep = (1usize..100).prop_map(|n| "[".repeat(n) + &"]".repeat(n));
    prop_oneof![30 => select(VALUES).prop_map(str::to_owned), 1 => deep]
}

/// What may stand where a value of any type may: JSON, faults, and nesting on both sides of the limit.
fn any_value() -> impl Strategy<Value = String> {
    let deep = (118usize..132).prop_map(|n| "{\"a\":".repeat(n - 1) + "{}" + &"}".repeat(n - 1));
    prop_oneof![150 => valid_value(), 2 => select(FAULTS).prop_map(str::to_owned), 1 => deep]
}

/// A string literal that is often the right one.
fn string(right: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![12 => select(right).prop_map(|s| format!("\"{s}\"")), 1 => any_value()]
}

fn number(right: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![12 => select(right).prop_map(str::to_owned), 1 => any_value()]
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
    // Beyond 32 members the fast parser looks names up in another way.
    let count = prop_oneof![40 => 0..3usize, 1 => 28..41usize];
    let names = select(&["other", "é", "", "note", "\\u006fther"][..]);
    let other = (names, any_value()).prop_map(|(name, value)| format!("\"{name}\":{value}")).boxed();
    let others = count.prop_flat_map(move |count| vec(other.clone(), count));
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

/// What long contents are made of, as JSON writes it.
const PIECES: &[&str] = &[
    "the cat sat ",
    "on the mat",
    "\\n",
    "\\n\\n",
    "\\u000a",
    "\\u000A",
    "\\\"",
    "\\\\",
    "\\r\\n",
    "\\t",
    "\\/",
    "é",
    "\\u00e9",
    "的。",
    "😀",
    "\\ud83d\\ude00",
    "Warm. Yes! ",
    "\\u0000",
    "x",
    "\\\\\\\"",
];

/// A content that is long enough to be taken out of the record before it is parsed, now and then one that
/// is no JSON, or in which one line is long.
fn long_content() -> BoxedStrategy<String> {
    let pieces = |count| vec(select(PIECES), count).prop_map(|pieces| pieces.concat());
    let faults = select(&["\\x", "\\ud83d", "\\ude00\\ud83d", "\\u12", "\t", "\"", "\\"][..]);
    let faulty = (pieces(10..30), faults, pieces(10..30)).prop_map(|(a, fault, b)| format!("{a}{fault}{b}"));
    let long = (pieces(0..9), 60usize..200).prop_map(|(piece, times)| piece.replace("\\n", "").repeat(times));
    prop_oneof![20 => pieces(10..60), 1 => faulty, 3 => (pieces(5..9), long).prop_map(|(a, b)| a + "\\n" + &b)].boxed()
}

/// A session with long contents, many refs into them, and others between.
fn long_session() -> BoxedStrategy<String> {
    let str = select(
        &[
            "cat",
            "the cat",
            "mat",
            "é",
            "\\u00e9",
            "😀",
            "\\ud83d\\ude00",
            "x",
            "\\\"",
            "\\\\",
            "\\n",
            "。",
            "W",
            "\\u0000",
            "sat \\u006f",
        ][..],
    );
    let boundary = (0..9u8, str).prop_map(|(line, str)| format!("{{\"line\":{line},\"str\":\"{str}\"}}"));
    let reference = (select(&["a", "b", "b", "c"][..]), boundary.clone(), boundary)
        .prop_map(|(path, start, end)| format!("\"path\":\"{path}\",\"start\":{start},\"end\":{end}"));
    let annotation = (reference.clone(), reference).prop_map(|(claim, source)| {
        format!("{{\"claim\":{{{claim}}},\"sources\":[{{{source},\"polarity\":\"supports\",\"confidence\":0.5}}]}}")
    });
    let between = select(
        &[
            "",
            "\"x\":\"\\\"content\\\":\\\"\",",
            "\"content\":[],",
            "\"m\":{\"content\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"},",
        ][..],
    );
    (long_content(), long_content(), vec(annotation, 0..60), between, any::<bool>())
        .prop_map(|(a, b, annotations, between, last)| {
            let documents = format!(
                "{between}\"documents\":[{{\"path\":\"a\",\"content\":\"{a}\"}},{{\"content\" : \"{b}\",\"path\":\"b\"}}]"
            );
            let annotations = format!("\"annotations\":[{}]", annotations.join(","));
            if last { format!("{{{annotations},{documents}}}") } else { format!("{{{documents},{annotations}}}") }
        })
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
    let output = (object(form.clone()), any::<bool>()).prop_map(|(form, fenced)| {
        serde_json::to_string(&if fenced { format!("```json\n{form}\n```") } else { form }).unwrap()
    });
    let mut members = form;
    members.push(("context", context.clone()));
    prop_oneof![3 => object(members), 1 => object(vec![("output", output.boxed()), ("context", context)])]
        .boxed()
}

fn record() -> BoxedStrategy<String> {
    prop_oneof![3 => session(), 2 => answer(), 1 => any_value()].boxed()
}

/// The parts of an object's or array's text, between its outer brackets, at its own commas.
fn parts(text: &str) -> Vec<&str> {
    let inside = &text[1..text.len() - 1];
    let (mut parts, mut start) = (Vec::new(), 0);
    for comma in outside_strings(inside, b',') {
        parts.push(&inside[start..comma]);
        start = comma + 1;
    }
    parts.push(&inside[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Where a byte stands in JSON text, outside strings and brackets.
fn outside_strings(text: &str, wanted: u8) -> Vec<usize> {
    let (mut found, mut depth, mut in_string, mut escaped) = (Vec::new(), 0, false, false);
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            _ if byte == wanted && depth == 0 => found.push(i),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    found
}

/// The same JSON with the members of every object in another order.
fn shuffled(text: &str, random: &mut fastrand::Rng) -> String {
    let text = text.trim();
    if text.starts_with('[') {
        let items: Vec<String> = parts(text).iter().map(|item| shuffled(item, random)).collect();
        return format!("[{}]", items.join(","));
    }
    if !text.starts_with('{') {
        return text.to_owned();
    }
    let mut member = |member: &&str| {
        let (name, value) = member.split_at(outside_strings(member, b':')[0]);
        format!("{}:{}", name.trim(), shuffled(&value[1..], random))
    };
    let mut members: Vec<String> = parts(text).iter().map(&mut member).collect();
    random.shuffle(&mut members);
    format!("{{{}}}", members.join(","))
}

#[test]
fn shuffling_keeps_every_member() {
    let text = r#"{"a":[{"b":"}\",","c":{}},[]] , "d":"{\"" ,"a":1}"#;
    let shuffled = shuffled(text, &mut fastrand::Rng::with_seed(3));
    assert_ne!(shuffled, text);
    let (mut before, mut after): (Vec<_>, Vec<_>) = (text.bytes().collect(), shuffled.bytes().collect());
    before.retain(|byte| *byte != b' ');
    before.sort_unstable();
    after.sort_unstable();
    assert_eq!(before, after);
}

fn mutated(record: String, edits: Vec<(Index, u8, u8)>) -> Vec<u8> {
    let mut bytes = record.into_bytes();
    for (place, edit, byte) in edits {
        if bytes.is_empty() {
            break;
        }
        let at = place.index(bytes.len());
        match edit {
            0 => drop(bytes.remove(at)),
            1 => bytes.insert(at, byte),
            2 => bytes[at] = byte,
            _ => bytes.truncate(at),
        }
    }
    bytes
}

/// Bytes as they come, and more often those that mean something to a JSON reader.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![any::<u8>(), select(&b"{}[]\",:\\u0129eE+-. \t\r\n\x00\x7f\xed\xf4\xbb"[..])]
}

/// A session whose one source has this confidence.
fn with_confidence(confidence: &str) -> String {
    let x = r#""path":"a","start":{"line":1,"str":"x"},"end":{"line":1,"str":"x"}"#;
    format!(
        "{{\"documents\":[{{\"path\":\"a\",\"content\":\"x\"}}],\"annotations\":[{{\"claim\":{{{x}}},\
         \"sources\":[{{{x},\"polarity\":\"supports\",\"confidence\":{confidence}}}]}}]}}"
    )
}

/// A confidence in units of 1e-9, as the standard library rounds it: exactly, half to even.
fn billionths(confidence: &str) -> Option<u64> {
    let value: f64 = confidence.parse().ok()?;
    (0.0..=1.0).contains(&value).then(|| format!("{value:.9}").replace('.', "").parse().ok())?
}

/// Whether a fault of the text itself was found: its place moves with the text.
fn is_about_bytes(verdict: &RecordVerdict) -> bool {
    verdict.errors.iter().any(|error| error.offset.is_some())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8000))]

    #[test]
    fn on_records_of_every_shape(record in record()) {
        let (fast, careful) = both(record.as_bytes());
        prop_assert_eq!(json(&fast), json(&careful));
        prop_assert_eq!(fast, careful);
    }

    #[test]
    fn on_long_contents(record in long_session()) {
        let (fast, careful) = both(record.as_bytes());
        prop_assert_eq!(json(&fast), json(&careful));
        prop_assert_eq!(fast, careful);
    }

    /// Many refs into one long line are resolved together, and come out as each does alone.
    #[test]
    fn many_refs_into_one_line_resolve_as_each_alone(
        words in vec(select(&["cat", "é", "的", "sat on", "x", "aaa", "😀"][..]), 300..600),
        cuts in vec((any::<Index>(), 1usize..12, any::<Index>(), 1usize..12), 20..60),
    ) {
        let line: Vec<char> = words.join(" ").chars().collect();
        let cut = |at: &Index, len: usize| -> String { line.iter().skip(at.index(line.len())).take(len).collect() };
        let strs: Vec<(String, String)> =
            cuts.iter().map(|(a, n, b, m)| (cut(a, *n), cut(b, *m))).collect();
        let content = format!("first\n{}", line.iter().collect::<String>());
        let boundary = |str: &str| serde_json::json!({"line": 2, "str": str});
        let annotations: Vec<_> = strs.iter().map(|(start, end)| {
            let (start, end) = (boundary(start), boundary(end));
            serde_json::json!({"claim": {"path": "a", "start": start, "end": end},
                "sources": [{"path": "a", "start": start, "end": end, "polarity": "supports", "confidence": 1}]})
        }).collect();
        let record = serde_json::json!({"documents": [{"path": "a", "content": content}], "annotations": annotations});
        let verdict = both(record.to_string().as_bytes()).0;
        let alone = strs.iter().filter(|(start, end)| {
            let boundary = |str| Boundary { line: LineNumber::Small(2), str };
            resolve_ref(&content, &Ref { path: "a", start: boundary(start), end: boundary(end) }).is_ok()
        }).count() as u64;
        let Some(Facts::Session(facts)) = verdict.facts else { panic!("a session") };
        prop_assert_eq!((facts.refs.part, facts.refs.whole), (2 * alone, 2 * strs.len() as u64));
    }

    #[test]
    fn on_mutated_long_contents(record in long_session(), edits in vec((any::<Index>(), 0..4u8, byte()), 1..4)) {
        let (fast, careful) = both(&mutated(record, edits));
        prop_assert_eq!(json(&fast), json(&careful));
        prop_assert_eq!(fast, careful);
    }

    #[test]
    fn on_mutated_records(record in record(), edits in vec((any::<Index>(), 0..4u8, byte()), 1..4)) {
        let (fast, careful) = both(&mutated(record, edits));
        prop_assert_eq!(json(&fast), json(&careful));
        prop_assert_eq!(fast, careful);
    }

    /// The order of members means nothing.
    #[test]
    fn the_order_of_members_changes_nothing(record in prop_oneof![session(), answer()], seed in any::<u64>()) {
        let plain = both(record.as_bytes()).0;
        if is_about_bytes(&plain) {
            return Ok(()); // no JSON, so there is nothing to shuffle
        }
        let other = shuffled(&record, &mut fastrand::Rng::with_seed(seed));
        let (fast, careful) = both(other.as_bytes());
        prop_assert_eq!(&fast, &careful);
        prop_assert_eq!(json(&fast), json(&plain), "{}", other);
    }

    /// Members that nobody reads, however many, change nothing.
    #[test]
    fn unread_members_change_nothing(
        record in prop_oneof![session(), answer()], values in vec(valid_value(), 0..41)
    ) {
        prop_assume!(record.len() > 2);
        let plain = both(record.as_bytes()).0;
        let members = values.iter().enumerate().map(|(i, value)| format!("\"unread{}\":{value},", i % 37));
        let more = format!("{{{}{}", members.collect::<String>(), &record[1..]);
        let (fast, careful) = both(more.as_bytes());
        prop_assert_eq!(&fast, &careful);
        if !is_about_bytes(&plain) {
            prop_assert_eq!(json(&fast), json(&plain));
        }
    }

    /// Both readers round decimals to the same double, and to the same unit of 1e-9.
    #[test]
    fn on_confidences(
        digits in prop_oneof![8 => "[01]\\.[0-9]{1,25}", 4 => "0\\.[0-9]{9}5", 1 => "0\\.[0-9]{300,800}"],
        exponent in -20i32..3
    ) {
        for confidence in [digits.clone(), format!("{digits}e{exponent}"), format!("{digits}E-0{}", exponent.abs())] {
            let (fast, careful) = both(with_confidence(&confidence).as_bytes());
            prop_assert_eq!(&fast, &careful, "{}", confidence);
            let sum = match fast.facts {
                Some(Facts::Session(facts)) => Some(facts.confidence),
                _ => None,
            };
            prop_assert_eq!(sum, billionths(&confidence), "{}", confidence);
        }
    }
}

//! The shape of an answer record (contract, section 3).

use super::json::read_carefully;
use super::node::Node;
use super::tree::Tree;
use super::{Field, Findings, Lists, members, required, required_items, required_object, required_string};
use crate::diagnostic::{At, Code, Expected};
use crate::model::{Answer, AnswerStatus, ContextSource, Names};
use crate::text::{is_json_white_space, is_white_space};
use std::cell::OnceCell;

/// The members of an answer record. `form` is `status`, `answer`, `citations`.
pub(super) struct AnswerFields<N> {
    pub(super) form: [Field<N>; 3],
    pub(super) output: Field<N>,
    pub(super) context: Field<N>,
}

/// What the model said, whichever form it came in.
struct Form<'r> {
    status: AnswerStatus,
    answer: &'r str,
}

/// Reads an answer; `None` where something of it is missing, which `findings` then says.
pub(super) fn answer<'r, N: Node<'r>>(
    fields: &AnswerFields<N>,
    inner: &'r OnceCell<Tree<'r>>,
    mut lists: Lists<'r>,
    findings: &mut Findings,
) -> Option<Answer<'r>> {
    let at = &At::ROOT;
    let in_output = !fields.output.is_absent();
    let form = if !in_output {
        read_form(&fields.form, at, &mut lists.citations, findings)
    } else if fields.form.iter().all(Field::is_absent) {
        read_output(&fields.output, inner, &at.name("output"), &mut lists.citations, findings)
    } else {
        findings.error(Code::ConflictingFields, &at.name("output"));
        None
    };
    read_context(&fields.context, &at.name("context"), &mut lists.context, findings);
    let Form { status, answer } = form?;
    Some(Answer { status, answer, citations: lists.citations, sources: lists.context, in_output })
}

/// The model's raw text: one JSON object, trimmed, and taken out of one Markdown fence.
fn read_output<'r, N: Node<'r>>(
    field: &Field<N>,
    inner: &'r OnceCell<Tree<'r>>,
    at: &At<'_>,
    citations: &mut Vec<&'r str>,
    findings: &mut Findings,
) -> Option<Form<'r>> {
    let output = required_string(field, at, findings)?;
    let object = read_carefully(unfence(output).as_bytes()).ok().map(|tree| inner.get_or_init(|| tree));
    let form =
        object.and_then(|tree| members!(tree; status = "status", answer = "answer", list = "citations"));
    let Some((status, answer, list)) = form else {
        findings.error(Code::OutputNotJson, at);
        return None;
    };
    read_form(&[status, answer, list], at, citations, findings)
}

/// Takes one Markdown fence from around all of the text: a first line of three backticks, optionally
/// `json` or `JSON`, and blanks; three backticks at the end.
fn unfence(output: &str) -> &str {
    let trimmed = output.trim_matches(|c: char| c.is_ascii() && is_json_white_space(c as u8));
    let inside = || {
        let (first, rest) = trimmed.strip_prefix("```")?.split_once('\n')?;
        let blanks = first.strip_prefix("json").or_else(|| first.strip_prefix("JSON")).unwrap_or(first);
        let blank = blanks.bytes().all(|b| matches!(b, b' ' | b'\t' | b'\r'));
        rest.strip_suffix("```").filter(|_| blank)
    };
    inside().unwrap_or(trimmed)
}

fn read_form<'r, N: Node<'r>>(
    [status, answer, citations]: &[Field<N>; 3],
    at: &At<'_>,
    list: &mut Vec<&'r str>,
    findings: &mut Findings,
) -> Option<Form<'r>> {
    let status = read_status(status, &at.name("status"), findings);
    let answer = read_answer(answer, &at.name("answer"), findings);
    let at = at.name("citations");
    for (i, item) in required_items(citations, &at, findings).into_iter().flatten().enumerate() {
        match item.string() {
            Some(marker) => list.push(marker),
            None => findings.wrong_type(Expected::String, item, &at.index(i)),
        }
    }
    Some(Form { status: status?, answer: answer? })
}

fn read_status<'r, N: Node<'r>>(
    field: &Field<N>,
    at: &At<'_>,
    findings: &mut Findings,
) -> Option<AnswerStatus> {
    match required_string(field, at, findings)? {
        "answered" => Some(AnswerStatus::Answered),
        "insufficient" => Some(AnswerStatus::Insufficient),
        _ => {
            findings.error(Code::UnknownStatus, at);
            None
        }
    }
}

fn read_answer<'r, N: Node<'r>>(field: &Field<N>, at: &At<'_>, findings: &mut Findings) -> Option<&'r str> {
    let answer = required_string(field, at, findings)?;
    if answer.chars().all(is_white_space) {
        findings.error(Code::EmptyAnswer, at);
        return None;
    }
    Some(answer)
}

fn read_context<'r, N: Node<'r>>(
    field: &Field<N>,
    at: &At<'_>,
    list: &mut Vec<ContextSource<'r>>,
    findings: &mut Findings,
) {
    let Some(context) = required(field, at, findings) else { return };
    let found = members!(context; sources = "sources");
    let Some(sources) = required_object(context, found, at, findings) else { return };
    let at = at.name("sources");
    let mut markers = Names::default();
    for (i, item) in required_items(&sources, &at, findings).into_iter().flatten().enumerate() {
        list.extend(read_source(item, &mut markers, &at.index(i), findings));
    }
}

fn read_source<'r, N: Node<'r>>(
    item: N,
    markers: &mut Names<'r>,
    at: &At<'_>,
    findings: &mut Findings,
) -> Option<ContextSource<'r>> {
    let found = members!(item; marker = "marker", chunk_id = "chunk_id", document_id = "document_id",
        title = "title", source_path = "source_path", source_url = "source_url", text = "text");
    let (marker, chunk_id, document_id, title, source_path, source_url, text) =
        required_object(item, found, at, findings)?;
    let marker = read_marker(&marker, markers, &at.name("marker"), findings);
    let chunk_id = required_string(&chunk_id, &at.name("chunk_id"), findings);
    let document_id = required_string(&document_id, &at.name("document_id"), findings);
    let title = optional_string(&title, &at.name("title"), findings);
    let source_path = optional_string(&source_path, &at.name("source_path"), findings);
    let source_url = optional_string(&source_url, &at.name("source_url"), findings);
    let text = optional_string(&text, &at.name("text"), findings);
    Some(ContextSource {
        marker: marker?,
        chunk_id: chunk_id?,
        document_id: document_id?,
        title,
        source_path,
        source_url,
        text,
    })
}

fn read_marker<'r, N: Node<'r>>(
    field: &Field<N>,
    markers: &mut Names<'r>,
    at: &At<'_>,
    findings: &mut Findings,
) -> Option<&'r str> {
    let marker = required_string(field, at, findings)?;
    let valid =
        marker.strip_prefix('S').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    if !valid {
        findings.error(Code::InvalidMarker, at);
    } else if !markers.insert(marker) {
        findings.error(Code::DuplicateMarker, at);
    }
    Some(marker)
}

/// A string, null or nothing.
fn optional_string<'r, N: Node<'r>>(
    field: &Field<N>,
    at: &At<'_>,
    findings: &mut Findings,
) -> Option<&'r str> {
    let node = match field {
        Field::Absent => return None,
        Field::Once(node) => *node,
        Field::Twice => {
            findings.error(Code::DuplicateField, at);
            return None;
        }
    };
    let string = node.string();
    if string.is_none() && node.json_type() != crate::diagnostic::JsonType::Null {
        findings.wrong_type(Expected::StringOrNull, node, at);
    }
    string
}

#[cfg(test)]
mod tests {
    use super::unfence;

    #[test]
    fn one_fence_around_all_of_it() {
        for text in ["{}", " \r\n{}\t", "```\n{}\n```", "```json\n{}```", " ```JSON \t\r\n{}\n``` "] {
            assert_eq!(unfence(text).trim(), "{}", "{text:?}");
        }
        for text in [
            "```js\n{}\n```",
            "``` {} ```",
            "```json {}```",
            "Here:\n```json\n{}\n```",
            "```\n{}\n``` ok",
            "```\n```json\n{}\n```\n```",
        ] {
            assert_ne!(unfence(text).trim(), "{}", "{text:?}");
        }
        assert_eq!(unfence("```json\n```"), "");
        assert_eq!(unfence("\u{a0}{}"), "\u{a0}{}");
    }
}

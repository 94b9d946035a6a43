//! The shape of a session record (contract, section 2).

use super::node::{Contents, Node, Number, UsualBoundary, UsualRef};
use super::{Field, Findings, Lists, members, required, required_items, required_object, required_string};
use crate::diagnostic::{At, Code, Detail, Diagnostic, Expected};
use crate::model::{
    Annotation, Boundary, Content, Document, LineNumber, Paths, Polarity, Ref, Session, SessionPlace,
    SourceRef,
};
use crate::shared::SharedDocuments;

/// The members of a session record, as they were found at its top.
pub(super) struct SessionFields<N> {
    pub(super) documents: Field<N>,
    pub(super) annotations: Field<N>,
    pub(super) session: Field<N>,
}

/// Reads a session. What it returns is whole only where `findings` has no error.
pub(super) fn session<'r, N: Node<'r>>(
    fields: &SessionFields<N>,
    contents: &impl Contents<'r>,
    shared: Option<&SharedDocuments>,
    lists: Lists<'r>,
    findings: &mut Findings,
) -> Session<'r> {
    let Lists { documents, annotations, sources, .. } = lists;
    let mut session =
        Session { documents, annotations, sources, place: SessionPlace::default(), paths: Paths::default() };
    let root = At::ROOT;
    let inside = root.name("session");
    let (inner_documents, inner_annotations) = match fields.session {
        Field::Absent => (Field::Absent, Field::Absent),
        Field::Twice => {
            findings.error(Code::DuplicateField, &inside);
            return session;
        }
        Field::Once(node) => {
            let found = members!(node; documents = "documents", annotations = "annotations");
            match required_object(node, found, &inside, findings) {
                Some(found) => found,
                None => return session,
            }
        }
    };
    let missing_in = if fields.session.is_absent() { &root } else { &inside };
    let may_be_absent = shared.is_some() && fields.documents.is_absent() && inner_documents.is_absent();
    if !may_be_absent
        && let Some((list, parent)) =
            choose(fields.documents, inner_documents, &root, &inside, missing_in, "documents", findings)
    {
        session.place.documents_in_session = std::ptr::eq(parent, &inside);
        read_documents(&list, contents, shared, &parent.name("documents"), &mut session, findings);
    }
    if let Some((list, parent)) =
        choose(fields.annotations, inner_annotations, &root, &inside, &root, "annotations", findings)
    {
        session.place.annotations_in_session = std::ptr::eq(parent, &inside);
        read_annotations(&list, &parent.name("annotations"), &mut session, findings);
    }
    session
}

/// The one place where a list stands, and what holds it there. In both places: an error at the
/// top-level one, and neither is looked at further.
fn choose<'a, N>(
    top: Field<N>,
    inner: Field<N>,
    root: &'a At<'a>,
    inside: &'a At<'a>,
    missing_in: &At<'_>,
    name: &'static str,
    findings: &mut Findings,
) -> Option<(Field<N>, &'a At<'a>)> {
    match (top.is_absent(), inner.is_absent()) {
        (false, true) => Some((top, root)),
        (true, false) => Some((inner, inside)),
        (false, false) => {
            findings.error(Code::ConflictingFields, &root.name(name));
            None
        }
        (true, true) => {
            findings.error(Code::MissingField, &missing_in.name(name));
            None
        }
    }
}

fn read_documents<'r, N: Node<'r>>(
    list: &Field<N>,
    contents: &impl Contents<'r>,
    shared: Option<&SharedDocuments>,
    at: &At<'_>,
    session: &mut Session<'r>,
    findings: &mut Findings,
) {
    for (i, item) in required_items(list, at, findings).into_iter().flatten().enumerate() {
        let at = at.index(i);
        let found = members!(item; path = "path", content = "content");
        let Some((path, content)) = required_object(item, found, &at, findings) else { continue };
        let path = required_string(&path, &at.name("path"), findings);
        if let Some(path) = path {
            // The content follows below; a document without one is an error anyway.
            session.documents.push(Document { path, content: Content::of_text("") });
            if !session.paths.add_last(&session.documents) {
                findings.error(Code::DuplicatePath, &at.name("path"));
            } else if shared.is_some_and(|shared| shared.find(path).is_some()) {
                let error = Diagnostic::new(Code::DuplicatePath, at.name("path").pointer());
                findings.errors.push(error.with(Detail::Shared));
            }
        }
        let content = required_string(&content, &at.name("content"), findings);
        if let (Some(_), Some(content), Some(document)) = (path, content, session.documents.last_mut()) {
            document.content = contents.content(content);
        }
    }
}

/// Reads a record that is one document and nothing else.
pub(crate) fn lone_document<'r, N: Node<'r>>(
    root: N,
    contents: &impl Contents<'r>,
    findings: &mut Findings,
) -> Option<(&'r str, Content<'r>)> {
    let at = At::ROOT;
    let found = members!(root; path = "path", content = "content");
    let (path, content) = required_object(root, found, &at, findings)?;
    let path = required_string(&path, &at.name("path"), findings);
    let content = required_string(&content, &at.name("content"), findings);
    Some((path?, contents.content(content?)))
}

fn read_annotations<'r, N: Node<'r>>(
    list: &Field<N>,
    at: &At<'_>,
    session: &mut Session<'r>,
    findings: &mut Findings,
) {
    for (i, item) in required_items(list, at, findings).into_iter().flatten().enumerate() {
        let at = at.index(i);
        let found = members!(item; claim = "claim", sources = "sources");
        let Some((claim, sources)) = required_object(item, found, &at, findings) else { continue };
        let claim = read_claim(&claim, &at.name("claim"), findings);
        let first = session.sources.len();
        read_sources(&sources, &at.name("sources"), &mut session.sources, findings);
        if let Some(claim) = claim {
            session.annotations.push(Annotation { claim, sources: first..session.sources.len() });
        }
    }
}

fn read_claim<'r, N: Node<'r>>(claim: &Field<N>, at: &At<'_>, findings: &mut Findings) -> Option<Ref<'r>> {
    let node = required(claim, at, findings)?;
    if let Some(usual) = node.usual_claim() {
        return Some(usual_ref(usual));
    }
    let found = members!(node; path = "path", start = "start", end = "end");
    let (path, start, end) = required_object(node, found, at, findings)?;
    read_ref(&path, &start, &end, at, findings)
}

fn usual_ref<'r>((path, start, end): UsualRef<'r>) -> Ref<'r> {
    Ref { path, start: usual_boundary(start), end: usual_boundary(end) }
}

fn usual_boundary<'r>((line, str): UsualBoundary<'r>) -> Boundary<'r> {
    Boundary { line: LineNumber::Small(line), str }
}

fn read_sources<'r, N: Node<'r>>(
    list: &Field<N>,
    at: &At<'_>,
    sources: &mut Vec<SourceRef<'r>>,
    findings: &mut Findings,
) {
    let Some(items) = required_items(list, at, findings) else { return };
    let mut none = true;
    for (i, item) in items.enumerate() {
        none = false;
        sources.extend(read_source(item, &at.index(i), findings));
    }
    if none {
        findings.error(Code::EmptySources, at);
    }
}

/// A source that is written as most are and has nothing wrong with it.
#[inline]
fn usual_source<'r>(item: impl Node<'r>) -> Option<SourceRef<'r>> {
    let (reference, polarity, confidence) = item.usual_source()?;
    let (polarity, confidence) = (polarity_of(polarity)?, confidence_of(confidence)?);
    Some(SourceRef { reference: usual_ref(reference), polarity, confidence })
}

fn read_source<'r, N: Node<'r>>(item: N, at: &At<'_>, findings: &mut Findings) -> Option<SourceRef<'r>> {
    if let Some(usual) = usual_source(item) {
        return Some(usual);
    }
    let found = members!(item; path = "path", start = "start", end = "end",
        polarity = "polarity", confidence = "confidence");
    let (path, start, end, polarity, confidence) = required_object(item, found, at, findings)?;
    let reference = read_ref(&path, &start, &end, at, findings);
    let polarity = read_polarity(&polarity, &at.name("polarity"), findings);
    let confidence = read_confidence(&confidence, &at.name("confidence"), findings);
    Some(SourceRef { reference: reference?, polarity: polarity?, confidence: confidence? })
}

#[inline]
fn read_ref<'r, N: Node<'r>>(
    path: &Field<N>,
    start: &Field<N>,
    end: &Field<N>,
    at: &At<'_>,
    findings: &mut Findings,
) -> Option<Ref<'r>> {
    let path = required_string(path, &at.name("path"), findings);
    let start = read_boundary(start, &at.name("start"), findings);
    let end = read_boundary(end, &at.name("end"), findings);
    Some(Ref { path: path?, start: start?, end: end? })
}

#[inline]
fn read_boundary<'r, N: Node<'r>>(
    field: &Field<N>,
    at: &At<'_>,
    findings: &mut Findings,
) -> Option<Boundary<'r>> {
    let node = required(field, at, findings)?;
    if let Some(usual) = node.usual_boundary() {
        return Some(usual_boundary(usual));
    }
    let found = members!(node; line = "line", str = "str");
    let (line, str) = required_object(node, found, at, findings)?;
    let line = read_line(&line, &at.name("line"), findings);
    let str = required_string(&str, &at.name("str"), findings);
    Some(Boundary { line: line?, str: str? })
}

/// Any JSON number whose exact value is whole.
#[inline]
fn read_line<'r, N: Node<'r>>(
    field: &Field<N>,
    at: &At<'_>,
    findings: &mut Findings,
) -> Option<LineNumber<'r>> {
    let node = required(field, at, findings)?;
    let line = match node.number() {
        Some(Number::Integer(line)) => return Some(LineNumber::Small(line)),
        Some(Number::Double(_)) => {
            findings.unsure = true;
            return None;
        }
        Some(Number::Text(text)) => LineNumber::parse(text),
        None => None,
    };
    if line.is_none() {
        findings.wrong_type(Expected::WholeNumber, node, at);
    }
    line
}

#[inline]
fn read_polarity<'r, N: Node<'r>>(
    field: &Field<N>,
    at: &At<'_>,
    findings: &mut Findings,
) -> Option<Polarity> {
    let polarity = polarity_of(required_string(field, at, findings)?);
    if polarity.is_none() {
        findings.error(Code::UnknownPolarity, at);
    }
    polarity
}

#[inline]
fn polarity_of(name: &str) -> Option<Polarity> {
    match name {
        "supports" => Some(Polarity::Supports),
        "refutes" => Some(Polarity::Refutes),
        _ => None,
    }
}

/// The nearest double of a JSON number, in [0, 1].
#[inline]
fn read_confidence<'r, N: Node<'r>>(field: &Field<N>, at: &At<'_>, findings: &mut Findings) -> Option<f64> {
    let node = required(field, at, findings)?;
    let Some(number) = node.number() else {
        findings.wrong_type(Expected::Number, node, at);
        return None;
    };
    let confidence = confidence_of(number);
    if confidence.is_none() {
        findings.error(Code::ConfidenceOutOfRange, at);
    }
    confidence
}

#[inline]
fn confidence_of(number: Number<'_>) -> Option<f64> {
    let confidence = match number {
        Number::Integer(whole) => whole as f64,
        Number::Double(double) => double,
        // JSON numbers are a subset of what `parse` reads; beyond the range it gives an infinity.
        Number::Text(text) => text.parse().unwrap_or(f64::NAN),
    };
    (0.0..=1.0).contains(&confidence).then_some(confidence)
}

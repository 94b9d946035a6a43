//! JSON to the spec's nouns: which kind a record is, its `id`, and every fault of its shape.

mod answer;
pub(crate) mod json;
mod keys;
mod lift;
mod node;
mod session;
mod tree;

use crate::diagnostic::{At, Code, Detail, Diagnostic, Expected};
use crate::keys::{Key, Keys};
use crate::model::{Annotation, ContextSource, Document, Record, SourceRef};
use crate::shared::SharedDocuments;
use crate::verdict::{Group, Id, Kind};
use keys::read_keys;
pub(crate) use node::Decoded;
use node::{Contents, Node, Number};
pub(crate) use session::lone_document;
use std::cell::OnceCell;
pub(crate) use tree::Tree;

/// Lists whose memory goes from record to record.
#[derive(Default)]
pub(crate) struct Lists<'r> {
    pub(crate) documents: Vec<Document<'r>>,
    pub(crate) annotations: Vec<Annotation<'r>>,
    pub(crate) sources: Vec<SourceRef<'r>>,
    pub(crate) citations: Vec<&'r str>,
    pub(crate) context: Vec<ContextSource<'r>>,
}

/// What decoding says of a record beside the record itself.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) id: Option<Id>,
    pub(crate) kind: Option<Kind>,
    pub(crate) groups: Vec<Group>,
    pub(crate) cluster: Option<String>,
    pub(crate) errors: Vec<Diagnostic>,
    /// Something turns on digits that this reader has lost: read the record with care.
    pub(crate) unsure: bool,
}

impl Findings {
    #[cold]
    fn error(&mut self, code: Code, at: &At<'_>) {
        self.errors.push(Diagnostic::new(code, at.pointer()));
    }

    /// `id` is echoed as given; of a type that is neither string nor number it is ignored.
    fn set_id<'r>(&mut self, node: impl Node<'r>, contents: &impl Contents<'r>) {
        self.id = match (node.string(), node.number()) {
            (Some(text), _) => Some(Id::Text(contents.content(text).text().into_owned())),
            // -0 reads as 0: only the careful reader knows which it was.
            (_, Some(Number::Integer(0) | Number::Double(_))) => {
                self.unsure = true;
                None
            }
            (_, Some(Number::Integer(number))) => {
                Some(Id::Number(itoa::Buffer::new().format(number).to_owned()))
            }
            (_, Some(Number::Text(text))) => Some(Id::Number(text.to_owned())),
            (None, None) => None,
        };
    }

    #[cold]
    fn wrong_type<'r>(&mut self, expected: Expected, found: impl Node<'r>, at: &At<'_>) {
        let detail = Detail::Type { expected, found: found.json_type() };
        self.errors.push(Diagnostic::new(Code::WrongType, at.pointer()).with(detail));
    }
}

/// Decodes one record. `None` where it is malformed: then `findings` holds every error, in the
/// order of sections 2 and 3 of the contract. An answer's `output` is read into `inner`; `contents`
/// belongs to the reader of `root`. What the `keys` lead to is read of every record; `None` means that only an
/// `id` at its usual place is. Where there are `shared` documents, a session need have none of its own.
pub(crate) fn decode<'r, N: Node<'r>>(
    root: N,
    contents: &impl Contents<'r>,
    keys: Option<&Keys>,
    shared: Option<&SharedDocuments>,
    inner: &'r OnceCell<Tree<'r>>,
    lists: Lists<'r>,
    findings: &mut Findings,
) -> Option<Record<'r>> {
    let has_id = keys.is_none_or(|keys| keys.id == Key::ID);
    let record = decode_record(root, contents, has_id, shared, inner, lists, findings);
    if let Some(keys) = keys {
        read_keys(root, contents, keys, findings);
    }
    record.filter(|_| findings.errors.is_empty())
}

fn decode_record<'r, N: Node<'r>>(
    root: N,
    contents: &impl Contents<'r>,
    has_id: bool,
    shared: Option<&SharedDocuments>,
    inner: &'r OnceCell<Tree<'r>>,
    lists: Lists<'r>,
    findings: &mut Findings,
) -> Option<Record<'r>> {
    let at = &At::ROOT;
    let found = members!(root; id = "id", documents = "documents", annotations = "annotations", session = "session",
        context = "context", status = "status", answer = "answer", citations = "citations", output = "output");
    let (id, documents, annotations, session, context, status, answer, citations, output) =
        required_object(root, found, at, findings)?;
    if has_id {
        read_id(id, contents, at, findings);
    }
    let is_session = !documents.is_absent() || !session.is_absent();
    // With shared documents, annotations alone make a session of what would be no record.
    let is_session = is_session || shared.is_some() && context.is_absent() && !annotations.is_absent();
    match (is_session, !context.is_absent()) {
        (true, true) => {
            findings.error(Code::ConflictingFields, &at.name("context"));
            None
        }
        (false, false) => {
            findings.error(Code::UnknownRecord, at);
            None
        }
        (true, false) => {
            findings.kind = Some(Kind::Session);
            let fields = session::SessionFields { documents, annotations, session };
            Some(Record::Session(session::session(&fields, contents, shared, lists, findings)))
        }
        (false, true) => {
            findings.kind = Some(Kind::Answer);
            let fields = answer::AnswerFields { form: [status, answer, citations], output, context };
            answer::answer(&fields, inner, lists, findings).map(Record::Answer)
        }
    }
}

fn read_id<'r>(id: Field<impl Node<'r>>, contents: &impl Contents<'r>, at: &At<'_>, findings: &mut Findings) {
    match id {
        Field::Absent => {}
        Field::Twice => findings.error(Code::DuplicateField, &at.name("id")),
        Field::Once(node) => findings.set_id(node, contents),
    }
}

/// A member that the checker reads.
#[derive(Clone, Copy)]
enum Field<N> {
    Absent,
    Once(N),
    Twice,
}

impl<N> Field<N> {
    /// Takes note of a value under this name.
    #[inline]
    fn put(&mut self, value: N) {
        *self = if self.is_absent() { Self::Once(value) } else { Self::Twice };
    }

    fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// Finds members of an object by name: `members!(node; a = "a", b = "b")` gives `Some((a, b))`, a
/// [`Field`] each, or `None` where the node is no object.
///
/// A macro, because a `match` on literals compares lengths first and calls nothing.
macro_rules! members {
    ($node:expr; $($field:ident = $name:literal),+ $(,)?) => {
        $node.members().map(|members| {
            $(let mut $field = $crate::decode::Field::Absent;)+
            for (name, value) in members {
                match name {
                    $($name => $field.put(value),)+
                    _ => {}
                }
            }
            ($($field),+)
        })
    };
}
use members;

/// The value of a required member; its absence or repetition is an error.
#[inline]
fn required<N: Copy>(field: &Field<N>, at: &At<'_>, findings: &mut Findings) -> Option<N> {
    match field {
        Field::Once(node) => Some(*node),
        Field::Absent => {
            findings.error(Code::MissingField, at);
            None
        }
        Field::Twice => {
            findings.error(Code::DuplicateField, at);
            None
        }
    }
}

/// The value of a required string.
#[inline]
fn required_string<'r, N: Node<'r>>(
    field: &Field<N>,
    at: &At<'_>,
    findings: &mut Findings,
) -> Option<&'r str> {
    let node = required(field, at, findings)?;
    let string = node.string();
    if string.is_none() {
        findings.wrong_type(Expected::String, node, at);
    }
    string
}

/// The elements of a required array.
#[inline]
fn required_items<'r, N: Node<'r>>(
    field: &Field<N>,
    at: &At<'_>,
    findings: &mut Findings,
) -> Option<N::Items> {
    let node = required(field, at, findings)?;
    let items = node.items();
    if items.is_none() {
        findings.wrong_type(Expected::Array, node, at);
    }
    items
}

/// What an object holds; anything else is an error.
#[inline]
fn required_object<'r, N: Node<'r>, F>(
    node: N,
    found: Option<F>,
    at: &At<'_>,
    findings: &mut Findings,
) -> Option<F> {
    if found.is_none() {
        findings.wrong_type(Expected::Object, node, at);
    }
    found
}

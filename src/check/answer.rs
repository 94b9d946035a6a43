//! An answer: the four rules of section 5, coverage, independence.

use super::coverage::answer_coverage;
use crate::diagnostic::{At, Code, Diagnostic};
use crate::model::{Answer, AnswerStatus, ContextSource, Marker};
use crate::resolve::inline_markers;
use crate::verdict::{AnswerFacts, Share};
use std::collections::{HashMap, HashSet};

/// The distinct markers of an answer, each with what is known of it.
struct Cited<'a> {
    /// Inline markers by first occurrence.
    inline: Vec<&'a str>,
    /// Declared ones by first index.
    declared: Vec<(usize, &'a str)>,
    is_inline: HashSet<&'a str>,
    is_declared: HashSet<&'a str>,
    context: HashMap<&'a str, &'a ContextSource<'a>>,
}

/// Applies the rules, adds what is wrong to `errors` rule by rule, and counts.
pub(crate) fn check_answer(
    answer: &Answer<'_>,
    sentences: bool,
    errors: &mut Vec<Diagnostic>,
) -> AnswerFacts {
    let matches: Vec<Marker<'_>> = inline_markers(answer.answer).collect();
    let cited = Cited::new(answer, &matches);
    report(answer, &cited, errors);
    let known: Vec<(Marker<'_>, bool)> =
        matches.iter().map(|marker| (*marker, cited.context.contains_key(marker.name))).collect();
    let sources = || cited.inline.iter().filter_map(|name| cited.context.get(name));
    let chunks: HashSet<(&str, &str)> =
        sources().map(|source| (source.document_id, source.chunk_id)).collect();
    let documents: HashSet<&str> = sources().map(|source| source.document_id).collect();
    AnswerFacts {
        citations: cited.citations(),
        sentences: sentences.then(|| answer_coverage(answer.answer, &known)),
        chunks_cited: chunks.len() as u64,
        documents_cited: documents.len() as u64,
    }
}

impl<'a> Cited<'a> {
    fn new(answer: &'a Answer<'a>, matches: &[Marker<'a>]) -> Self {
        let (mut is_inline, mut is_declared) = (HashSet::new(), HashSet::new());
        let inline =
            matches.iter().map(|marker| marker.name).filter(|name| is_inline.insert(*name)).collect();
        let declared = answer
            .citations
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, name)| is_declared.insert(*name))
            .collect();
        let context = answer.sources.iter().map(|source| (source.marker, source)).collect();
        Self { inline, declared, is_inline, is_declared, context }
    }

    /// The declared markers that do not stand in the text.
    fn declared_only(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.declared.iter().copied().filter(|(_, name)| !self.is_inline.contains(name))
    }

    /// Distinct markers, inline or declared: those in the context, of all.
    fn citations(&self) -> Share {
        let mut share = Share::default();
        let all = self.inline.iter().copied().chain(self.declared_only().map(|(_, name)| name));
        all.for_each(|name| share.add(self.context.contains_key(name)));
        share
    }
}

fn report(answer: &Answer<'_>, cited: &Cited<'_>, errors: &mut Vec<Diagnostic>) {
    let root = At::ROOT;
    let output = root.name("output");
    let parent = if answer.in_output { &output } else { &root };
    let (text, list) = (parent.name("answer"), parent.name("citations"));
    let about = |code, at: &At<'_>, marker: &str| Diagnostic::new(code, at.pointer()).about(marker);
    let unknown = |name: &str| !cited.context.contains_key(name);
    let undeclared = |name: &&&str| !cited.is_declared.contains(**name);

    let inline = cited.inline.iter().filter(|name| unknown(name));
    errors.extend(inline.map(|name| about(Code::UnknownCitation, &text, name)));
    let declared = cited.declared_only().filter(|(_, name)| unknown(name));
    errors.extend(declared.map(|(i, name)| about(Code::UnknownCitation, &list.index(i), name)));
    match answer.status {
        AnswerStatus::Answered => {
            if cited.inline.is_empty() {
                errors.push(Diagnostic::new(Code::NoInlineCitation, text.pointer()));
            }
            let inline = cited.inline.iter().filter(undeclared);
            errors.extend(inline.map(|name| about(Code::CitationNotDeclared, &text, name)));
            let declared = cited.declared_only();
            errors.extend(declared.map(|(i, name)| about(Code::CitationNotInline, &list.index(i), name)));
        }
        AnswerStatus::Insufficient => {
            let at = match (cited.declared.is_empty(), cited.inline.is_empty()) {
                (false, _) => &list,
                (true, false) => &text,
                (true, true) => return,
            };
            errors.push(Diagnostic::new(Code::InsufficientWithCitations, at.pointer()));
        }
    }
}

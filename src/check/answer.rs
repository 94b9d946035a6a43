//! An answer: the four rules of section 5, coverage, independence.

use super::coverage::answer_coverage;
use crate::diagnostic::{At, Code, Diagnostic};
use crate::model::{Answer, AnswerStatus, Marker, Names};
use crate::resolve::inline_markers;
use crate::verdict::{AnswerFacts, Share};

/// The distinct markers of an answer, each with what is known of it.
struct Cited<'a> {
    /// Inline markers by first occurrence.
    inline: Names<'a>,
    /// Declared ones by first index.
    declared: Vec<(usize, &'a str)>,
    is_declared: Names<'a>,
    /// Those of the context, in the order of the sources.
    context: Names<'a>,
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
        matches.iter().map(|marker| (*marker, cited.context.contains(marker.name))).collect();
    let sources = cited.inline.as_slice().iter().filter_map(|name| cited.context.find(name));
    let mut chunks: Vec<(&str, &str)> =
        sources.map(|i| (answer.sources[i].document_id, answer.sources[i].chunk_id)).collect();
    chunks.sort_unstable();
    chunks.dedup();
    let documents = chunks.chunk_by(|a, b| a.0 == b.0).count();
    AnswerFacts {
        citations: cited.citations(),
        sentences: sentences.then(|| answer_coverage(answer.answer, &known)),
        chunks_cited: chunks.len() as u64,
        documents_cited: documents as u64,
    }
}

impl<'a> Cited<'a> {
    fn new(answer: &'a Answer<'a>, matches: &[Marker<'a>]) -> Self {
        let (mut inline, mut is_declared, mut context) =
            (Names::default(), Names::default(), Names::default());
        for marker in matches {
            inline.insert(marker.name);
        }
        let declared = answer
            .citations
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, name)| is_declared.insert(name))
            .collect();
        // Markers of a readable answer are unique, so that places are those of the sources.
        for source in &answer.sources {
            context.insert(source.marker);
        }
        Self { inline, declared, is_declared, context }
    }

    /// The declared markers that do not stand in the text.
    fn declared_only(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.declared.iter().copied().filter(|(_, name)| !self.inline.contains(name))
    }

    /// Distinct markers, inline or declared: those in the context, of all.
    fn citations(&self) -> Share {
        let mut share = Share::default();
        let inline = self.inline.as_slice().iter().copied();
        let all = inline.chain(self.declared_only().map(|(_, name)| name));
        all.for_each(|name| share.add(self.context.contains(name)));
        share
    }
}

fn report(answer: &Answer<'_>, cited: &Cited<'_>, errors: &mut Vec<Diagnostic>) {
    let root = At::ROOT;
    let output = root.name("output");
    let parent = if answer.in_output { &output } else { &root };
    let (text, list) = (parent.name("answer"), parent.name("citations"));
    let about = |code, at: &At<'_>, marker: &str| Diagnostic::new(code, at.pointer()).about(marker);
    let unknown = |name: &str| !cited.context.contains(name);
    let undeclared = |name: &&&str| !cited.is_declared.contains(name);
    let inline = cited.inline.as_slice();

    let unknown_inline = inline.iter().filter(|name| unknown(name));
    errors.extend(unknown_inline.map(|name| about(Code::UnknownCitation, &text, name)));
    let declared = cited.declared_only().filter(|(_, name)| unknown(name));
    errors.extend(declared.map(|(i, name)| about(Code::UnknownCitation, &list.index(i), name)));
    match answer.status {
        AnswerStatus::Answered => {
            if inline.is_empty() {
                errors.push(Diagnostic::new(Code::NoInlineCitation, text.pointer()));
            }
            let undeclared = inline.iter().filter(undeclared);
            errors.extend(undeclared.map(|name| about(Code::CitationNotDeclared, &text, name)));
            let declared = cited.declared_only();
            errors.extend(declared.map(|(i, name)| about(Code::CitationNotInline, &list.index(i), name)));
        }
        AnswerStatus::Insufficient => {
            let at = match (cited.declared.is_empty(), inline.is_empty()) {
                (false, _) => &list,
                (true, false) => &text,
                (true, true) => return,
            };
            errors.push(Diagnostic::new(Code::InsufficientWithCitations, at.pointer()));
        }
    }
}

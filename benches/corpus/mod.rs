//! Generated corpora, the same for the same seed: about 10 % of the texts in Chinese, escapes
//! throughout, about 2 % of the refs and markers broken. The generator knows what it made, so that a
//! bench can assert its counts before it times anything.

use fastrand::Rng;
use std::fmt::Write as _;
use std::ops::Range;

/// What a corpus is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 2 or 3 documents of about 1 kB, 5 annotations of 1 or 2 sources.
    Small,
    /// 5 documents of 20 to 40 kB, 20 annotations of 1 or 2 sources.
    Large,
    /// 3 documents of about 3 kB, 100 annotations of 2 sources.
    Many,
    /// Answers with markers, 5 context sources of about 300 B, every fifth in the `output` form.
    Answers,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Small, Self::Large, Self::Many, Self::Answers];

    /// The name, as the command line and the benches write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
            Self::Many => "many",
            Self::Answers => "answers",
        }
    }
}

/// What a corpus holds. Of malformed records only their number is counted, as the checker does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records, malformed ones among them.
    pub records: u64,
    /// Records that were cut short or given a member that is not allowed.
    pub malformed: u64,
    /// Refs.
    pub refs: u64,
    /// Those of them that do not resolve.
    pub broken_refs: u64,
    /// Distinct markers of the answers.
    pub citations: u64,
    /// Those of them that name no source.
    pub unknown_citations: u64,
}

const WORDS: &str = "the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one you were all her she there would their we him been has when who will no more if out so up said what its about than into them can only other time new some could these two may first then do any like my now over such our man even most made after also did many off before must well back through years much where your way down should because long each just those people how too good very make world still see own work men day get here between both life being under never same another know while last might great old year come since against go came right used take three";
const CHARACTERS: &str = "的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由却代军产入先山五太水万市眼体别处总才场师书比住员九笑性通目华报立马命张活难神数件安表原车白应路期叫死常提感金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台象记边共风战干接它许";

/// One in so many records is cut short, one in so many sources has a bad polarity or confidence.
const MALFORMED_ONE_IN: u16 = 4096;

/// Of 1000 refs or markers, so many are broken.
const BROKEN_PER_MILLE: u16 = 20;

/// A document, line by line.
struct Doc {
    path: String,
    lines: Vec<String>,
    /// Characters beyond ASCII are written as escapes, as many writers of JSON do.
    ascii: bool,
}

/// A string on a line that is counted from 0.
#[derive(Clone, PartialEq)]
struct Boundary {
    line: usize,
    str: String,
}

/// A ref before it is written.
struct Ref<'d> {
    path: &'d str,
    start: Boundary,
    end: Boundary,
}

/// A way in which a ref does not resolve.
#[derive(Clone, Copy)]
enum Break {
    AbsentStart,
    AbsentEnd,
    Ambiguous,
    Empty,
    StartOutOfRange,
    EndOutOfRange,
    Reversed,
    MissingPath,
}

/// How often each is chosen: models misquote and repeat more than they miscount.
const BREAKS: [Break; 12] = [
    Break::AbsentStart,
    Break::AbsentStart,
    Break::AbsentEnd,
    Break::AbsentEnd,
    Break::Ambiguous,
    Break::Ambiguous,
    Break::Ambiguous,
    Break::Empty,
    Break::StartOutOfRange,
    Break::EndOutOfRange,
    Break::Reversed,
    Break::MissingPath,
];

/// Makes records of one kind until told to stop.
pub struct Generator {
    kind: Kind,
    rng: Rng,
    words: Vec<&'static str>,
    characters: Vec<char>,
    /// What was made so far.
    pub counts: Counts,
}

impl Generator {
    /// A generator that makes the same corpus for the same seed.
    pub fn new(kind: Kind, seed: u64) -> Self {
        Self {
            kind,
            rng: Rng::with_seed(seed),
            words: WORDS.split(' ').collect(),
            characters: CHARACTERS.chars().collect(),
            counts: Counts::default(),
        }
    }

    /// The next record and its LF.
    pub fn record(&mut self) -> String {
        let before = self.counts;
        let (mut record, readable) =
            if self.kind == Kind::Answers { (self.answer(), true) } else { self.session() };
        let cut = self.rng.u16(..MALFORMED_ONE_IN) == 0;
        if cut {
            self.cut(&mut record);
        }
        if cut || !readable {
            self.counts = Counts { malformed: before.malformed + 1, ..before };
        }
        self.counts.records += 1;
        record.push('\n');
        record
    }

    /// Cuts a record somewhere in its second half: its last bracket at least is gone.
    fn cut(&mut self, record: &mut String) {
        let mut at = self.rng.usize(record.len() / 2..record.len());
        while !record.is_char_boundary(at) {
            at -= 1;
        }
        record.truncate(at);
    }

    /// A session, and whether it is readable.
    fn session(&mut self) -> (String, bool) {
        let (documents, annotations, size) = match self.kind {
            Kind::Large => (5, 20, 20_000..40_000),
            Kind::Many => (3, 100, 2_500..3_500),
            Kind::Small | Kind::Answers => (self.rng.usize(2..4), 5, 800..1_200),
        };
        let docs: Vec<Doc> = (0..documents).map(|i| self.document(i, size.clone())).collect();
        let mut text =
            format!("{{\"id\":\"{:08x}-{}\",\"documents\":[", self.rng.u32(..), self.counts.records);
        for (i, doc) in docs.iter().enumerate() {
            separate(&mut text, i);
            text.push_str("{\"path\":\"");
            self.escape(&mut text, &doc.path, false);
            text.push_str("\",\"content\":\"");
            self.escape(&mut text, &doc.lines.join("\n"), doc.ascii);
            text.push_str("\"}");
        }
        text.push_str("],\"annotations\":[");
        let mut readable = true;
        for i in 0..annotations {
            separate(&mut text, i);
            readable &= self.annotation(&mut text, &docs);
        }
        text.push_str("]}");
        (text, readable)
    }

    /// Writes an annotation: a claim in the first document, its sources in the others.
    fn annotation(&mut self, text: &mut String, docs: &[Doc]) -> bool {
        text.push_str("{\"claim\":{");
        self.reference(text, &docs[0]);
        text.push_str("},\"sources\":[");
        let sources = if self.kind == Kind::Many { 2 } else { self.rng.usize(1..3) };
        let mut readable = true;
        for i in 0..sources {
            separate(text, i);
            text.push('{');
            let doc = &docs[self.rng.usize(1..docs.len())];
            self.reference(text, doc);
            readable &= self.metadata(text);
            text.push('}');
        }
        text.push_str("]}");
        readable
    }

    fn document(&mut self, number: usize, size: Range<usize>) -> Doc {
        let names = ["report", "bench", "notes", "wiki"];
        let name = names[self.rng.usize(..names.len())];
        let path = if number == 0 { "output".to_owned() } else { format!("src/{name}-{number}.md") };
        let (chinese, ascii) = (self.is_chinese(), self.rng.u8(..50) == 0);
        let wanted = self.rng.usize(size);
        Doc { path, lines: self.lines(wanted, chinese), ascii }
    }

    /// Every tenth text is in Chinese.
    fn is_chinese(&mut self) -> bool {
        self.rng.u8(..10) == 0
    }

    /// Lines of `wanted` bytes together, a few of them empty.
    fn lines(&mut self, wanted: usize, chinese: bool) -> Vec<String> {
        let (mut lines, mut bytes) = (Vec::new(), 0);
        while bytes < wanted {
            let empty = bytes > 0 && self.rng.u8(..12) == 0;
            let line = if empty { String::new() } else { self.line(chinese) };
            bytes += line.len() + 2;
            lines.push(line);
        }
        lines
    }

    fn line(&mut self, chinese: bool) -> String {
        if chinese { self.chinese_line() } else { self.english_line() }
    }

    fn chinese_line(&mut self) -> String {
        let mut line = String::new();
        for i in 1..=self.rng.usize(10..45) {
            line.push(self.characters[self.rng.usize(..self.characters.len())]);
            if i % 13 == 0 {
                line.push('，');
            }
        }
        line.push('。');
        line
    }

    fn english_line(&mut self) -> String {
        let mut line = String::new();
        for i in 0..self.rng.usize(5..22) {
            let word = self.words[self.rng.usize(..self.words.len())];
            if i == 0 {
                line.push(char::from(word.as_bytes()[0].to_ascii_uppercase()));
                line.push_str(&word[1..]);
            } else {
                let _ = write!(line, " {word}");
            }
            self.after_word(&mut line);
        }
        line.push('.');
        line
    }

    /// Now and then something follows a word: punctuation, a number, or what JSON must escape.
    fn after_word(&mut self, line: &mut String) {
        match self.rng.u8(..) {
            0..=9 => line.push(','),
            10..=15 => {
                let _ = write!(line, " {}", self.rng.u32(1..9999));
            }
            16 => line.push_str("’s"),
            17 => line.push('é'),
            18 => line.push_str(" – "),
            19 => line.push('\t'),
            20..=24 => line.push_str(" \"so\""),
            25 => line.push_str(" 😀"),
            26 => line.push_str(" a\\b"),
            _ => {}
        }
    }

    /// Writes a ref into a document: mostly one that resolves.
    fn reference(&mut self, text: &mut String, doc: &Doc) {
        self.counts.refs += 1;
        let mut made = self.good_ref(doc);
        if self.rng.u16(..1000) < BROKEN_PER_MILLE {
            self.counts.broken_refs += 1;
            made = spoil(made, BREAKS[self.rng.usize(..BREAKS.len())], doc);
        }
        text.push_str("\"path\":\"");
        self.escape(text, made.path, false);
        for (opening, boundary) in [("\",\"start\"", &made.start), ("\"},\"end\"", &made.end)] {
            let _ = write!(text, "{opening}:{{\"line\":{},\"str\":\"", boundary.line + 1);
            self.escape(text, &boundary.str, doc.ascii);
        }
        text.push_str("\"}");
    }

    /// A ref that resolves, every fifth over two lines.
    fn good_ref<'d>(&mut self, doc: &'d Doc) -> Ref<'d> {
        let full: Vec<usize> = (0..doc.lines.len()).filter(|line| !doc.lines[*line].is_empty()).collect();
        let first = self.rng.usize(..full.len());
        let last = (first + usize::from(self.rng.u8(..5) == 0)).min(full.len() - 1);
        let (start, at) = self.boundary(&doc.lines[full[first]], 0);
        let (mut end, end_at) = self.boundary(&doc.lines[full[last]], if first == last { at } else { 0 });
        if first == last && end_at + end.len() < at + start.len() {
            end.clone_from(&start);
        }
        let boundary = |index: usize, str| Boundary { line: full[index], str };
        Ref { path: &doc.path, start: boundary(first, start), end: boundary(last, end) }
    }

    /// Whole words that occur once on the line, from a word at or after `from` on, and their place.
    ///
    /// They are extended until they are unique. Where the line ends before, the fallback is unique:
    /// the whole line, or all of it from `from` on, where a unique boundary begins already.
    fn boundary(&mut self, line: &str, from: usize) -> (String, usize) {
        let edges: Vec<usize> = (from..=line.len()).filter(|at| is_edge(line, *at)).collect();
        let starts: Vec<usize> = edges
            .iter()
            .copied()
            .filter(|at| !line[*at..].starts_with([' ', '\t']) && *at < line.len())
            .collect();
        let start = starts[self.rng.usize(..starts.len())];
        let shortest = self.rng.usize(..3);
        let ends = edges.into_iter().filter(|at| *at > start && !line[..*at].ends_with([' ', '\t']));
        let is_unique = |end: &usize| occurs_once(line, &line[start..*end]);
        match ends.skip(shortest).find(is_unique) {
            Some(end) => (line[start..end].to_owned(), start),
            None => (line[from..].to_owned(), from),
        }
    }

    /// Writes polarity and confidence; false where one of them is not allowed.
    fn metadata(&mut self, text: &mut String) -> bool {
        let fault = (self.rng.u16(..MALFORMED_ONE_IN) == 0).then(|| self.rng.bool());
        let polarity = match self.rng.u8(..) {
            _ if fault == Some(true) => "mentions",
            0..=36 => "refutes",
            _ => "supports",
        };
        let confidence = match self.rng.u8(..) {
            _ if fault == Some(false) => "1.5".to_owned(),
            0..=24 => "1".to_owned(),
            25..=49 => "0.95".to_owned(),
            other => format!("0.{}", other % 9 + 1),
        };
        let _ = write!(text, ",\"polarity\":\"{polarity}\",\"confidence\":{confidence}");
        fault.is_none()
    }

    fn answer(&mut self) -> String {
        let form = self.form();
        let mut text = format!("{{\"id\":{},", self.counts.records);
        if self.rng.u8(..5) == 0 {
            text.push_str("\"output\":\"");
            self.escape(&mut text, &format!("```json\n{{{form}}}\n```"), false);
            text.push('"');
        } else {
            text.push_str(&form);
        }
        text.push_str(",\"context\":{\"sources\":[");
        for i in 1..=5 {
            separate(&mut text, i - 1);
            let _ = write!(
                text,
                "{{\"marker\":\"S{i}\",\"chunk_id\":\"c{i}\",\"document_id\":\"d{}\",\"title\":null,\"text\":\"",
                i % 3
            );
            let chinese = self.is_chinese();
            let body = self.lines(300, chinese).join("\n");
            self.escape(&mut text, &body, false);
            text.push_str("\"}");
        }
        text.push_str("]}}");
        text
    }

    /// The members that the model is asked for; every 20th answer says that it has none.
    fn form(&mut self) -> String {
        let insufficient = self.rng.u8(..20) == 0;
        let chinese = self.is_chinese();
        let (mut answer, mut declared) = (String::new(), String::new());
        for i in 0..5 {
            answer.push_str(self.line(chinese).trim_end_matches(['.', '。']));
            if !insufficient {
                let marker = self.marker(i + 1);
                let _ = write!(answer, " [{marker}]");
                separate(&mut declared, i);
                let _ = write!(declared, "\"{marker}\"");
            }
            answer.push_str(if chinese { "。" } else { ".\n" });
        }
        let status = if insufficient { "insufficient" } else { "answered" };
        let mut form = format!("\"status\":\"{status}\",\"answer\":\"");
        self.escape(&mut form, answer.trim_end(), false);
        let _ = write!(form, "\",\"citations\":[{declared}]");
        form
    }

    /// The name of source `number`, or now and then of none.
    fn marker(&mut self, number: usize) -> String {
        let unknown = self.rng.u16(..1000) < BROKEN_PER_MILLE;
        self.counts.citations += 1;
        self.counts.unknown_citations += u64::from(unknown);
        format!("S{}", if unknown { number + 10 } else { number })
    }

    /// Writes a string's content as JSON. Outside Chinese every other character beyond ASCII is an
    /// escape that it need not be, those beyond U+FFFF as pairs.
    fn escape(&mut self, text: &mut String, content: &str, ascii: bool) {
        for c in content.chars() {
            match c {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                c if !c.is_ascii() && (ascii || (!is_chinese(c) && self.rng.bool())) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        let _ = write!(text, "\\u{unit:04x}");
                    }
                }
                c => text.push(c),
            }
        }
    }
}

/// Makes a ref that resolves one that does not.
fn spoil<'d>(good: Ref<'d>, how: Break, doc: &Doc) -> Ref<'d> {
    let Ref { mut path, mut start, mut end } = good;
    match how {
        Break::AbsentStart => start.str = ABSENT.to_owned(),
        Break::AbsentEnd => end.str = ABSENT.to_owned(),
        Break::Ambiguous => {
            // A short line in Chinese may have no character twice.
            let line = &doc.lines[start.line];
            let twice = line.chars().find(|c| line.matches(*c).nth(1).is_some());
            start.str = twice.map_or(ABSENT.to_owned(), String::from);
        }
        Break::Empty => end.str.clear(),
        Break::StartOutOfRange => start.line += doc.lines.len(),
        Break::EndOutOfRange => end.line += doc.lines.len(),
        Break::Reversed if start == end => start.line += 1,
        Break::Reversed => (start, end) = (end, start),
        Break::MissingPath => path = "missing.md",
    }
    Ref { path, start, end }
}

/// No line holds this.
const ABSENT: &str = "zzqx";

/// Whether a word may begin or end at byte `at`. Chinese has no spaces: there it is every character.
fn is_edge(line: &str, at: usize) -> bool {
    let joins = |c: char| c.is_alphanumeric() && !is_chinese(c);
    line.is_char_boundary(at) && !(line[..at].ends_with(joins) && line[at..].starts_with(joins))
}

fn is_chinese(c: char) -> bool {
    ('\u{2e80}'..='\u{ffff}').contains(&c)
}

/// Whether `text` stands on the line once, overlaps counted: each place is tried.
fn occurs_once(line: &str, text: &str) -> bool {
    line.as_bytes().windows(text.len()).filter(|here| *here == text.as_bytes()).count() == 1
}

/// Writes the comma before every element but the first.
fn separate(text: &mut String, index: usize) {
    if index > 0 {
        text.push(',');
    }
}

/// A corpus of at least `bytes`.
#[allow(dead_code, reason = "one of those who share this module writes records as they come")]
pub fn corpus(kind: Kind, bytes: usize, seed: u64) -> (Vec<u8>, Counts) {
    let mut generator = Generator::new(kind, seed);
    let mut corpus = Vec::with_capacity(bytes + 512 * 1024);
    while corpus.len() < bytes {
        corpus.extend_from_slice(generator.record().as_bytes());
    }
    (corpus, generator.counts)
}

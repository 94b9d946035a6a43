//! Generated corpora: seeded, with about 10 % of documents in Chinese, escapes throughout, and about
//! 2 % of refs broken in every way. The generator knows what it made, so that a bench can assert its
//! counts before it times anything.

use fastrand::Rng;
use std::fmt::Write as _;

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

/// What a corpus holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records, malformed ones among them.
    pub records: u64,
    /// Records that were cut short or given a member out of range.
    pub malformed: u64,
    /// Refs of the readable records.
    pub refs: u64,
    /// Those of them that do not resolve.
    pub broken_refs: u64,
}

const WORDS: &str = "the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one you were all her she there would their we him been has when who will no more if out so up said what its about than into them can only other time new some could these two may first then do any like my now over such our man even most made after also did many off before must well back through years much where your way down should because long each just those people how too good very make world still see own work men day get here between both life being under never same another know while last might great old year come since against go came right used take three";
const CHARACTERS: &str = "的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由却代军产入先山五太水万市眼体别处总才场师书比住员九笑性通目华报立马命张活难神数件安表原车白应路期叫死常提感金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台象记边共风战干接它许";

/// A document, line by line.
struct Doc {
    path: String,
    lines: Vec<String>,
    /// Characters beyond ASCII are written as escapes.
    ascii: bool,
}

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
        let words = WORDS.split(' ').collect();
        Self {
            kind,
            rng: Rng::with_seed(seed),
            words,
            characters: CHARACTERS.chars().collect(),
            counts: Counts::default(),
        }
    }

    /// The next record and its LF.
    pub fn record(&mut self) -> String {
        self.counts.records += 1;
        let mut record = if self.kind == Kind::Answers { self.answer() } else { self.session() };
        record.push('\n');
        record
    }

    fn session(&mut self) -> String {
        let rng = &mut self.rng;
        let (documents, annotations, size) = match self.kind {
            Kind::Large => (5, 20, 20_000..40_000),
            Kind::Many => (3, 100, 2_500..3_500),
            Kind::Small | Kind::Answers => (rng.usize(2..4), 5, 800..1_200),
        };
        let docs: Vec<Doc> = (0..documents).map(|i| self.document(i, size.clone())).collect();
        let mut text =
            format!("{{\"id\":\"{:08x}-{}\",\"documents\":[", self.rng.u32(..), self.counts.records);
        for (i, doc) in docs.iter().enumerate() {
            text.push_str(if i > 0 { ",{\"path\":\"" } else { "{\"path\":\"" });
            self.escape(&mut text, &doc.path, false);
            text.push_str("\",\"content\":\"");
            self.escape(&mut text, &doc.lines.join("\n"), doc.ascii);
            text.push_str("\"}");
        }
        text.push_str("],\"annotations\":[");
        let before = self.counts;
        let mut readable = true;
        for i in 0..annotations {
            text.push_str(if i > 0 { ",{\"claim\":{" } else { "{\"claim\":{" });
            self.reference(&mut text, &docs[0]);
            text.push_str("},\"sources\":[");
            let sources = if self.kind == Kind::Many { 2 } else { self.rng.usize(1..3) };
            for j in 0..sources {
                text.push_str(if j > 0 { ",{" } else { "{" });
                let doc = &docs[self.rng.usize(1..docs.len())];
                self.reference(&mut text, doc);
                readable &= self.metadata(&mut text);
                text.push('}');
            }
            text.push_str("]}");
        }
        text.push_str("]}");
        if self.rng.u16(..4096) == 7 {
            readable = false;
            let at = (text.len() / 2..text.len() - 1).find(|at| text.is_char_boundary(*at)).unwrap_or(1);
            text.truncate(at);
        }
        if !readable {
            self.counts = Counts { malformed: before.malformed + 1, ..before };
        }
        text
    }

    fn document(&mut self, number: usize, size: std::ops::Range<usize>) -> Doc {
        let names = ["report", "bench", "notes", "wiki"];
        let name = names[self.rng.usize(..names.len())];
        let path = if number == 0 { "output".to_owned() } else { format!("src/{name}-{number}.md") };
        let (chinese, ascii, wanted) = (self.rng.u8(..10) == 0, self.rng.u8(..50) == 0, self.rng.usize(size));
        let (mut lines, mut bytes) = (Vec::new(), 0);
        while bytes < wanted {
            let line = if chinese { self.chinese_line() } else { self.english_line() };
            bytes += line.len() + 2;
            lines.push(line);
        }
        Doc { path, lines, ascii }
    }

    fn chinese_line(&mut self) -> String {
        let length = self.rng.usize(10..45);
        let mut line = String::new();
        for i in 1..=length {
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
        if self.rng.u8(..12) == 0 {
            return line;
        }
        for i in 0..self.rng.usize(5..22) {
            let word = self.words[self.rng.usize(..self.words.len())];
            if i == 0 {
                line.push(char::from(word.as_bytes()[0].to_ascii_uppercase()));
                line.push_str(&word[1..]);
            } else {
                let _ = write!(line, " {word}");
            }
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
                25 => line.push('😀'),
                _ => {}
            }
        }
        line.push('.');
        line
    }

    /// Writes a ref into a document: mostly one that resolves.
    fn reference(&mut self, text: &mut String, doc: &Doc) {
        self.counts.refs += 1;
        let long: Vec<usize> = (0..doc.lines.len()).filter(|i| doc.lines[*i].len() > 12).collect();
        let chosen = self.rng.usize(..long.len());
        let mut lines =
            (long[chosen], long[(chosen + usize::from(self.rng.u8(..5) == 0)).min(long.len() - 1)]);
        let (mut start, at) = self.boundary(&doc.lines[lines.0], 0);
        let same_line = lines.0 == lines.1;
        let (mut end, end_at) = self.boundary(&doc.lines[lines.1], if same_line { at } else { 0 });
        if same_line && end_at + end.len() < at + start.len() {
            end.clone_from(&start);
        }
        let mut path = doc.path.as_str();
        let fate = self.rng.u16(..1000);
        self.counts.broken_refs += u64::from(fate < 20);
        match fate {
            0..=5 => start = "zzqx".to_owned(),
            6..=9 => end = " qqqz".to_owned(),
            // More than one on a line in English, none in Chinese.
            10..=13 => start = " ".to_owned(),
            14..=16 => lines.0 += 100_000,
            17 => lines.1 += 100_000,
            18 | 19 => path = "missing.md",
            _ => {}
        }
        text.push_str("\"path\":\"");
        self.escape(text, path, false);
        let _ = write!(text, "\",\"start\":{{\"line\":{},\"str\":\"", lines.0 + 1);
        self.escape(text, &start, doc.ascii);
        let _ = write!(text, "\"}},\"end\":{{\"line\":{},\"str\":\"", lines.1 + 1);
        self.escape(text, &end, doc.ascii);
        text.push_str("\"}");
    }

    /// A string that occurs once on the line, from a character at or after `from`, and its place.
    /// It is grown until it is unique; the end of a line always is with what stands before it.
    fn boundary(&mut self, line: &str, from: usize) -> (String, usize) {
        let starts: Vec<usize> = line.char_indices().map(|(at, _)| at).filter(|at| *at >= from).collect();
        let start = starts[self.rng.usize(..starts.len())];
        let ends = line[start..].char_indices().map(|(at, c)| start + at + c.len_utf8());
        let shortest = self.rng.usize(0..7);
        let unique = |end: &usize| {
            let text = &line.as_bytes()[start..*end];
            line.as_bytes().windows(text.len()).filter(|here| *here == text).count() == 1
        };
        match ends.skip(shortest).find(unique) {
            Some(end) => (line[start..end].to_owned(), start),
            None if from == 0 => (line.to_owned(), 0),
            None => (line[from..].to_owned(), from),
        }
    }

    /// Writes polarity and confidence; false where one of them is not allowed.
    fn metadata(&mut self, text: &mut String) -> bool {
        let (polarity, good) = match self.rng.u16(..8192) {
            0 => ("mentions", false),
            1..=1200 => ("refutes", true),
            _ => ("supports", true),
        };
        let (confidence, fine) = match self.rng.u16(..8192) {
            0 => ("1.5".to_owned(), false),
            1..=800 => ("1".to_owned(), true),
            801..=1600 => ("0.95".to_owned(), true),
            other => (format!("0.{}", other % 9 + 1), true),
        };
        let _ = write!(text, ",\"polarity\":\"{polarity}\",\"confidence\":{confidence}");
        good && fine
    }

    fn answer(&mut self) -> String {
        let mut answer = String::new();
        for i in 1..=5 {
            let sentence = self.english_line();
            let sentence = if sentence.is_empty() { "So it is." } else { &sentence };
            let _ = write!(answer, "{} [S{i}]. ", sentence.trim_end_matches('.'));
        }
        let mut form = String::from("{\"status\":\"answered\",\"answer\":\"");
        self.escape(&mut form, &answer, false);
        form.push_str("\",\"citations\":[\"S1\",\"S2\",\"S3\",\"S4\",\"S5\"]}");
        let mut text = format!("{{\"id\":{},", self.counts.records);
        if self.counts.records.is_multiple_of(5) {
            text.push_str("\"output\":\"");
            self.escape(&mut text, &format!("```json\n{form}\n```"), false);
            text.push('"');
        } else {
            text.push_str(&form[1..form.len() - 1]);
        }
        text.push_str(",\"context\":{\"sources\":[");
        for i in 1..=5 {
            let _ = write!(
                text,
                "{}{{\"marker\":\"S{i}\",\"chunk_id\":\"c{i}\",\"document_id\":\"d{}\",\"text\":\"",
                if i > 1 { "," } else { "" },
                i % 3
            );
            let body = (0..4).map(|_| self.english_line()).collect::<Vec<_>>().join("\n");
            self.escape(&mut text, &body, false);
            text.push_str("\"}");
        }
        text.push_str("]}}");
        text
    }

    /// Writes a string's content as JSON; now and then a character as the escape that it need not be.
    fn escape(&mut self, text: &mut String, content: &str, ascii: bool) {
        for c in content.chars() {
            match c {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                c if c < ' ' || (!c.is_ascii() && (ascii || (c < '\u{2100}' && self.rng.bool()))) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        let _ = write!(text, "\\u{unit:04x}");
                    }
                }
                c => text.push(c),
            }
        }
    }
}

/// A corpus of at least `bytes`.
#[allow(dead_code, reason = "one of those who share this module writes records as they come")]
pub fn corpus(kind: Kind, bytes: usize, seed: u64) -> (Vec<u8>, Counts) {
    let mut generator = Generator::new(kind, seed);
    let mut corpus = Vec::with_capacity(bytes + 64 * 1024);
    while corpus.len() < bytes {
        corpus.extend_from_slice(generator.record().as_bytes());
    }
    (corpus, generator.counts)
}

//! Comparisons as JSON and as CSV. Doubles are the shortest decimal that reads back, without exponent.

use super::comparison::{note_words, unpaired_words};
use super::json::{write_number, write_string};
use super::sanitize::csv_cell;
use crate::summary::{
    CodeChange, Comparison, Difference, Listed, ListedRecord, Matching, Method, Row, Side, SideMatching,
    Unpaired,
};
use crate::verdict::{Id, Status};

/// The version of the shape of the JSON object.
const SCHEMA: u64 = 1;

/// A comparison as a table: one row a group and metric; what is undefined is empty.
///
/// # Errors
/// None in practice: it writes to memory.
pub fn comparison_csv(comparison: &Comparison) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["group", "metric"].iter().chain(&NUMBERS).chain(&["units", "method"]))?;
    for row in &comparison.rows {
        let numbers = numbers(row).map(|number| number.map(|number| number.to_string()).unwrap_or_default());
        let (group, units) = (csv_cell(&row.group), row.units.to_string());
        let cells = [group.as_ref(), row.metric.name()].into_iter();
        let cells = cells.chain(numbers.iter().map(String::as_str));
        writer.write_record(cells.chain([units.as_str(), row.method.name()]))?;
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}

const NUMBERS: [&str; 8] = ["base", "new", "delta", "std_error", "ci_low", "ci_high", "p", "p_holm"];

/// The numbers of a row, in the order of [`NUMBERS`].
fn numbers(row: &Row) -> [Option<f64>; 8] {
    let difference = row.difference.as_ref();
    let interval = difference.and_then(Difference::interval);
    [
        row.base,
        row.new,
        difference.map(|difference| difference.delta),
        difference.and_then(|difference| difference.std_error),
        interval.map(|interval| interval.0),
        interval.map(|interval| interval.1),
        row.p(),
        row.p_holm,
    ]
}

/// A comparison as one JSON object, with an LF at its end.
pub fn comparison_json(comparison: &Comparison) -> Vec<u8> {
    let mut json = Json(Vec::new());
    json.object(|json| {
        json.number("schema", SCHEMA);
        json.member("base", |json| json.side(&comparison.base));
        json.member("new", |json| json.side(&comparison.new));
        let method = if comparison.unpaired.is_some() { Method::Unpaired } else { Method::Paired };
        json.string("method", method.name());
        if let Some(why) = comparison.unpaired {
            json.string("why", unpaired_name(why));
            json.string("why_in_words", unpaired_words(why));
        }
        json.member("rows", |json| json.list(&comparison.rows, Json::row));
        if let Some(matching) = &comparison.matching {
            json.matching(matching);
        }
        json.member("codes", |json| json.list(&comparison.codes, Json::code));
        let notes: Vec<String> = comparison.notes.iter().map(note_words).collect();
        json.member("notes", |json| json.list(&notes, |json, note| write_string(note, &mut json.0)));
    });
    json.0.push(b'\n');
    json.0
}

fn unpaired_name(why: Unpaired) -> &'static str {
    match why {
        Unpaired::FewPairs => "few_pairs",
        Unpaired::OnlyProblems => "only_problems",
    }
}

/// JSON as it is written.
struct Json(Vec<u8>);

impl Json {
    /// A comma, where something stands before.
    fn separate(&mut self) {
        if !matches!(self.0.last(), None | Some(b'{' | b'[' | b':')) {
            self.0.push(b',');
        }
    }

    fn object(&mut self, write: impl FnOnce(&mut Self)) {
        self.0.push(b'{');
        write(self);
        self.0.push(b'}');
    }

    fn list<T>(&mut self, items: &[T], write: impl Fn(&mut Self, &T)) {
        self.0.push(b'[');
        for item in items {
            self.separate();
            write(self, item);
        }
        self.0.push(b']');
    }

    fn member(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.separate();
        write_string(name, &mut self.0);
        self.0.push(b':');
        write(self);
    }

    fn number(&mut self, name: &str, number: u64) {
        self.member(name, |json| write_number(number, &mut json.0));
    }

    fn string(&mut self, name: &str, text: &str) {
        self.member(name, |json| write_string(text, &mut json.0));
    }

    fn double(&mut self, name: &str, number: Option<f64>) {
        let text = number.map_or("null".to_owned(), |number| number.to_string());
        self.member(name, |json| json.0.extend_from_slice(text.as_bytes()));
    }

    fn side(&mut self, side: &Side) {
        self.object(|json| {
            json.string("folder", &side.folder);
            json.string("run", &side.run);
            json.number("records", side.records);
        });
    }

    fn row(&mut self, row: &Row) {
        self.object(|json| {
            json.string("group", &row.group);
            json.string("metric", row.metric.name());
            for (name, number) in NUMBERS.into_iter().zip(numbers(row)) {
                json.double(name, number);
            }
            json.number("units", row.units);
            json.string("method", row.method.name());
        });
    }

    fn matching(&mut self, matching: &Matching) {
        self.number("pairs", matching.pairs);
        for (name, side) in [("base_unpaired", &matching.base), ("new_unpaired", &matching.new)] {
            let SideMatching { only, repeated, without_id } = side;
            self.member(name, |json| {
                json.object(|json| {
                    for (name, list) in [("only", only), ("repeated", repeated), ("without_id", without_id)] {
                        json.member(name, |json| json.listed(list));
                    }
                });
            });
        }
        self.member("no_longer_valid", |json| json.listed(&matching.no_longer_valid));
        self.member("now_valid", |json| json.listed(&matching.now_valid));
    }

    fn listed(&mut self, list: &Listed) {
        self.object(|json| {
            json.number("count", list.count);
            json.number("left_out", list.left_out());
            json.member("records", |json| json.list(&list.first, Json::record));
        });
    }

    fn record(&mut self, record: &ListedRecord) {
        self.object(|json| {
            match &record.id {
                None => {}
                Some(Id::Text(id)) => json.string("id", id),
                Some(Id::Number(id)) => json.member("id", |json| json.0.extend_from_slice(id.as_bytes())),
            }
            json.string("file", &record.file);
            json.number("line", record.line);
            for (name, status) in [("before", record.before), ("after", record.after)] {
                if let Some(status) = status.map(Status::name) {
                    json.string(name, status);
                }
            }
            if record.before.is_some() && record.after.is_some() {
                for (name, codes) in [("new_codes", &record.new_codes), ("gone_codes", &record.gone_codes)] {
                    let write = |json: &mut Self, rule: &crate::diagnostic::Rule| {
                        write_string(rule.name(), &mut json.0);
                    };
                    json.member(name, |json| json.list(codes, write));
                }
            }
        });
    }

    fn code(&mut self, change: &CodeChange) {
        self.object(|json| {
            json.string("code", change.rule.name());
            json.number("base", change.base);
            json.number("new", change.new);
        });
    }
}

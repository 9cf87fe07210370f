//! Definitions, documents and queries made of arbitrary bytes.

use runnel_search::{
    Attribute, AttributeType, Boost, Category, Document, Fidelity, Grid, Id, IndexConfig,
    KeyFormat, Language, Partial, SearchConfig, Similarity, Stemmer, Synonyms, Tokenizer, Weight,
};

/// Categories of an index, by the letter that is their name.
pub const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
/// Identifiers of documents; few, so that they meet again.
pub const IDS: u8 = 24;
/// Steps of one run; more say nothing new.
pub const MOST_STEPS: usize = 80;
/// What queries are made of besides letters.
pub const PIECES: [&str; 32] = [
    "a",
    "b",
    "ab",
    "aba",
    "1",
    "12",
    " ",
    " ",
    "*",
    "~",
    "\"",
    ":",
    "|",
    "\u{2026}",
    ",",
    "!",
    "-",
    "the ",
    "running",
    "stra\u{df}e",
    "\u{fc}ber",
    "\u{451}",
    "\u{130}",
    "\u{e9}t\u{e9}s",
    "\u{65e5}\u{672c}\u{8a9e}",
    "\u{e44}\u{e17}\u{e22}",
    "\u{ff21}",
    "e\u{301}",
    "'",
    "<",
    ".",
    "\u{1f469}\u{200d}\u{1f467}",
];
/// Attributes, each with the field of its name.
pub const ATTRIBUTES: [(&str, AttributeType); 6] = [
    ("n", AttributeType::Integer),
    ("f", AttributeType::Float),
    ("g", AttributeType::Float),
    ("t", AttributeType::Text),
    ("o", AttributeType::Boolean),
    ("d", AttributeType::Date),
];
/// Values of attributes.
pub const VALUES: [&str; 24] = [
    "1",
    "0",
    "-1",
    "12",
    "1.5",
    "-0.0",
    "1e308",
    "-1e308",
    "inf",
    "NaN",
    "9223372036854775807",
    "-9223372036854775808",
    "true",
    "false",
    "1990",
    "1990-05",
    "1990-05-17T10:30:00.5+02:00",
    "9999-12-31",
    "0001-01-01",
    "a",
    "'b c'",
    "''",
    "90",
    "180",
];
/// What filters and orders are made of besides these.
pub const FILTERS: [&str; 24] = [
    " and ",
    " or ",
    "not ",
    "(",
    ")",
    " in (",
    ",",
    "has ",
    "..",
    " = ",
    " != ",
    "<",
    ">=",
    ">",
    "<=",
    "distance(f, g, 47, 8) < ",
    "n",
    "f",
    "t",
    "o",
    "d",
    "'",
    "-",
    " ",
];

/// The bytes of an input, one after the other; zeros once there are none.
pub struct Bytes<'a>(pub std::slice::Iter<'a, u8>);

impl Bytes<'_> {
    pub fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or_default()
    }

    pub fn below(&mut self, end: u8) -> u8 {
        self.byte() % end
    }

    pub fn yes(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    pub fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// A short signed number.
    pub fn number(&mut self) -> i32 {
        i32::from(self.below(15)) - 7
    }

    pub fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[usize::from(self.byte()) % texts.len()]
    }

    /// A value of a type, almost always.
    pub fn value(&mut self, kind: AttributeType) -> &'static str {
        let values = match kind {
            AttributeType::Integer => &["0", "1", "-1", "12", VALUES[10], VALUES[11]][..],
            AttributeType::Float => &["0", "1.5", "-0.0", "1e308", "-1e308", "47", "8", "90"],
            AttributeType::Boolean => &["true", "false"],
            AttributeType::Date => &VALUES[14..19],
            AttributeType::Text => &VALUES,
        };
        match self.below(32) {
            31 => self.one_of(&VALUES),
            _ => self.one_of(values),
        }
    }

    /// A condition as it is written, almost always one that can be read.
    pub fn filter(&mut self, depth: u8) -> String {
        let (attribute, kind) = ATTRIBUTES[usize::from(self.below(6))];
        let value = self.value(kind);
        match self.below(if depth == 0 { 7 } else { 11 }) {
            0 => format!("{attribute} = {value}"),
            1 => format!("{attribute} {} {value}", self.one_of(&["<", "<=", ">", ">=", "!="])),
            2 => format!("{attribute} in ({value}, {})", self.value(kind)),
            3 => format!("{attribute} = {value}..{}", self.value(kind)),
            4 => format!("{attribute} = {value}.."),
            5 => format!("{}{attribute}", self.one_of(&["has ", ""])),
            6 => {
                let mut number = || self.value(AttributeType::Float);
                let (latitude, longitude, far) = (number(), number(), number());
                let compared = self.one_of(&["<", "<=", ">", ">="]);
                format!("distance(f, g, {latitude}, {longitude}) {compared} {far}")
            }
            7 => format!("not {}", self.filter(depth - 1)),
            8 => format!("({}) or {}", self.filter(depth - 1), self.filter(depth - 1)),
            9 => format!("{} and ({})", self.filter(depth - 1), self.filter(depth - 1)),
            _ => {
                let length = self.below(16);
                let all = |_| match self.below(3) {
                    0 => self.one_of(&VALUES),
                    _ => self.one_of(&FILTERS),
                };
                (0..length).map(all).collect()
            }
        }
    }

    pub fn order(&mut self) -> String {
        let count = 1 + self.below(5);
        let all = (0..count).map(|_| {
            let attribute = ATTRIBUTES[usize::from(self.below(6))].0;
            format!("{}{attribute}", self.one_of(&["", "-", "+", " -"]))
        });
        all.collect::<Vec<_>>().join(",")
    }

    pub fn language(&mut self) -> Language {
        let names: Vec<&str> = Language::names().collect();
        Language::named(self.one_of(&names)).expect("its own name")
    }

    /// A text of the pieces, or of any bytes.
    pub fn text(&mut self) -> String {
        let length = self.below(24);
        if self.below(4) > 0 {
            return (0..length).map(|_| self.one_of(&PIECES)).collect();
        }
        let bytes: Vec<u8> = (0..length).map(|_| self.byte()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

pub fn partial(bytes: &mut Bytes<'_>) -> Partial {
    match bytes.below(5) {
        0 => Partial::None,
        1 => Partial::default(),
        2 => Partial::Infix { min: bytes.number(), max: bytes.number() },
        3 => Partial::substring(1, -1),
        _ => Partial::substring(bytes.number(), bytes.number()),
    }
}

pub fn category(bytes: &mut Bytes<'_>, name: &str) -> Category {
    if bytes.below(8) == 7 {
        let grid = Grid::new(f64::from(bytes.number()), u32::from(bytes.below(5)), 0.0);
        return Category::near(name, grid);
    }
    let similarity = match bytes.below(5) {
        0 => Similarity::DoubleMetaphone(usize::from(bytes.below(4))),
        1 => Similarity::Metaphone(usize::from(bytes.below(4))),
        2 => Similarity::Soundex(usize::from(bytes.below(4))),
        _ => Similarity::None,
    };
    let weight = match bytes.below(4) {
        0 => Weight::Constant(bytes.number().into()),
        1 => Weight::Logarithmic(f64::from(bytes.number()).into()),
        _ => Weight::default(),
    };
    let category = Category::new(name)
        .partial(partial(bytes))
        .similarity(similarity)
        .weight(weight)
        .exact_first(bytes.below(4) == 0);
    match bytes.below(6) {
        0 => category.from(NAMES[usize::from(bytes.below(6))]),
        1 => category.qualifiers([NAMES[usize::from(bytes.below(6))], "q"]),
        2 => category.tokenizer(
            Tokenizer::new().stems(Stemmer::named("english").expect("a known language")),
        ),
        3 => category.tokenizer(bytes.language().indexing()),
        _ => category,
    }
}

pub fn index_config(bytes: &mut Bytes<'_>, name: &str) -> IndexConfig {
    let count = 1 + usize::from(bytes.below(6));
    let fidelity = if bytes.yes() { Fidelity::Original } else { Fidelity::Corrected };
    let format = if bytes.yes() { KeyFormat::Text } else { KeyFormat::Integer };
    let config =
        IndexConfig::new(name).fidelity(fidelity).key_format(format).fixed(bytes.below(4) == 0);
    let categories = NAMES.iter().take(count);
    let config = categories.fold(config, |config, name| config.category(category(bytes, name)));
    let config = config.phrases(bytes.yes());
    let config = match bytes.below(4) {
        0 => config.tokenizer(bytes.language().indexing()),
        _ => config,
    };
    let attributes = bytes.byte();
    let chosen = ATTRIBUTES.iter().enumerate().filter(|(at, _)| attributes >> at & 1 == 0);
    chosen.fold(config, |config, (_, (name, kind))| {
        let attribute = Attribute::new(*name, *kind);
        config.attribute(match bytes.below(4) {
            0 => attribute.from("a"),
            _ => attribute,
        })
    })
}

pub fn preferences(bytes: &mut Bytes<'_>) -> SearchConfig {
    let flags = bytes.byte();
    let on = |bit: u8| flags >> bit & 1 == 1;
    let mut config = SearchConfig::new();
    if on(0) {
        config = config.max_allocations(usize::from(bytes.below(5)));
    }
    if on(1) {
        config = config.terminate_early(usize::from(bytes.below(3)));
    }
    if on(2) {
        config = config.ignore("a");
    }
    if on(3) {
        config = config.ignore_list(["a", "b"]).boost(Boost::new(["b", "a"], bytes.number()));
    }
    if on(4) {
        config = config.only(["a"]).only(["a", "b"]);
    }
    if on(5) {
        config = config.typos(2);
    }
    if on(6) {
        config = config.exclusion('!');
    }
    let more = bytes.byte();
    if more & 1 == 1 {
        config = config.phrases(true);
    }
    if more & 2 == 2 {
        config = config.exclusion('-');
    }
    if more & 4 == 4 {
        let synonyms = Synonyms::new().set([bytes.text(), bytes.text(), "aba".to_owned()]);
        config = config.synonyms(synonyms.one_way("a", [bytes.text(), "b".to_owned()]));
    }
    if more & 8 == 8 {
        config = config.tokenizer(bytes.language().searching());
    }
    if more & 16 == 16 {
        config = config.fidelity(Fidelity::Original);
    }
    config.ignore_unassigned(on(7))
}

pub fn id(bytes: &mut Bytes<'_>) -> Id {
    let number = bytes.below(IDS + 8);
    match number.checked_sub(IDS) {
        None => Id::Integer(i64::from(number)),
        Some(number) => Id::Text(
            ["", "1", " 2", "3x", "-0", "a", "\"\u{e9}", "1e3"][usize::from(number)].into(),
        ),
    }
}

pub fn document(bytes: &mut Bytes<'_>) -> Document {
    let document = Document::new(id(bytes));
    let fields = bytes.byte();
    let named = NAMES.iter().enumerate().filter(|(at, _)| fields >> at & 1 == 1);
    let document = named.fold(document, |document, (_, name)| match bytes.below(8) {
        0 => document.with(*name, vec![bytes.text(), bytes.text()]),
        _ => document.with(*name, bytes.text()),
    });
    let values = bytes.byte();
    let named = ATTRIBUTES.iter().enumerate().filter(|(at, _)| values >> at & 1 == 1);
    named.fold(document, |document, (_, (name, _))| match bytes.below(8) {
        0 => document.with(*name, vec![bytes.one_of(&VALUES).into(), bytes.text()]),
        1 => document.with(*name, bytes.text()),
        _ => document.with(*name, bytes.one_of(&VALUES)),
    })
}

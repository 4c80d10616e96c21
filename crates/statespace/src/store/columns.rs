//! Keys, as people read them: columns with names, and TLA+ text.
//!
//! Two views are made of a layout. In `state_v` every slot is a column that SQL can compare: numbers are numbers,
//! strings and model values are text without quotes, sets are TLA+ text. A variable of one slot gives its name to the
//! column; of others, the column is named after the element: `pc["p1"]` is `pc_p1`. In `state_text` every variable is a
//! column with the TLA+ text of its value.
//!
//! A layout of more than 63 bits does not fit into one number. Then the key is the state's number, and the slots lie in
//! further columns `w0`, `w1`, ..., none across two of them.

use crate::packed::{Key, Layout, Shape, Slot, SlotKind};
use crate::sql::Dialect;

/// Bits of a word that SQL can shift without meeting a sign.
const WORD_BITS: u32 = 62;

/// Where the slots of a layout are in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// For each slot the column and the lowest bit in it.
    places: Vec<(String, u32)>,
    /// The first slot of each further column, if the key is not all there is.
    words: Vec<usize>,
}

impl Columns {
    /// For a layout.
    pub fn new(layout: &Layout) -> Columns {
        if layout.fits_sql() {
            return Columns {
                places: layout.slots.iter().map(|slot| ("k".into(), slot.offset)).collect(),
                words: Vec::new(),
            };
        }
        let mut columns = Columns { places: Vec::new(), words: vec![0] };
        let mut used = 0;
        for (place, slot) in layout.slots.iter().enumerate() {
            if used + slot.width > WORD_BITS {
                columns.words.push(place);
                used = 0;
            }
            columns.places.push((format!("w{}", columns.words.len() - 1), used));
            used += slot.width;
        }
        columns
    }

    /// How many columns there are besides key and level.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// What stands in the further columns of a state.
    pub fn split<'a>(&'a self, layout: &'a Layout, key: Key) -> impl Iterator<Item = i64> + 'a {
        (0..self.words.len()).map(move |word| {
            let slots = self.words[word]..self.words.get(word + 1).copied().unwrap_or(layout.slots.len());
            slots.fold(0, |bits, place| {
                let slot = &layout.slots[place];
                bits | (((key.0 >> slot.offset) & slot.mask()) as i64) << self.places[place].1
            })
        })
    }

    /// The key of a state, from what stands in its row: the key column, then the further ones.
    pub fn join(&self, layout: &Layout, stored: i64, words: &[i64]) -> Key {
        if self.words.is_empty() {
            return Key::from_sql(stored);
        }
        let mut key = 0u128;
        for (slot, (column, low)) in layout.slots.iter().zip(&self.places) {
            let word = column[1..].parse().ok().and_then(|word: usize| words.get(word)).copied().unwrap_or(0);
            key |= ((word as u128 >> low) & slot.mask()) << slot.offset;
        }
        Key(key)
    }

    /// What the code of a slot is.
    fn code(&self, dialect: Dialect, layout: &Layout, place: usize) -> String {
        let (slot, (column, low)) = (&layout.slots[place], &self.places[place]);
        match slot.width {
            0 => dialect.number(0),
            _ => format!("({} & {})", dialect.shift_right(column, &low.to_string()), slot.mask()),
        }
    }

    /// A slot as SQL compares it.
    pub fn value(&self, dialect: Dialect, layout: &Layout, place: usize) -> String {
        let slot = &layout.slots[place];
        match &slot.kind {
            SlotKind::Enum(values) => {
                let compared = compared(dialect, values);
                self.choice(dialect, layout, place, compared.into_iter())
            }
            SlotKind::Bool if dialect != Dialect::Sqlite => format!("{} <> 0", self.code(dialect, layout, place)),
            SlotKind::Bool | SlotKind::Int => self.number(dialect, layout, place),
            SlotKind::Mask(_) => self.text(dialect, layout, place),
            SlotKind::Dict(dict) => format!(
                "(SELECT value FROM {} WHERE id = {})",
                dialect.name(&dict_table(layout, *dict)),
                self.code(dialect, layout, place)
            ),
        }
    }

    fn number(&self, dialect: Dialect, layout: &Layout, place: usize) -> String {
        let code = self.code(dialect, layout, place);
        match layout.slots[place].bias {
            0 => code,
            bias => format!("({code} + {})", dialect.number(bias)),
        }
    }

    /// A slot as TLA+ writes it.
    fn text(&self, dialect: Dialect, layout: &Layout, place: usize) -> String {
        let slot = &layout.slots[place];
        match &slot.kind {
            SlotKind::Enum(values) => {
                self.choice(dialect, layout, place, values.iter().map(|value| dialect.text(value)))
            }
            SlotKind::Int => format!("CAST({} AS TEXT)", self.number(dialect, layout, place)),
            SlotKind::Bool => self.choice(dialect, layout, place, ["'FALSE'", "'TRUE'"].map(String::from).into_iter()),
            SlotKind::Dict(_) => self.value(dialect, layout, place),
            SlotKind::Mask(values) => {
                let code = self.code(dialect, layout, place);
                let member = |(bit, value): (usize, &String)| {
                    let is = format!("{code} & {} <> 0", 1u64 << bit);
                    format!("CASE WHEN {is} THEN {} ELSE '' END", dialect.text(&format!(", {value}")))
                };
                let members: Vec<String> = values.iter().enumerate().map(member).collect();
                match members.is_empty() {
                    true => "'{}'".into(),
                    false => format!("('{{' || substr({}, 3) || '}}')", members.join(" || ")),
                }
            }
        }
    }

    /// One of some values, by the code.
    fn choice(&self, dialect: Dialect, layout: &Layout, place: usize, values: impl Iterator<Item = String>) -> String {
        let cases: Vec<String> = values.enumerate().map(|(code, value)| format!(" WHEN {code} THEN {value}")).collect();
        match cases.is_empty() {
            true => "NULL".into(),
            false => format!("CASE {}{} END", self.code(dialect, layout, place), cases.concat()),
        }
    }

    /// The TLA+ text of a value whose slots begin at a place, which is moved behind them.
    fn shape_text(&self, dialect: Dialect, layout: &Layout, shape: &Shape, place: &mut usize) -> String {
        let part = |shape: &Shape, place: &mut usize| self.shape_text(dialect, layout, shape, place);
        match shape {
            Shape::One => {
                *place += 1;
                self.text(dialect, layout, *place - 1)
            }
            Shape::Function(parts) => {
                let parts = parts.iter().map(|(key, shape)| (format!("{key} :> "), part(shape, place))).collect();
                enclosed(dialect, "(", parts, " @@ ", ")")
            }
            Shape::Record(parts) => {
                let parts = parts.iter().map(|(field, shape)| (format!("{field} |-> "), part(shape, place))).collect();
                enclosed(dialect, "[", parts, ", ", "]")
            }
            Shape::Tuple(parts) => {
                let parts = parts.iter().map(|shape| (String::new(), part(shape, place))).collect();
                enclosed(dialect, "<<", parts, ", ", ">>")
            }
            Shape::Sequence(element, count) => {
                let length = self.number(dialect, layout, *place);
                *place += 1;
                let elements: Vec<String> = (0..*count)
                    .map(|at| {
                        let text = part(element, place);
                        let comma = if at > 0 { "', ' || " } else { "" };
                        format!("CASE WHEN {length} > {at} THEN {comma}{text} ELSE '' END")
                    })
                    .collect();
                match elements.is_empty() {
                    true => "'<<>>'".into(),
                    false => format!("('<<' || {} || '>>')", elements.join(" || ")),
                }
            }
        }
    }

    /// The columns of `state_v`: names and expressions.
    pub fn values(&self, dialect: Dialect, layout: &Layout) -> Vec<(String, String)> {
        let names = distinct(layout.slots.iter().map(plain));
        names.into_iter().enumerate().map(|(place, name)| (name, self.value(dialect, layout, place))).collect()
    }

    /// The columns of `state_text`: names and expressions.
    pub fn texts(&self, dialect: Dialect, layout: &Layout) -> Vec<(String, String)> {
        let names = distinct(layout.variables.iter().map(|variable| variable.name.clone()));
        let text = |variable: &crate::packed::VariableLayout| {
            let mut place = variable.slots.start;
            self.shape_text(dialect, layout, &variable.shape, &mut place)
        };
        names.into_iter().zip(layout.variables.iter().map(text)).collect()
    }
}

fn enclosed(dialect: Dialect, open: &str, parts: Vec<(String, String)>, comma: &str, close: &str) -> String {
    let mut out = String::new();
    let mut before = open.to_string();
    for (label, text) in parts {
        out.push_str(&format!("{} || {text} || ", dialect.text(&format!("{before}{label}"))));
        before = comma.into();
    }
    match out.is_empty() {
        true => dialect.text(&format!("{open}{close}")),
        false => format!("({out}{})", dialect.text(close)),
    }
}

/// Values as SQL compares them: numbers and booleans if all of them are, else text. No text at all is NULL.
fn compared(dialect: Dialect, values: &[String]) -> Vec<String> {
    let all = |one: &dyn Fn(&str) -> Option<String>| -> Option<Vec<String>> {
        values.iter().map(|value| if value.is_empty() { Some("NULL".into()) } else { one(value) }).collect()
    };
    let number = |value: &str| value.parse::<i64>().ok().map(|number| dialect.number(number));
    let truth = |value: &str| match (value, dialect) {
        ("TRUE" | "FALSE", Dialect::Postgres | Dialect::Duckdb) => Some(value.into()),
        ("TRUE", _) => Some("1".into()),
        ("FALSE", _) => Some("0".into()),
        _ => None,
    };
    let text = |value: &str| Some(dialect.text(&unquoted(value)));
    all(&number).or_else(|| all(&truth)).or_else(|| all(&text)).unwrap_or_default()
}

/// A string without its quotes.
fn unquoted(text: &str) -> String {
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(inner) => inner.replace("\\\"", "\"").replace("\\\\", "\\"),
        None => text.into(),
    }
}

/// The table of a dictionary: named after the variable, or with a number if several are needed.
pub(super) fn dict_table(layout: &Layout, dict: usize) -> String {
    let owners: Vec<(usize, &str)> = layout
        .variables
        .iter()
        .flat_map(|variable| {
            layout.slots[variable.slots.clone()].iter().map(move |slot| (slot, variable.name.as_str()))
        })
        .filter_map(|(slot, name)| match slot.kind {
            SlotKind::Dict(dict) => Some((dict, name)),
            _ => None,
        })
        .collect();
    let owner = owners.iter().find(|(owned, _)| *owned == dict).map_or("", |(_, name)| name);
    let alone = owners.iter().all(|(owned, name)| *owned == dict || *name != owner);
    if alone { format!("dict_{owner}") } else { format!("dict_{owner}_{dict}") }
}

/// Names for columns: none twice, whatever the case of letters, and none that is taken.
fn distinct(plain: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = vec!["k".into(), "lvl".into()];
    for plain in plain {
        let taken = |name: &str| names.iter().any(|other| other.eq_ignore_ascii_case(name));
        let mut again = 2;
        let mut name = plain.clone();
        while taken(&name) {
            name = format!("{plain}_{again}");
            again += 1;
        }
        names.push(name);
    }
    names.split_off(2)
}

fn plain(slot: &Slot) -> String {
    let mut name = String::new();
    for c in slot.name.chars() {
        match c {
            c if c.is_alphanumeric() || c == '_' => name.push(c),
            '"' | ']' | ')' | '>' | '\'' => {}
            _ if name.ends_with('_') || name.is_empty() => {}
            _ => name.push('_'),
        }
    }
    if name.is_empty() { "value".into() } else { name }
}

//! Expressions over packed states, as SQL.
//!
//! The same [`Expr`] that runs as Rust is printed over a column `k` that holds the key. Conditions and numbers are told
//! apart, since most databases do: a comparison that is used as a number becomes a `CASE`. What could fail in SQL and
//! not in Rust (a division by zero in a branch that is not taken) is written so that it gives NULL instead.

use super::Dialect;
use crate::packed::{Binary, Expr, Instance, Layout, Program, Slot};

/// Prints expressions over the slots of one layout.
#[derive(Clone, Copy, Debug)]
pub struct Printer<'a> {
    /// How to write it.
    pub dialect: Dialect,
    /// Where slots are.
    pub layout: &'a Layout,
    /// The column that holds the key.
    pub key: &'a str,
}

impl Printer<'_> {
    /// An expression as something that is true or not.
    pub fn condition(&self, expr: &Expr) -> String {
        match expr {
            Expr::Const(0) => "1 = 0".into(),
            Expr::Const(_) => "1 = 1".into(),
            Expr::Not(inner) => format!("NOT ({})", self.condition(inner)),
            Expr::And(parts) if parts.is_empty() => "1 = 1".into(),
            Expr::Or(parts) if parts.is_empty() => "1 = 0".into(),
            Expr::And(parts) => self.joined(parts, " AND "),
            Expr::Or(parts) => self.joined(parts, " OR "),
            Expr::If(when, then, other) => format!(
                "CASE WHEN {} THEN {} ELSE {} END",
                self.condition(when),
                self.condition(then),
                self.condition(other)
            ),
            Expr::Binary(op, a, b) => match comparison(*op) {
                Some(sign) => format!("{} {sign} {}", self.number(a), self.number(b)),
                None => format!("{} <> 0", self.number(expr)),
            },
            _ => format!("{} <> 0", self.number(expr)),
        }
    }

    fn joined(&self, parts: &[Expr], sign: &str) -> String {
        let parts: Vec<String> = parts.iter().map(|part| format!("({})", self.condition(part))).collect();
        parts.join(sign)
    }

    /// An expression as a number.
    pub fn number(&self, expr: &Expr) -> String {
        match expr {
            Expr::Const(value) => self.dialect.number(*value),
            Expr::Slot(place) => self.slot(&self.layout.slots[*place]),
            Expr::Dynamic { base, stride, count, index } => self.dynamic(*base, *stride, *count, index),
            Expr::Neg(inner) => format!("(- {})", self.number(inner)),
            Expr::BitNot(inner) => format!("(-1 - {})", self.number(inner)),
            Expr::PopCount(inner) => self.dialect.pop_count(&self.number(inner), self.bits(inner)),
            Expr::Binary(op, a, b) if comparison(*op).is_none() => self.arithmetic(*op, a, b),
            Expr::If(when, then, other) => {
                format!("CASE WHEN {} THEN {} ELSE {} END", self.condition(when), self.number(then), self.number(other))
            }
            Expr::Not(_) | Expr::And(_) | Expr::Or(_) | Expr::Binary(..) => {
                let (one, zero) = (self.dialect.number(1), self.dialect.number(0));
                format!("CASE WHEN {} THEN {one} ELSE {zero} END", self.condition(expr))
            }
        }
    }

    /// What a slot means.
    fn slot(&self, slot: &Slot) -> String {
        if slot.width == 0 {
            return self.dialect.number(slot.bias);
        }
        let shifted = match slot.offset {
            0 => self.key.to_string(),
            offset => self.dialect.shift_right(self.key, &offset.to_string()),
        };
        self.biased(format!("({shifted} & {})", slot.mask()), slot)
    }

    fn biased(&self, code: String, slot: &Slot) -> String {
        match slot.bias {
            0 => code,
            bias => format!("({code} + {})", self.dialect.number(bias)),
        }
    }

    fn dynamic(&self, base: usize, stride: usize, count: usize, index: &Expr) -> String {
        let slots = &self.layout.slots;
        let slot = &slots[base];
        let distance = match count {
            0 | 1 => 0,
            _ => slots[base + stride].offset - slot.offset,
        };
        if slot.width == 0 || distance == 0 {
            return self.slot(slot);
        }
        let count = format!("({} + {distance} * {})", slot.offset, self.number(index));
        self.biased(format!("({} & {})", self.dialect.shift_right(self.key, &count), slot.mask()), slot)
    }

    fn arithmetic(&self, op: Binary, a: &Expr, b: &Expr) -> String {
        let (left, right) = (self.number(a), self.number(b));
        let divisor = match b {
            Expr::Const(_) => right.clone(),
            _ => format!("NULLIF({right}, 0)"),
        };
        let natural = self.bounds(a).0 >= 0;
        match op {
            Binary::Add => format!("({left} + {right})"),
            Binary::Sub => format!("({left} - {right})"),
            Binary::Mul => format!("({left} * {right})"),
            Binary::BitAnd => format!("({left} & {right})"),
            Binary::BitOr => format!("({left} | {right})"),
            Binary::Shl => self.dialect.shift_left(&left, &right),
            Binary::Shr => self.dialect.shift_right(&left, &right),
            Binary::Div if natural => self.dialect.divide(&left, &divisor),
            // Rounded down, where databases round towards zero.
            Binary::Div => {
                let below = self.dialect.divide(&format!("({right} - 1 - {left})"), &divisor);
                format!("CASE WHEN {left} >= 0 THEN {} ELSE - {below} END", self.dialect.divide(&left, &divisor))
            }
            Binary::Mod if natural => format!("({left} % {divisor})"),
            Binary::Mod => format!("(({left} % {divisor} + {right}) % {divisor})"),
            Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le => unreachable!("comparisons are conditions"),
        }
    }

    /// Between which numbers the value lies.
    fn bounds(&self, expr: &Expr) -> (i64, i64) {
        let all = (i64::MIN, i64::MAX);
        match expr {
            Expr::Const(value) => (*value, *value),
            Expr::Slot(place) => self.layout.slots[*place].range(),
            Expr::Dynamic { base, .. } => self.layout.slots[*base].range(),
            Expr::Not(_) | Expr::And(_) | Expr::Or(_) => (0, 1),
            Expr::PopCount(_) => (0, 64),
            Expr::If(_, a, b) => {
                let (a, b) = (self.bounds(a), self.bounds(b));
                (a.0.min(b.0), a.1.max(b.1))
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.bounds(a), self.bounds(b));
                match op {
                    Binary::Add => (a.0.saturating_add(b.0), a.1.saturating_add(b.1)),
                    Binary::Sub => (a.0.saturating_sub(b.1), a.1.saturating_sub(b.0)),
                    Binary::Mul if a.0 >= 0 && b.0 >= 0 => (0, a.1.saturating_mul(b.1)),
                    Binary::Mod => (0, b.1),
                    Binary::Div if a.0 >= 0 => (0, a.1),
                    Binary::BitAnd if a.0 >= 0 || b.0 >= 0 => (0, i64::MAX),
                    Binary::BitOr if a.0 >= 0 && b.0 >= 0 => (0, i64::MAX),
                    Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le => (0, 1),
                    _ => all,
                }
            }
            Expr::Neg(_) | Expr::BitNot(_) => all,
        }
    }

    /// How many of the lowest bits can be 1.
    fn bits(&self, expr: &Expr) -> u32 {
        match expr {
            Expr::Slot(place) if self.layout.slots[*place].bias == 0 => self.layout.slots[*place].width,
            Expr::Dynamic { base, .. } if self.layout.slots[*base].bias == 0 => self.layout.slots[*base].width,
            Expr::Const(value) => 64 - value.leading_zeros(),
            Expr::Binary(Binary::BitAnd, a, b) => self.bits(a).min(self.bits(b)),
            Expr::Binary(Binary::BitOr, a, b) => self.bits(a).max(self.bits(b)),
            Expr::If(_, a, b) => self.bits(a).max(self.bits(b)),
            _ => 64,
        }
    }

    /// What comes of taking an action one way.
    pub fn successor(&self, program: &Program, place: usize) -> Successor {
        let instance = &program.instances[place];
        let holds = |expr: &Expr| *expr == Expr::Const(1) || *expr == Expr::And(Vec::new());
        let mut key = self.updated(instance);
        let mut when = self.condition(&instance.guard);
        if !holds(&instance.in_range) {
            let error = self.dialect.number(Trouble::OutOfRange(place).code());
            key = format!("CASE WHEN {} THEN {key} ELSE {error} END", self.condition(&instance.in_range));
        }
        if !holds(&instance.defined) {
            let (defined, error) =
                (self.condition(&instance.defined), self.dialect.number(Trouble::Undefined(place).code()));
            when = format!("CASE WHEN {defined} THEN {when} ELSE 1 = 1 END");
            key = format!("CASE WHEN {defined} THEN {key} ELSE {error} END");
        }
        Successor { when, key }
    }

    /// The key with the updates: their bits cleared, then set.
    fn updated(&self, instance: &Instance) -> String {
        let slot = |place: usize| &self.layout.slots[place];
        let cleared =
            instance.updates.iter().fold(0u128, |bits, (place, _)| bits | slot(*place).mask() << slot(*place).offset);
        let kept = ((1u128 << self.layout.bits) - 1) & !cleared;
        let mut key = match cleared {
            0 => self.key.to_string(),
            _ => format!("({} & {kept})", self.key),
        };
        let mut constant = 0u128;
        for (place, expr) in &instance.updates {
            let slot = slot(*place);
            match expr {
                _ if slot.width == 0 => {}
                Expr::Const(value) => {
                    constant |= ((value.wrapping_sub(slot.bias)) as u128 & slot.mask()) << slot.offset;
                }
                expr => {
                    let code = match slot.bias {
                        0 => self.number(expr),
                        bias => format!("({} - {})", self.number(expr), self.dialect.number(bias)),
                    };
                    let bits = match slot.offset {
                        0 => code,
                        offset => self.dialect.shift_left(&format!("({code})"), &offset.to_string()),
                    };
                    key = format!("{key} | {bits}");
                }
            }
        }
        match constant {
            0 => format!("({key})"),
            constant => format!("({key} | {constant})"),
        }
    }
}

fn comparison(op: Binary) -> Option<&'static str> {
    match op {
        Binary::Eq => Some("="),
        Binary::Ne => Some("<>"),
        Binary::Lt => Some("<"),
        Binary::Le => Some("<="),
        _ => None,
    }
}

/// What comes of a step: when there is one, and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Successor {
    /// A condition.
    pub when: String,
    /// A number; negative for a step that goes wrong.
    pub key: String,
}

/// A step that goes wrong. Keys are never negative, so a negative key says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A new value has no code in its slot.
    OutOfRange(usize),
    /// The step means nothing there.
    Undefined(usize),
}

impl Trouble {
    /// The key that says so.
    pub fn code(self) -> i64 {
        match self {
            Trouble::OutOfRange(instance) => -2 * instance as i64 - 1,
            Trouble::Undefined(instance) => -2 * instance as i64 - 2,
        }
    }

    /// What a key says, if it is one of these.
    pub fn of(code: i64) -> Option<Trouble> {
        let instance = usize::try_from((-1 - code) / 2).ok().filter(|_| code < 0)?;
        Some(if code % 2 == 0 { Trouble::Undefined(instance) } else { Trouble::OutOfRange(instance) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn troubles_come_back() {
        for instance in 0..5 {
            for trouble in [Trouble::OutOfRange(instance), Trouble::Undefined(instance)] {
                assert_eq!(Trouble::of(trouble.code()), Some(trouble));
            }
        }
        assert_eq!(Trouble::of(0), None);
    }
}

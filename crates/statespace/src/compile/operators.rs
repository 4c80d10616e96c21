//! What the operators of the standard modules make of values that are partly known.

use super::build::{X, and, binary, eq, known, range};
use super::eval::Partly;
use super::sym::{Made, NoForm, Sym, complement, masks, merge, no, sequence, subset, table};
use crate::packed::{Binary, Expr as Packed};
use crate::tla::builtin::Builtin;
use crate::tla::operate::operate;
use crate::tla::value::Value;

impl Partly<'_> {
    pub(super) fn operator(&mut self, builtin: Builtin, values: &[Sym]) -> Made<Sym> {
        let slots = self.slots;
        let compared =
            |operator, a: &Sym, b: &Sym| -> Made<Sym> { Ok(Sym::Bool(binary(operator, a.int()?, b.int()?))) };
        let reckoned = |operator, a: &Sym, b: &Sym| -> Made<Sym> { Ok(Sym::Int(binary(operator, a.int()?, b.int()?))) };
        match (builtin, values) {
            (Builtin::Add, [a, b]) => reckoned(Binary::Add, a, b),
            (Builtin::Subtract, [a, b]) => reckoned(Binary::Sub, a, b),
            (Builtin::Multiply, [a, b]) => reckoned(Binary::Mul, a, b),
            (Builtin::Divide | Builtin::Modulo, [a, b]) => {
                let divisor = b.int()?;
                let positive = range(&divisor, slots).is_some_and(|(least, _)| least > 0);
                if !positive {
                    self.require(binary(Binary::Lt, Packed::Const(0), divisor));
                }
                reckoned(if builtin == Builtin::Divide { Binary::Div } else { Binary::Mod }, a, b)
            }
            (Builtin::Negate, [a]) => Ok(Sym::Int(Packed::Neg(Box::new(a.int()?)))),
            (Builtin::Less, [a, b]) => compared(Binary::Lt, a, b),
            (Builtin::LessEq, [a, b]) => compared(Binary::Le, a, b),
            (Builtin::Greater, [a, b]) => compared(Binary::Lt, b, a),
            (Builtin::GreaterEq, [a, b]) => compared(Binary::Le, b, a),
            (Builtin::Interval, [a, b]) => {
                let (from, to) = (a.int()?, b.int()?);
                let (Some((least, _)), Some((_, most))) = (range(&from, slots), range(&to, slots)) else {
                    return no("an interval of unknown range");
                };
                if most - least >= 62 {
                    return no("an interval of more than 62 numbers");
                }
                let within = |number: i64| {
                    let number = Packed::Const(number);
                    and([binary(Binary::Le, from.clone(), number.clone()), binary(Binary::Le, number, to.clone())])
                };
                let elements = (least..=most).map(|number| (within(number), Sym::Value(Value::Int(number))));
                self.set_of(elements.collect())
            }
            (Builtin::Cup, [a, b]) => masks(a, b).map(|(of, x, y)| Sym::Mask(of, binary(Binary::BitOr, x, y))),
            (Builtin::Cap, [a, b]) => self.restricted(a, b, true),
            (Builtin::Minus, [a, b]) => self.restricted(a, b, false),
            (Builtin::SubsetEq, [a, b]) => Ok(Sym::Bool(subset(a, b)?)),
            (Builtin::Cardinality, [a]) => match a.open() {
                Sym::Mask(_, bits) => Ok(Sym::Int(Packed::PopCount(Box::new(bits)))),
                _ => no("the cardinality of a set that cannot be listed"),
            },
            (Builtin::Domain, [a]) => match a.open() {
                Sym::Function(keys, _) => Ok(Sym::Value(Value::Set(keys))),
                Sym::Tuple(parts) => Ok(Sym::Value(Value::sorted((1..=parts.len() as i64).map(Value::Int).collect()))),
                Sym::Sequence(length, _) => {
                    self.operator(Builtin::Interval, &[Sym::Value(Value::Int(1)), Sym::Int(length)])
                }
                _ => no("the domain of a value of several kinds"),
            },
            (Builtin::Len, [a]) => Ok(Sym::Int(sequence(a)?.0)),
            (Builtin::Head, [a]) => {
                let (length, elements) = sequence(a)?;
                self.require(binary(Binary::Lt, Packed::Const(0), length));
                elements.first().cloned().ok_or_else(|| NoForm("the head of an empty sequence".into()))
            }
            (Builtin::Tail, [a]) => {
                let (length, mut elements) = sequence(a)?;
                self.require(binary(Binary::Lt, Packed::Const(0), length.clone()));
                if elements.is_empty() {
                    return no("the tail of an empty sequence");
                }
                elements.remove(0);
                Ok(shortened(binary(Binary::Sub, length, Packed::Const(1)), elements))
            }
            (Builtin::Append, [a, b]) => self.concatenated(a, &Sym::Tuple(vec![b.clone()])),
            (Builtin::Concat, [a, b]) => self.concatenated(a, b),
            (Builtin::TlcEval, [a]) => Ok(a.clone()),
            _ => self.tabulated(builtin, values),
        }
    }

    /// The part of a set that is, or is not, in another.
    fn restricted(&mut self, a: &Sym, b: &Sym, inside: bool) -> Made<Sym> {
        let (Sym::Mask(of, bits), Sym::Value(other)) = (a.open(), b) else {
            let (of, x, y) = masks(a, b)?;
            let y = if inside { y } else { complement(y) };
            return Ok(Sym::Mask(of, binary(Binary::BitAnd, x, y)));
        };
        let mut kept = 0i64;
        for (place, value) in of.iter().enumerate() {
            if other.contains(value).map_err(NoForm::of)? == inside {
                kept |= 1 << place;
            }
        }
        Ok(Sym::Mask(of, binary(Binary::BitAnd, bits, Packed::Const(kept))))
    }

    fn concatenated(&mut self, a: &Sym, b: &Sym) -> Made<Sym> {
        let ((n, x), (m, y)) = (sequence(a)?, sequence(b)?);
        let mut elements = Vec::new();
        for place in 0..x.len() + y.len() {
            // Either from the first, or from the second, which begins where the first ends.
            let mut element = x.get(place).cloned();
            for (offset, part) in y.iter().enumerate() {
                let Some(end) = place.checked_sub(offset).filter(|end| *end <= x.len()) else { continue };
                let here = eq(n.clone(), Packed::Const(end as i64));
                element = Some(match element {
                    Some(element) => merge(&here, part, &element, self.slots)?,
                    None => part.clone(),
                });
            }
            elements.extend(element);
        }
        Ok(shortened(binary(Binary::Add, n, m), elements))
    }

    /// Any operator on values of which there are few: all results, looked up.
    fn tabulated(&mut self, builtin: Builtin, values: &[Sym]) -> Made<Sym> {
        let all = Sym::Tuple(values.to_vec());
        let (of, code) = all.code(self.slots)?;
        let mut results = Vec::new();
        for arguments in of.iter() {
            let Value::Tuple(arguments) = arguments else { return no(format!("`{}`", builtin.name())) };
            match operate(builtin, arguments).and_then(Value::listed) {
                Ok(result) => results.push(result),
                Err(_) => return no(format!("`{}` on values for which it has no meaning", builtin.name())),
            }
        }
        table(results, code)
    }
}

/// A sequence, or a tuple if its length is known.
fn shortened(length: X, mut elements: Vec<Sym>) -> Sym {
    match known(&length) {
        Some(length) => {
            elements.truncate(usize::try_from(length).unwrap_or(0));
            Sym::Tuple(elements)
        }
        None => Sym::Sequence(length, elements),
    }
}

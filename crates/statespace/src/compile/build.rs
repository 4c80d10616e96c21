//! Packed expressions, made as small as they can be seen to be at once.

use crate::packed::{Binary, Expr, Slot};

/// A packed expression.
pub(super) type X = Expr;

pub(super) const TRUE: X = Expr::Const(1);
pub(super) const FALSE: X = Expr::Const(0);

pub(super) fn constant(value: bool) -> X {
    Expr::Const(i64::from(value))
}

pub(super) fn known(x: &X) -> Option<i64> {
    match x {
        Expr::Const(value) => Some(*value),
        _ => None,
    }
}

pub(super) fn not(x: X) -> X {
    match x {
        Expr::Const(value) => constant(value == 0),
        Expr::Not(inner) if is_bool(&inner) => *inner,
        Expr::Binary(Binary::Eq, a, b) => Expr::Binary(Binary::Ne, a, b),
        Expr::Binary(Binary::Ne, a, b) => Expr::Binary(Binary::Eq, a, b),
        Expr::Binary(Binary::Lt, a, b) => Expr::Binary(Binary::Le, b, a),
        Expr::Binary(Binary::Le, a, b) => Expr::Binary(Binary::Lt, b, a),
        other => Expr::Not(Box::new(other)),
    }
}

/// Whether a value is 0 or 1, as far as one can see.
fn is_bool(x: &X) -> bool {
    match x {
        Expr::Const(value) => (0..=1).contains(value),
        Expr::Not(_) | Expr::And(_) | Expr::Or(_) => true,
        Expr::Binary(Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le, ..) => true,
        Expr::Binary(Binary::BitAnd, _, b) => **b == Expr::Const(1),
        Expr::If(_, a, b) => is_bool(a) && is_bool(b),
        _ => false,
    }
}

pub(super) fn and(parts: impl IntoIterator<Item = X>) -> X {
    let mut kept = Vec::new();
    for part in parts {
        match part {
            Expr::Const(0) => return FALSE,
            Expr::Const(_) => (),
            Expr::And(inner) => kept.extend(inner),
            other if kept.contains(&other) => (),
            other => kept.push(other),
        }
    }
    match kept.len() {
        0 => TRUE,
        1 if is_bool(&kept[0]) => kept.remove(0),
        _ => Expr::And(kept),
    }
}

pub(super) fn or(parts: impl IntoIterator<Item = X>) -> X {
    let mut kept = Vec::new();
    for part in parts {
        match part {
            Expr::Const(0) => (),
            Expr::Const(_) => return TRUE,
            Expr::Or(inner) => kept.extend(inner),
            other if kept.contains(&other) => (),
            other => kept.push(other),
        }
    }
    match kept.len() {
        0 => FALSE,
        1 if is_bool(&kept[0]) => kept.remove(0),
        _ => Expr::Or(kept),
    }
}

pub(super) fn if_else(when: X, a: X, b: X) -> X {
    match (&when, &a, &b) {
        (Expr::Const(0), ..) => b,
        (Expr::Const(_), ..) => a,
        _ if a == b => a,
        (_, Expr::Const(1), Expr::Const(0)) if is_bool(&when) => when,
        (_, Expr::Const(0), Expr::Const(1)) => not(when),
        _ => Expr::If(Box::new(when), Box::new(a), Box::new(b)),
    }
}

pub(super) fn binary(operator: Binary, a: X, b: X) -> X {
    if let (Expr::Const(a), Expr::Const(b)) = (&a, &b)
        && let Some(value) = apply(operator, *a, *b)
    {
        return Expr::Const(value);
    }
    match (operator, &a, &b) {
        (Binary::Add | Binary::Sub | Binary::Shl | Binary::Shr | Binary::BitOr, _, Expr::Const(0)) => return a,
        (Binary::Add | Binary::BitOr, Expr::Const(0), _) => return b,
        (Binary::Mul | Binary::Div, _, Expr::Const(1)) => return a,
        (Binary::Mul, Expr::Const(1), _) => return b,
        (Binary::BitAnd | Binary::Mul, Expr::Const(0), _) | (Binary::BitAnd | Binary::Mul, _, Expr::Const(0)) => {
            return Expr::Const(0);
        }
        (Binary::Eq | Binary::Le, a, b) if a == b => return TRUE,
        (Binary::Ne | Binary::Lt, a, b) if a == b => return FALSE,
        (Binary::Eq, a, Expr::Const(1)) if is_bool(a) => return a.clone(),
        (Binary::Eq, a, Expr::Const(0)) if is_bool(a) => return not(a.clone()),
        // What does not change stands on the right.
        (Binary::Eq | Binary::Ne | Binary::Add | Binary::BitAnd | Binary::BitOr | Binary::Mul, Expr::Const(_), _) => {
            return binary(operator, b, a);
        }
        _ => (),
    }
    Expr::Binary(operator, Box::new(a), Box::new(b))
}

/// What an operator makes of two numbers; nothing, if that has no meaning.
pub(crate) fn apply(operator: Binary, a: i64, b: i64) -> Option<i64> {
    Some(match operator {
        Binary::Add => a.checked_add(b)?,
        Binary::Sub => a.checked_sub(b)?,
        Binary::Mul => a.checked_mul(b)?,
        Binary::Div => (b > 0).then(|| a.div_euclid(b))?,
        Binary::Mod => (b > 0).then(|| a.rem_euclid(b))?,
        Binary::Eq => i64::from(a == b),
        Binary::Ne => i64::from(a != b),
        Binary::Lt => i64::from(a < b),
        Binary::Le => i64::from(a <= b),
        Binary::BitAnd => a & b,
        Binary::BitOr => a | b,
        Binary::Shl => (0..=62).contains(&b).then(|| a << b)?,
        Binary::Shr => (0..=62).contains(&b).then(|| a >> b)?,
    })
}

pub(super) fn eq(a: X, b: X) -> X {
    binary(Binary::Eq, a, b)
}

pub(super) fn bit(mask: X, place: X) -> X {
    binary(Binary::BitAnd, binary(Binary::Shr, mask, place), Expr::Const(1))
}

/// A number from a list, by a code that is a place in it.
pub(super) fn look_up(code: X, table: &[i64]) -> X {
    if let Expr::Const(code) = code {
        return Expr::Const(table.get(code as usize).copied().unwrap_or(0));
    }
    let first = table.first().copied().unwrap_or(0);
    if table.iter().all(|entry| *entry == first) {
        return Expr::Const(first);
    }
    if table.iter().enumerate().all(|(place, entry)| entry.checked_sub(first) == Some(place as i64)) {
        return binary(Binary::Add, code, Expr::Const(first));
    }
    let least = table.iter().copied().min().unwrap_or(0);
    let most = table.iter().copied().max().unwrap_or(0);
    let width = 64 - most.abs_diff(least).leading_zeros();
    if width as usize * table.len() <= 62 {
        // The whole list in one number.
        let packed = table
            .iter()
            .enumerate()
            .fold(0i64, |packed, (place, entry)| packed | (entry - least) << (place as u32 * width));
        let shift = binary(Binary::Mul, code, Expr::Const(width.into()));
        let entry =
            binary(Binary::BitAnd, binary(Binary::Shr, Expr::Const(packed), shift), Expr::Const((1 << width) - 1));
        return binary(Binary::Add, entry, Expr::Const(least));
    }
    let middle = table.len() / 2;
    let (low, high) = table.split_at(middle);
    let shifted = binary(Binary::Sub, code.clone(), Expr::Const(middle as i64));
    let below = binary(Binary::Lt, code.clone(), Expr::Const(middle as i64));
    if_else(below, look_up(code, low), look_up(shifted, high))
}

/// The least and the greatest value that an expression can have, as far as one can see.
pub(super) fn range(x: &X, slots: &[Slot]) -> Option<(i64, i64)> {
    let of = |x: &X| range(x, slots);
    match x {
        Expr::Const(value) => Some((*value, *value)),
        Expr::Slot(slot) => slots.get(*slot).filter(|slot| slot.width < 62).map(|slot| match &slot.kind {
            crate::packed::SlotKind::Enum(values) => (0, values.len() as i64 - 1),
            _ => slot.range(),
        }),
        Expr::Dynamic { base, .. } => of(&Expr::Slot(*base)),
        Expr::Neg(a) => of(a).map(|(least, most)| (-most, -least)),
        Expr::Not(_) | Expr::And(_) | Expr::Or(_) => Some((0, 1)),
        Expr::BitNot(_) => None,
        Expr::PopCount(_) => Some((0, 64)),
        Expr::If(_, a, b) => {
            let ((a, b), (c, d)) = (of(a)?, of(b)?);
            Some((a.min(c), b.max(d)))
        }
        Expr::Binary(operator, a, b) => match operator {
            Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le => Some((0, 1)),
            Binary::Add => {
                let ((a, b), (c, d)) = (of(a)?, of(b)?);
                Some((a.checked_add(c)?, b.checked_add(d)?))
            }
            Binary::Sub => {
                let ((a, b), (c, d)) = (of(a)?, of(b)?);
                Some((a.checked_sub(d)?, b.checked_sub(c)?))
            }
            Binary::Mul => {
                let ((a, b), (c, d)) = (of(a)?, of(b)?);
                let corners = [a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?];
                Some((*corners.iter().min()?, *corners.iter().max()?))
            }
            Binary::Mod => of(b).map(|(_, most)| (0, most - 1)),
            Binary::Div => {
                let (least, most) = of(a)?;
                Some((least.min(0), most.max(0)))
            }
            Binary::BitAnd => match (of(a), of(b)) {
                (Some((0.., a)), Some((0.., b))) => Some((0, a.min(b))),
                (Some((0.., most)), _) | (_, Some((0.., most))) => Some((0, most)),
                _ => None,
            },
            Binary::BitOr | Binary::Shl => None,
            Binary::Shr => of(a).filter(|(least, _)| *least >= 0).map(|(_, most)| (0, most)),
        },
    }
}

/// Whether an expression has no more parts than are left.
pub(super) fn is_small(x: &X, left: &mut usize) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    match x {
        Expr::Const(_) | Expr::Slot(_) => true,
        Expr::Dynamic { index: a, .. } | Expr::Neg(a) | Expr::Not(a) | Expr::BitNot(a) | Expr::PopCount(a) => {
            is_small(a, left)
        }
        Expr::Binary(_, a, b) => is_small(a, left) && is_small(b, left),
        Expr::And(parts) | Expr::Or(parts) => parts.iter().all(|part| is_small(part, left)),
        Expr::If(a, b, c) => is_small(a, left) && is_small(b, left) && is_small(c, left),
    }
}

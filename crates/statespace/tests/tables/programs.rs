//! Programs to explore, by hand and by chance, and what they mean: an explorer that is as simple as can be.

use std::collections::{BTreeMap, BTreeSet};

use arbtest::arbitrary::{Result, Unstructured};
use isolde_statespace::graph::Graph;
use isolde_statespace::packed::*;
use isolde_statespace::space::Space;

pub(crate) fn slot(name: &str, offset: u32, width: u32, bias: i64, kind: SlotKind) -> Slot {
    Slot { name: name.into(), offset, width, bias, kind }
}

pub(crate) fn scalar(name: &str, place: usize) -> VariableLayout {
    VariableLayout { name: name.into(), slots: place..place + 1, shape: Shape::One }
}

pub(crate) fn binary(op: Binary, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

pub(crate) fn eq(place: usize, value: i64) -> Expr {
    binary(Binary::Eq, Expr::Slot(place), Expr::Const(value))
}

pub(crate) fn instance(action: usize, binding: &str, guard: Expr, updates: Vec<(usize, Expr)>) -> Instance {
    Instance { action, binding: binding.into(), guard, updates, defined: Expr::Const(1), in_range: Expr::Const(1) }
}

pub(crate) fn action(name: &str, line: usize) -> Action {
    Action { name: name.into(), file: "Spec.tla".into(), line }
}

/// The paper's clock: hours 1 to 12, minutes 0 to 59.
pub(crate) fn hour_clock() -> Program {
    let plus = |place| binary(Binary::Add, Expr::Slot(place), Expr::Const(1));
    let key = |hour: i64| Key(hour as u128 - 1);
    Program {
        layout: Layout {
            variables: vec![scalar("hr", 0), scalar("mn", 1)],
            slots: vec![slot("hr", 0, 4, 1, SlotKind::Int), slot("mn", 4, 6, 0, SlotKind::Int)],
            bits: 10,
            dicts: Vec::new(),
        },
        actions: vec![action("Tick", 7), action("Hour", 8), action("Noon", 9)],
        instances: vec![
            instance(0, "", binary(Binary::Lt, Expr::Slot(1), Expr::Const(59)), vec![(1, plus(1))]),
            instance(
                1,
                "",
                Expr::And(vec![eq(1, 59), binary(Binary::Ne, Expr::Slot(0), Expr::Const(12))]),
                vec![(0, plus(0)), (1, Expr::Const(0))],
            ),
            instance(2, "", Expr::And(vec![eq(1, 59), eq(0, 12)]), vec![(0, Expr::Const(1)), (1, Expr::Const(0))]),
        ],
        initial: (1..=12).map(key).collect(),
        invariants: vec![("HourOK".into(), binary(Binary::Le, Expr::Slot(0), Expr::Const(12)))],
        constraint: None,
    }
}

/// So many processes: idle, waiting, critical; at most one is critical. Functions, strings, sets and booleans.
pub(crate) fn mutex(processes: usize) -> Program {
    let states: Vec<String> = ["\"idle\"", "\"wait\"", "\"crit\""].map(String::from).to_vec();
    let names: Vec<String> = (1..=processes).map(|number| format!("p{number}")).collect();
    let mut slots: Vec<Slot> = names
        .iter()
        .enumerate()
        .map(|(place, name)| slot(&format!("pc[{name}]"), 2 * place as u32, 2, 0, SlotKind::Enum(states.clone())))
        .collect();
    let low = 2 * processes as u32;
    slots.push(slot("queue", low, processes as u32, 0, SlotKind::Mask(names.clone())));
    slots.push(slot("busy", low + processes as u32, 1, 0, SlotKind::Bool));
    let (queue, busy) = (processes, processes + 1);
    let mut instances = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let bit = Expr::Const(1 << place);
        let binding = format!("p = {name}");
        let enqueued = binary(Binary::BitOr, Expr::Slot(queue), bit.clone());
        let dequeued = binary(Binary::BitAnd, Expr::Slot(queue), Expr::BitNot(Box::new(bit)));
        instances.push(instance(0, &binding, eq(place, 0), vec![(place, Expr::Const(1)), (queue, enqueued)]));
        let free = Expr::And(vec![eq(place, 1), Expr::Not(Box::new(Expr::Slot(busy)))]);
        instances.push(instance(
            1,
            &binding,
            free,
            vec![(place, Expr::Const(2)), (queue, dequeued), (busy, Expr::Const(1))],
        ));
        instances.push(instance(2, &binding, eq(place, 2), vec![(place, Expr::Const(0)), (busy, Expr::Const(0))]));
        let never = Expr::And(vec![eq(place, 2), Expr::Not(Box::new(Expr::Slot(busy)))]);
        instances.push(instance(3, &binding, never, vec![(place, Expr::Const(0))]));
    }
    let waiting = Expr::PopCount(Box::new(Expr::Slot(queue)));
    Program {
        layout: Layout {
            variables: vec![
                VariableLayout {
                    name: "pc".into(),
                    slots: 0..processes,
                    shape: Shape::Function(names.iter().map(|name| (name.clone(), Shape::One)).collect()),
                },
                scalar("queue", queue),
                scalar("busy", busy),
            ],
            slots,
            bits: low + processes as u32 + 1,
            dicts: Vec::new(),
        },
        actions: vec![action("Ask", 12), action("Enter", 15), action("Leave", 19), action("Crash", 23)],
        instances,
        initial: vec![Key(0)],
        invariants: vec![("Bounded".into(), binary(Binary::Le, waiting, Expr::Const(processes as i64)))],
        constraint: None,
    }
}

/// Something with every kind of expression.
pub(crate) fn arbitrary(u: &mut Unstructured) -> Result<Program> {
    let mut slots = Vec::new();
    let mut offset = 0;
    for place in 0..u.int_in_range(1..=4usize)? {
        let width = u.int_in_range(0..=3u32)?;
        slots.push(slot(&format!("v{place}"), offset, width, u.int_in_range(-2..=2)?, SlotKind::Int));
        offset += width;
    }
    // Two that are alike, for an index that is computed.
    for place in 0..2 {
        slots.push(slot(&format!("d{place}"), offset, 2, 0, SlotKind::Int));
        offset += 2;
    }
    let layout = Layout {
        variables: slots.iter().enumerate().map(|(place, slot)| scalar(&slot.name, place)).collect(),
        bits: offset,
        slots,
        dicts: Vec::new(),
    };
    let mut instances = Vec::new();
    for _ in 0..u.int_in_range(1..=4)? {
        let mut updates = BTreeMap::new();
        for _ in 0..u.int_in_range(0..=2)? {
            updates.insert(u.choose_index(layout.slots.len())?, number(u, &layout, 2)?);
        }
        let (mut updates, mut in_range): (Vec<_>, Vec<Expr>) = (updates.into_iter().collect(), Vec::new());
        for (place, expr) in &mut updates {
            let (low, high) = layout.slots[*place].range();
            if u.ratio(5, 6)? {
                let span = Expr::Const(high - low + 1);
                *expr = binary(Binary::Add, Expr::Const(low), binary(Binary::Mod, expr.clone(), span));
            } else {
                in_range.push(binary(Binary::Le, Expr::Const(low), expr.clone()));
                in_range.push(binary(Binary::Le, expr.clone(), Expr::Const(high)));
            }
        }
        let defined = if u.ratio(1, 8)? { condition(u, &layout, 1)? } else { Expr::Const(1) };
        let mut instance = instance(u.int_in_range(0..=1)?, "", condition(u, &layout, 2)?, updates);
        (instance.defined, instance.in_range) = (defined, Expr::And(in_range));
        instances.push(instance);
    }
    let invariants = if u.ratio(1, 3)? { vec![("Inv".into(), condition(u, &layout, 2)?)] } else { Vec::new() };
    let initial = (0..u.int_in_range(1..=2)?).map(|_| Ok(Key(u128::from(u.arbitrary::<u32>()?) & ((1 << offset) - 1))));
    Ok(Program {
        initial: initial.collect::<Result<_>>()?,
        layout,
        actions: vec![action("A", 1), action("B", 2)],
        instances,
        invariants,
        constraint: None,
    })
}

fn number(u: &mut Unstructured, layout: &Layout, depth: usize) -> Result<Expr> {
    if depth == 0 || u.ratio(1, 4)? {
        return Ok(match u.ratio(2, 3)? {
            true => Expr::Slot(u.choose_index(layout.slots.len())?),
            false => Expr::Const(u.int_in_range(-3..=5)?),
        });
    }
    let part = |u: &mut Unstructured| number(u, layout, depth - 1);
    let natural = |expr: Expr| binary(Binary::BitAnd, expr, Expr::Const(15));
    let index = |expr: Expr| Box::new(binary(Binary::Mod, expr, Expr::Const(2)));
    Ok(match u.int_in_range(0..=12)? {
        0 => binary(Binary::Add, part(u)?, part(u)?),
        1 => binary(Binary::Sub, part(u)?, part(u)?),
        2 => binary(Binary::Mul, part(u)?, part(u)?),
        3 => binary(Binary::Div, part(u)?, Expr::Const(u.int_in_range(1..=3)?)),
        4 => binary(Binary::Mod, part(u)?, Expr::Const(u.int_in_range(1..=3)?)),
        5 => binary(Binary::BitAnd, part(u)?, part(u)?),
        6 => binary(Binary::BitOr, part(u)?, part(u)?),
        7 => binary(Binary::Shl, natural(part(u)?), Expr::Const(u.int_in_range(0..=3)?)),
        8 => binary(Binary::Shr, natural(part(u)?), Expr::Const(u.int_in_range(0..=3)?)),
        9 => Expr::PopCount(Box::new(natural(part(u)?))),
        10 => Expr::If(Box::new(condition(u, layout, depth - 1)?), Box::new(part(u)?), Box::new(part(u)?)),
        11 => Expr::Dynamic { base: layout.slots.len() - 2, stride: 1, count: 2, index: index(part(u)?) },
        _ => Expr::Neg(Box::new(Expr::BitNot(Box::new(part(u)?)))),
    })
}

fn condition(u: &mut Unstructured, layout: &Layout, depth: usize) -> Result<Expr> {
    let compare = *u.choose(&[Binary::Eq, Binary::Ne, Binary::Lt, Binary::Le])?;
    if depth == 0 {
        return Ok(binary(compare, number(u, layout, 0)?, number(u, layout, 0)?));
    }
    let part = |u: &mut Unstructured| condition(u, layout, depth - 1);
    Ok(match u.int_in_range(0..=6)? {
        0 => Expr::Not(Box::new(part(u)?)),
        1 => Expr::And(vec![part(u)?, part(u)?]),
        2 => Expr::Or(vec![part(u)?, part(u)?]),
        3 => Expr::If(Box::new(part(u)?), Box::new(part(u)?), Box::new(part(u)?)),
        4 => number(u, layout, depth)?,
        _ => binary(compare, number(u, layout, depth)?, number(u, layout, depth)?),
    })
}

/// What an expression comes to.
pub(crate) fn value(layout: &Layout, key: Key, expr: &Expr) -> i64 {
    let value = |expr: &Expr| value(layout, key, expr);
    match expr {
        Expr::Const(value) => *value,
        Expr::Slot(place) => layout.slots[*place].get(key),
        Expr::Dynamic { base, stride, index, .. } => layout.slots[base + stride * value(index) as usize].get(key),
        Expr::Neg(a) => -value(a),
        Expr::Not(a) => i64::from(value(a) == 0),
        Expr::BitNot(a) => !value(a),
        Expr::PopCount(a) => value(a).count_ones().into(),
        Expr::And(parts) => parts.iter().all(|part| value(part) != 0).into(),
        Expr::Or(parts) => parts.iter().any(|part| value(part) != 0).into(),
        Expr::If(when, then, other) => value(if value(when) != 0 { then } else { other }),
        Expr::Binary(op, a, b) => {
            let (a, b) = (value(a), value(b));
            match op {
                Binary::Add => a + b,
                Binary::Sub => a - b,
                Binary::Mul => a * b,
                Binary::Div => a.div_euclid(b),
                Binary::Mod => a.rem_euclid(b),
                Binary::Eq => (a == b).into(),
                Binary::Ne => (a != b).into(),
                Binary::Lt => (a < b).into(),
                Binary::Le => (a <= b).into(),
                Binary::BitAnd => a & b,
                Binary::BitOr => a | b,
                Binary::Shl => a << b,
                Binary::Shr => a >> b,
            }
        }
    }
}

/// What exploring comes to: the space, or that something goes wrong in a state of this level.
pub(crate) enum Meaning {
    Space(Box<Space>),
    Wrong { level: u32 },
}

/// Explores state by state.
pub(crate) fn meaning(program: &Program) -> Meaning {
    let layout = &program.layout;
    let mut numbers = BTreeMap::new();
    let (mut keys, mut levels, mut edges) = (Vec::new(), Vec::new(), BTreeSet::new());
    for &key in &program.initial {
        numbers.entry(key).or_insert_with(|| {
            keys.push(key);
            levels.push(0);
            keys.len() as u32 - 1
        });
    }
    let mut at = 0;
    while at < keys.len() {
        let (key, level) = (keys[at], levels[at]);
        for (way, instance) in program.instances.iter().enumerate() {
            if value(layout, key, &instance.defined) == 0 {
                return Meaning::Wrong { level };
            }
            if value(layout, key, &instance.guard) == 0 {
                continue;
            }
            if value(layout, key, &instance.in_range) == 0 {
                return Meaning::Wrong { level };
            }
            let mut next = key;
            for (place, expr) in &instance.updates {
                next = layout.slots[*place].set(next, value(layout, key, expr)).expect("in range");
            }
            let target = *numbers.entry(next).or_insert_with(|| {
                keys.push(next);
                levels.push(level + 1);
                keys.len() as u32 - 1
            });
            edges.insert((at as u32, way as u32, target));
        }
        at += 1;
    }
    let graph = Graph::new(keys.len(), edges.into_iter().collect()).expect("small");
    let (actions, ways) = (program.actions.clone(), Space::ways_of(program));
    Meaning::Space(Box::new(Space { layout: layout.clone(), actions, ways, keys, levels, graph }))
}

pub(crate) fn space(program: &Program) -> Space {
    match meaning(program) {
        Meaning::Space(space) => *space,
        Meaning::Wrong { level } => panic!("something goes wrong at level {level}"),
    }
}

//! `isolde explore --store`: the states of a scenario as tables, like those of a specification.

use std::collections::BTreeSet;
use std::path::Path;

use isolde_scenario::{Scenario, StateRows, StateStep, state_rows};
use isolde_statespace::graph::Graph;
use isolde_statespace::packed::{Action, Key, Layout, Shape, Slot, SlotKind, VariableLayout};
use isolde_statespace::space::{Space, Way};
use isolde_statespace::store::{Run, Store};

use crate::args::Explore;
use crate::complain::Mistake;
use crate::explore::settings;
use crate::watch::Watch;
use crate::{app, input, tables};

/// Writes the states and transitions of a scenario into a file of SQLite, and says how many there are.
pub(crate) fn write(explore: &Explore, path: &Path, file: &Path) -> Result<String, Mistake> {
    if app::is_app(file) {
        return Err(Mistake::new("--store needs a scenario: the states of an application are not known"));
    }
    let file = input::read(file)?;
    let scenario = Scenario::parse(&file.name, &file.text, &mut input::include)?;
    let settings = settings(explore).or(scenario.options());
    let mut watch = Watch::start(&file.name, explore.time_max, !explore.no_progress).limited(explore.memory_max);
    let rows = state_rows(&scenario, &settings, &mut |progress| watch.look(progress)).map_err(Mistake::new)?;
    drop(watch);
    let space = space(rows)?;
    let run = Run { name: file.name.clone(), spec: file.name.clone(), engine: "explore".into(), ..Run::default() };
    let mut store = Store::sqlite(path).map_err(tables::mistake)?;
    store.write(&space, &run).map_err(tables::mistake)?;
    let (states, transitions, path) = (space.states(), space.graph.transitions(), path.display());
    Ok(format!("{states} states and {transitions} transitions are in {path}; isolde space {path} answers about them"))
}

/// Rows as a space: every column is a variable, every value of it a code.
fn space(rows: StateRows) -> Result<Space, Mistake> {
    let codes: Vec<Vec<&str>> = (0..rows.columns.len()).map(|column| values(&rows, column)).collect();
    let layout = layout(&rows.columns, &codes);
    if !layout.fits() {
        let message = format!("a state takes {} bits as a row, and there is room for 128", layout.bits);
        let hint = Some("there are too many tables, rows or values in this scenario to be stored".into());
        return Err(Mistake::Elsewhere { message, hint });
    }
    let code = |column: usize, value: &Option<String>| {
        codes[column].binary_search(&value.as_deref().unwrap_or("")).unwrap_or(0) as u128
    };
    let key = |(number, row): (usize, &Vec<Option<String>>)| {
        let bits = row.iter().enumerate().map(|(column, value)| code(column, value) << layout.slots[column].offset);
        (bits.fold(0, |a, b| a | b), number)
    };
    let mut keys: Vec<(u128, usize)> = rows.states.iter().enumerate().map(key).collect();
    let layout = distinguished(layout.clone(), &mut keys)?;
    let graph = Graph::new(rows.states.len(), rows.transitions).map_err(|error| Mistake::new(error.to_string()))?;
    let action =
        |step: &StateStep| Action { name: step.thread.clone(), file: step.file.clone(), line: step.line as usize };
    Ok(Space {
        layout,
        actions: rows.steps.iter().map(action).collect(),
        ways: rows.steps.iter().enumerate().map(|(action, step)| Way { action, binding: step.text.clone() }).collect(),
        keys: keys.into_iter().map(|(key, _)| Key(key)).collect(),
        levels: rows.levels,
        graph,
    })
}

/// States can differ in what no column shows (an open transaction, a lock): then a number tells them apart.
fn distinguished(mut layout: Layout, keys: &mut [(u128, usize)]) -> Result<Layout, Mistake> {
    let mut times = std::collections::BTreeMap::new();
    let hidden: Vec<u128> = keys
        .iter()
        .map(|(key, _)| {
            let count = times.entry(*key).or_insert(0u128);
            *count += 1;
            *count - 1
        })
        .collect();
    let most = hidden.iter().max().copied().unwrap_or(0);
    if most == 0 {
        return Ok(layout);
    }
    let width = 128 - most.leading_zeros();
    if layout.bits + width > 128 {
        return Err(Mistake::new("the states of this scenario do not fit into rows of 128 bits"));
    }
    for ((key, _), hidden) in keys.iter_mut().zip(hidden) {
        *key |= hidden << layout.bits;
    }
    let place = layout.slots.len();
    layout.slots.push(Slot { name: "hidden".into(), offset: layout.bits, width, bias: 0, kind: SlotKind::Int });
    layout.variables.push(VariableLayout { name: "hidden".into(), slots: place..place + 1, shape: Shape::One });
    layout.bits += width;
    Ok(layout)
}

/// The values of a column, in order; nothing is empty.
fn values(rows: &StateRows, column: usize) -> Vec<&str> {
    let values: BTreeSet<&str> = rows.states.iter().map(|row| row[column].as_deref().unwrap_or("")).collect();
    values.into_iter().collect()
}

fn layout(columns: &[String], codes: &[Vec<&str>]) -> Layout {
    let mut layout = Layout::default();
    for (place, (name, values)) in columns.iter().zip(codes).enumerate() {
        let width = usize::BITS - values.len().saturating_sub(1).leading_zeros();
        let kind = SlotKind::Enum(values.iter().map(|value| value.to_string()).collect());
        layout.slots.push(Slot { name: name.clone(), offset: layout.bits, width, bias: 0, kind });
        layout.variables.push(VariableLayout { name: name.clone(), slots: place..place + 1, shape: Shape::One });
        layout.bits += width;
    }
    layout
}

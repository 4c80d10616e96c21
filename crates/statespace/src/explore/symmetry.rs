//! Canonical forms of states under permutations of model values.
//!
//! Two states are the same up to symmetry if a permutation takes one to the other. `Permutations(S)` has |S|! elements,
//! too many to try each on every state. So the values are told apart by what the state says about them (partition
//! refinement, as in programs for graph isomorphism):
//!
//! ```text
//!   st = (a :> "idle" @@ b :> "own" @@ c :> "idle")     {a b c}
//!   a and c look the same, b does not                   {a c} {b}
//!   swapping a and c leaves the state as it is          {a} {c} {b}     any order of a and c gives the same form
//! ```
//!
//! A value looks like the hash of the state in which every value is replaced by the number of its cell, and the value
//! itself by a mark. Sets and functions are hashed without regard to the order of their elements, so a permuted state
//! has permuted hashes. Where values look the same and swapping them does change the state, each of them is tried
//! first, and the least form is taken. A collision of hashes joins cells and costs time; it cannot change the form's
//! meaning.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::tla::eval::Partial;
use crate::tla::value::Value;

/// Which value becomes which; the others stay.
type Renaming = FxHashMap<Value, Value>;

/// Permutations of values that make no difference.
#[derive(Debug, Default)]
pub(crate) struct Symmetry {
    /// Sets of which every permutation is one, each sorted.
    orbits: Vec<Vec<Value>>,
    /// All permutations but the identity, if they are not all permutations of some sets.
    listed: Vec<Renaming>,
}

impl Symmetry {
    /// The group that some permutations generate.
    pub(crate) fn new(generators: &[Value]) -> Symmetry {
        let renaming = |value: &Value| -> Renaming {
            value.pairs().unwrap_or_default().into_iter().filter(|(from, to)| from != to).collect()
        };
        let generators: Vec<Renaming> = generators.iter().map(renaming).collect();
        match orbits(&generators) {
            Some(orbits) => Symmetry { orbits, listed: Vec::new() },
            None => Symmetry { orbits: Vec::new(), listed: closure(&generators) },
        }
    }

    /// Whether only the identity is one.
    pub(super) fn is_empty(&self) -> bool {
        self.orbits.is_empty() && self.listed.is_empty()
    }

    /// The same state for all states that differ only by a permutation.
    pub(super) fn canonical(&self, state: &Partial) -> Partial {
        if self.orbits.is_empty() {
            let others = self.listed.iter().map(|names| renamed(state, names));
            return others.chain([state.clone()]).min().unwrap_or_default();
        }
        let mut cells = Vec::new();
        for orbit in &self.orbits {
            cells.push(orbit.clone());
        }
        self.least(state, cells)
    }

    /// The least of the forms that these cells lead to.
    fn least(&self, state: &Partial, cells: Vec<Vec<Value>>) -> Partial {
        let cells = refined(state, cells);
        let Some(place) = cells.iter().position(|cell| cell.len() > 1) else {
            return renamed(state, &self.renaming(&cells));
        };
        let cell = &cells[place];
        let alike = cell[1..].iter().all(|other| is_swappable(state, &cell[0], other));
        let firsts = if alike { 1 } else { cell.len() };
        let split = |first: usize| {
            let mut rest = cell.clone();
            let first = rest.remove(first);
            let mut split = cells.clone();
            split.splice(place..=place, [vec![first], rest]);
            self.least(state, split)
        };
        (0..firsts).map(split).min().unwrap_or_default()
    }

    /// The first value of an orbit becomes the least, and so on; every cell has one value.
    fn renaming(&self, cells: &[Vec<Value>]) -> Renaming {
        let values = cells.iter().flatten();
        let mut names = Renaming::default();
        let mut used = vec![0; self.orbits.len()];
        for value in values {
            let Some(orbit) = self.orbits.iter().position(|orbit| orbit.binary_search(value).is_ok()) else { continue };
            names.insert(value.clone(), self.orbits[orbit][used[orbit]].clone());
            used[orbit] += 1;
        }
        names
    }

    /// Whether a value is the same after every permutation.
    pub(crate) fn fixes(&self, value: &Value) -> bool {
        let swaps = self.orbits.iter().flat_map(|orbit| orbit.windows(2).map(|pair| swap(&pair[0], &pair[1])));
        swaps.chain(self.listed.iter().cloned()).all(|names| rename(value, &names) == *value)
    }
}

/// The sets whose permutations these generate together; nothing, if they generate fewer.
///
/// Swaps that connect the values of a set generate all its permutations.
fn orbits(generators: &[Renaming]) -> Option<Vec<Vec<Value>>> {
    let mut orbit_of: FxHashMap<Value, usize> = FxHashMap::default();
    let mut next = 0;
    for swap in generators.iter().filter(|names| names.len() == 2) {
        let numbers: Vec<Option<usize>> = swap.keys().map(|value| orbit_of.get(value).copied()).collect();
        let joined = numbers.iter().flatten().next().copied().unwrap_or_else(|| {
            next += 1;
            next
        });
        let gone: Vec<usize> = numbers.into_iter().flatten().collect();
        orbit_of.values_mut().filter(|number| gone.contains(number)).for_each(|number| *number = joined);
        orbit_of.extend(swap.keys().map(|value| (value.clone(), joined)));
    }
    let inside = |(from, to): (&Value, &Value)| orbit_of.contains_key(from) && orbit_of.get(from) == orbit_of.get(to);
    if !generators.iter().all(|names| names.iter().all(inside)) {
        return None;
    }
    let mut orbits: FxHashMap<usize, Vec<Value>> = FxHashMap::default();
    for (value, orbit) in orbit_of {
        orbits.entry(orbit).or_default().push(value);
    }
    let mut orbits: Vec<Vec<Value>> = orbits.into_values().collect();
    orbits.iter_mut().for_each(|orbit| orbit.sort());
    orbits.sort();
    Some(orbits)
}

/// Every product of these but the identity.
fn closure(generators: &[Renaming]) -> Vec<Renaming> {
    let sorted = |names: &Renaming| {
        let mut pairs: Vec<(Value, Value)> = names.iter().map(|(a, b)| (a.clone(), b.clone())).collect();
        pairs.sort();
        pairs
    };
    let mut known: FxHashSet<Vec<(Value, Value)>> = FxHashSet::default();
    let (mut all, mut waiting) = (Vec::new(), vec![Renaming::default()]);
    while let Some(names) = waiting.pop() {
        for generator in generators {
            let mut product = generator.clone();
            for (from, to) in &names {
                product.insert(from.clone(), generator.get(to).unwrap_or(to).clone());
            }
            product.retain(|from, to| from != to);
            if !product.is_empty() && known.insert(sorted(&product)) {
                all.push(product.clone());
                waiting.push(product);
            }
        }
    }
    all
}

/// Splits cells until values of one cell look the same.
fn refined(state: &Partial, mut cells: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    loop {
        let number = |(place, cell): (usize, &Vec<Value>)| {
            cell.iter().map(move |value| (value.clone(), place as u64)).collect::<Vec<_>>()
        };
        let mut colours: FxHashMap<Value, u64> = cells.iter().enumerate().flat_map(number).collect();
        let mut split = Vec::new();
        for cell in &cells {
            if cell.len() == 1 {
                split.push(cell.clone());
                continue;
            }
            let mut looks: Vec<(u64, Value)> = Vec::new();
            for value in cell {
                let colour = colours.insert(value.clone(), MARK);
                looks.push((look(state, &colours), value.clone()));
                colours.extend(colour.map(|colour| (value.clone(), colour)));
            }
            looks.sort();
            let parts = looks.chunk_by(|(a, _), (b, _)| a == b);
            split.extend(parts.map(|part| part.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>()));
        }
        if split.len() == cells.len() {
            return cells;
        }
        cells = split;
    }
}

/// The number that no cell has.
const MARK: u64 = u64::MAX;

fn look(state: &Partial, colours: &FxHashMap<Value, u64>) -> u64 {
    let each = |value: &Option<Value>| value.as_ref().map_or(0, |value| hash(value, colours));
    of(&state.iter().map(each).collect::<Vec<_>>())
}

/// A hash that depends on values with a colour only by their colours.
fn hash(value: &Value, colours: &FxHashMap<Value, u64>) -> u64 {
    if let Some(colour) = colours.get(value) {
        return of(&(1u8, colour));
    }
    // The order of elements may change with the names: a sum has none.
    let sum = |hashes: &mut dyn Iterator<Item = u64>| hashes.fold(0u64, u64::wrapping_add);
    match value {
        Value::Set(elements) => of(&(2u8, sum(&mut elements.iter().map(|element| hash(element, colours))))),
        Value::Tuple(elements) => of(&(3u8, elements.iter().map(|element| hash(element, colours)).collect::<Vec<_>>())),
        Value::Function(function) => {
            let pairs = function.keys.iter().zip(&function.values);
            of(&(4u8, sum(&mut pairs.map(|(key, value)| of(&(hash(key, colours), hash(value, colours)))))))
        }
        other => of(&(5u8, other)),
    }
}

fn of(thing: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    thing.hash(&mut hasher);
    // Sums of hashes need well mixed bits.
    let product = u128::from(hasher.finish() ^ 0x9E37_79B9_7F4A_7C15) * 0xA076_1D64_78BD_642F;
    (product ^ (product >> 64)) as u64
}

fn swap(a: &Value, b: &Value) -> Renaming {
    [(a.clone(), b.clone()), (b.clone(), a.clone())].into_iter().collect()
}

fn is_swappable(state: &Partial, a: &Value, b: &Value) -> bool {
    renamed(state, &swap(a, b)) == *state
}

fn renamed(state: &Partial, names: &Renaming) -> Partial {
    state.iter().map(|value| value.as_ref().map(|value| rename(value, names))).collect()
}

fn rename(value: &Value, names: &Renaming) -> Value {
    if let Some(other) = names.get(value) {
        return other.clone();
    }
    let each = |values: &[Value]| values.iter().map(|value| rename(value, names)).collect::<Vec<_>>();
    match value {
        Value::Set(elements) => {
            let mut elements = each(elements);
            elements.sort_unstable();
            Value::sorted(elements)
        }
        Value::Tuple(elements) => Value::tuple(each(elements)),
        Value::Function(function) => {
            let mut pairs: Vec<_> = each(&function.keys).into_iter().zip(each(&function.values)).collect();
            pairs.sort();
            let (keys, values): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            Value::function_on(Arc::new(keys), values)
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(name: char) -> Value {
        Value::Model(name.to_string().into())
    }

    fn function(pairs: &[(char, Value)]) -> Value {
        let mut pairs: Vec<_> = pairs.iter().map(|(name, value)| (model(*name), value.clone())).collect();
        pairs.sort();
        let (keys, values): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        Value::function_on(Arc::new(keys), values)
    }

    /// `names[i]` becomes `others[i]`.
    fn permutation(names: &str, others: &str) -> Value {
        function(&names.chars().zip(others.chars().map(model)).collect::<Vec<_>>())
    }

    fn swaps(names: &str) -> Vec<Value> {
        let names: Vec<char> = names.chars().collect();
        names.windows(2).map(|pair| function(&[(pair[0], model(pair[1])), (pair[1], model(pair[0]))])).collect()
    }

    /// A successor relation, of which no value looks different before one is taken first; and sets, and numbers.
    fn state(seed: u64, names: &[char]) -> Partial {
        let mut bits = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut draw = |below: usize| {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (bits >> 33) as usize % below
        };
        let next: Vec<_> = names.iter().map(|name| (*name, model(names[draw(names.len())]))).collect();
        let mut set: Vec<Value> = (0..draw(4)).map(|_| model(names[draw(names.len())])).collect();
        set.sort();
        set.dedup();
        let numbers: Vec<_> = names.iter().map(|name| (*name, Value::Int(draw(2) as i64))).collect();
        let queue = (0..draw(3)).map(|_| model(names[draw(names.len())])).collect();
        vec![Some(function(&next)), Some(Value::sorted(set)), Some(function(&numbers)), Some(Value::tuple(queue))]
    }

    /// Two states have the same form exactly if a permutation takes one to the other.
    #[test]
    fn forms_are_those_of_trying_every_permutation() {
        let names = ['a', 'b', 'c', 'd'];
        let refining = Symmetry::new(&swaps("abcd"));
        assert_eq!((refining.orbits.len(), refining.listed.len()), (1, 0));
        let generators: Vec<Renaming> =
            swaps("abcd").iter().map(|value| value.pairs().unwrap_or_default().into_iter().collect()).collect();
        let trying = Symmetry { orbits: Vec::new(), listed: closure(&generators) };
        assert_eq!(trying.listed.len(), 23);
        for seed in 0..400 {
            let state = state(seed, &names);
            let form = refining.canonical(&state);
            assert_eq!(trying.canonical(&form), trying.canonical(&state), "seed {seed}: the form is a permuted state");
            for names in &trying.listed {
                assert_eq!(refining.canonical(&renamed(&state, names)), form, "seed {seed}, {names:?}");
            }
        }
    }

    #[test]
    fn a_ring_may_be_turned_and_not_turned_over() {
        let turned = Symmetry::new(&[permutation("abc", "bca")]);
        assert_eq!((turned.orbits.len(), turned.listed.len()), (0, 2));
        let state = |text: &str| vec![Some(Value::tuple(text.chars().map(model).collect()))];
        assert_eq!(turned.canonical(&state("bca")), turned.canonical(&state("abc")));
        assert_ne!(turned.canonical(&state("bac")), turned.canonical(&state("abc")));
    }

    #[test]
    fn two_sets_are_permuted_apart() {
        let both = Symmetry::new(&[swaps("abc"), swaps("xyz")].concat());
        assert_eq!(both.orbits.len(), 2);
        let state = |text: &str| vec![Some(Value::tuple(text.chars().map(model).collect()))];
        assert_eq!(both.canonical(&state("cy")), both.canonical(&state("bz")));
        assert_ne!(both.canonical(&state("cy")), both.canonical(&state("cb")));
        assert!(both.fixes(&Value::sorted(vec![model('a'), model('b'), model('c')])) && !both.fixes(&model('a')));
    }
}

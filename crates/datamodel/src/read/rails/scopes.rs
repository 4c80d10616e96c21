//! What the scope of an association does to it: chooses an order, or leaves objects out.

use std::sync::Arc;

use super::expand::{Declaration, Options};
use super::meaning;
use super::ruby::{Block, Kind, Node};
use crate::model::Meaning;

/// What a scope says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Effect {
    /// Only some objects, as written.
    pub condition: Option<Arc<str>>,
    /// What the condition says of columns, if that is understood.
    pub meaning: Option<Meaning>,
    /// They are put in an order.
    pub ordered: bool,
    /// Only the first few.
    pub limited: bool,
}

/// Methods that change neither which objects there are, nor their order.
pub(crate) const NEUTRAL: &[&str] = &[
    "includes",
    "preload",
    "eager_load",
    "select",
    "extending",
    "readonly",
    "unscope",
    "unscoped",
    "with_deleted",
    "distinct",
    "references",
    "strict_loading",
    "lock",
    "reselect",
    "all",
    "rewhere_values",
    "with_discarded",
    "uniq",
    "create_with",
    "annotate",
    "optimizer_hints",
    "left_joins",
    "left_outer_joins",
];

pub(crate) const ORDERING: &[&str] = &["order", "reorder", "in_order_of", "reverse_order", "ordered"];

/// What a declaration's scope, and the options that did the same before there were scopes, say.
pub(crate) fn effect(declaration: &Declaration) -> Effect {
    let mut effect = declaration.scope.as_ref().map(of_block).unwrap_or_default();
    let options = &declaration.options;
    for (key, node) in options {
        match key.as_str() {
            "conditions" | "finder_sql" | "having" => {
                // Of several conditions none is understood: only one of them is kept.
                effect.meaning = match (&effect.condition, key.as_str()) {
                    (None, "conditions") => meaning::of_option(node),
                    _ => None,
                };
                effect.condition.get_or_insert_with(|| written(node).unwrap_or_else(|| format!("({key})")).into());
            }
            "order" | "default_order" => effect.ordered = true,
            "limit" | "offset" => effect.limited = true,
            _ => {}
        }
    }
    // Only the first few are meant, whoever these are.
    if effect.limited && options.contains_key("dependent") {
        effect.meaning = None;
        effect.condition.get_or_insert_with(|| "limited to some".into());
    }
    if let Some(source_type) = options.get("source_type").and_then(Node::text) {
        effect.condition.get_or_insert_with(|| format!("source_type: {source_type}").into());
    }
    effect
}

/// Whether options were given that only a query can answer.
pub(crate) fn is_query(options: &Options) -> bool {
    options.contains_key("finder_sql")
}

fn of_block(block: &Block) -> Effect {
    let mut effect = Effect::default();
    let mut filters = false;
    for node in &block.body {
        chain(node, &mut effect, &mut filters);
    }
    if filters {
        effect.condition = Some(block.text.as_str().into());
        effect.meaning = meaning::of_block(block);
    }
    effect
}

/// Follows `where(...).order(...)` from the right to the left.
fn chain(node: &Node, effect: &mut Effect, filters: &mut bool) {
    match &node.kind {
        Kind::Call(call) => {
            match call.name.as_str() {
                name if NEUTRAL.contains(&name) => {}
                name if ORDERING.contains(&name) => effect.ordered = true,
                "limit" | "offset" | "first" | "last" | "take" => effect.limited = true,
                _ => *filters = true,
            }
            if let Some(receiver) = &call.receiver {
                chain(receiver, effect, filters);
            }
        }
        Kind::SelfRef | Kind::Const(_) => {}
        _ => *filters = true,
    }
}

/// A literal condition, written again.
fn written(node: &Node) -> Option<String> {
    Some(match &node.kind {
        Kind::Str(text) => text.clone(),
        Kind::Symbol(text) => format!(":{text}"),
        Kind::Int(number) => number.to_string(),
        Kind::True => "true".to_owned(),
        Kind::False => "false".to_owned(),
        Kind::Nil => "nil".to_owned(),
        Kind::Const(name) => name.clone(),
        Kind::Array(items) => items.iter().map(written).collect::<Option<Vec<_>>>()?.join(", "),
        Kind::Hash(pairs) => {
            let pair = |(key, value): &(Node, Node)| Some(format!("{}: {}", key.text()?, written(value)?));
            pairs.iter().map(pair).collect::<Option<Vec<_>>>()?.join(", ")
        }
        _ => return None,
    })
}

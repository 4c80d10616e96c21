//! Code that runs when an object is destroyed, as far as it is one of the usual idioms.
//!
//! ```text
//!   posts.destroy_all                        has_many :posts, dependent: :destroy
//!   posts.each { |post| post.destroy }       the same
//!   Post.where(user_id: id).delete_all       another has_many of Post by user_id, dependent: :delete_all
//!   Post.where(user: self).update_all(user_id: nil)                            ..., dependent: :nullify
//! ```
//!
//! Refusals (`throw :abort`, `raise`), errors and log lines change no row. A body with anything else in it is not
//! understood, and then nothing of it is used: half of what a callback does is no better than a guess.

use super::ruby::{Call, Kind, Node};

/// What a callback does to other objects.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// To those of an association of the class.
    Association(String, What),
    /// To those of a class that name the object by a column.
    Rows { class: String, column: String, what: What },
}

/// What is done to them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    Destroy,
    /// `delete_all` of an association follows its `dependent`; of a relation it deletes rows.
    Delete,
    /// `update_all(column: nil)`
    Nullify(String),
}

impl What {
    /// The value of `dependent` that does the same.
    pub(crate) fn dependent(&self) -> &'static str {
        match self {
            What::Destroy => "destroy",
            What::Delete => "delete_all",
            What::Nullify(_) => "nullify",
        }
    }
}

/// What a body does; `None` if it is not understood.
pub(crate) fn effects(body: &[Node]) -> Option<Vec<Effect>> {
    let mut found = Vec::new();
    for node in body {
        match &node.kind {
            Kind::Call(call) if is_quiet(call) => {}
            Kind::Call(call) => found.push(effect(call)?),
            // What is done under a condition is not always done.
            Kind::Branches(inner) => effects(inner).filter(Vec::is_empty).map(drop)?,
            Kind::True | Kind::False | Kind::Nil | Kind::Symbol(_) | Kind::Str(_) | Kind::Int(_) | Kind::SelfRef => {}
            _ => return None,
        }
    }
    Some(found)
}

/// Refuses, complains or logs.
fn is_quiet(call: &Call) -> bool {
    let on = |name: &str| match &call.receiver {
        Some(Node { kind: Kind::Call(receiver), .. }) => receiver.name == name,
        _ => false,
    };
    match call.name.as_str() {
        "throw" | "raise" => call.receiver.is_none(),
        "add" => on("errors"),
        "debug" | "info" | "warn" | "error" => on("logger"),
        _ => false,
    }
}

fn effect(call: &Call) -> Option<Effect> {
    let receiver = call.receiver.as_ref()?.as_call()?;
    let what = match call.name.as_str() {
        "destroy_all" if call.args.is_empty() => What::Destroy,
        "delete_all" if call.args.is_empty() => What::Delete,
        "each" | "find_each" if destroys_each(call) => What::Destroy,
        "update_all" => What::Nullify(nullified(call)?),
        _ => return None,
    };
    if is_own(receiver) {
        return Some(Effect::Association(receiver.name.clone(), what));
    }
    let (Some(Node { kind: Kind::Const(class), .. }), "where") = (&receiver.receiver, receiver.name.as_str()) else {
        return None;
    };
    let [Node { kind: Kind::Hash(pairs), .. }] = receiver.args.as_slice() else { return None };
    let [(key, value)] = pairs.as_slice() else { return None };
    let key = key.text()?;
    let column = match &value.kind {
        Kind::SelfRef => format!("{key}_id"),
        Kind::Call(id) if is_own(id) && id.name == "id" => key.to_owned(),
        _ => return None,
    };
    match &what {
        What::Nullify(other) if *other != column => None,
        _ => Some(Effect::Rows { class: class.clone(), column, what }),
    }
}

/// A call of the object's own method, without arguments.
fn is_own(call: &Call) -> bool {
    let on_self = call.receiver.as_ref().is_none_or(|receiver| matches!(receiver.kind, Kind::SelfRef));
    on_self && call.args.is_empty() && call.block.is_none()
}

/// `{ |post| post.destroy }`
fn destroys_each(call: &Call) -> bool {
    let Some(block) = &call.block else { return false };
    let ([param], [node]) = (block.params.as_slice(), block.body.as_slice()) else { return false };
    let Some(inner) = node.as_call() else { return false };
    let on_it = matches!(&inner.receiver, Some(Node { kind: Kind::Local(name), .. }) if name == param);
    on_it && ["destroy", "destroy!"].contains(&inner.name.as_str()) && inner.args.is_empty()
}

/// The only column of `update_all(column: nil)`.
fn nullified(call: &Call) -> Option<String> {
    let [Node { kind: Kind::Hash(pairs), .. }] = call.args.as_slice() else { return None };
    let [(key, Node { kind: Kind::Nil, .. })] = pairs.as_slice() else { return None };
    key.text().map(str::to_owned)
}

//! What the configuration says: inflections, and whether `belongs_to` is required.

use super::ruby::{self, Kind, Node};
use crate::model::Remark;
use crate::read::File;
use crate::read::inflect::Inflections;

/// What the configuration says.
#[derive(Debug, Default)]
pub(crate) struct Config {
    pub inflections: Inflections,
    /// `config.active_record.belongs_to_required_by_default`, or what `config.load_defaults` makes of it.
    pub required_by_default: bool,
    /// Whether anything was said about it at all.
    pub is_there: bool,
    /// `config.active_record.table_name_prefix`
    pub table_name_prefix: String,
    /// What was not understood.
    pub remarks: Vec<Remark>,
}

/// Reads the files under `config`.
pub(crate) fn read(files: &[File]) -> Config {
    let mut config = Config::default();
    let mut defaults = None;
    let mut explicit = None;
    config.is_there = files.iter().any(|file| file.path.ends_with("config/application.rb"));
    for file in files.iter().filter(|file| is_config(&file.path)) {
        for node in ruby::parse(&file.text).body {
            let place = file.at(node.line);
            visit(&node, &mut |call| match call.name.as_str() {
                "load_defaults" => defaults = call.args.first().and_then(version).or(defaults),
                "belongs_to_required_by_default=" => {
                    explicit = call.args.first().map(|arg| arg.kind == Kind::True);
                }
                "table_name_prefix=" => {
                    config.table_name_prefix = call.text_at(0).unwrap_or_default().to_owned();
                }
                "irregular" => {
                    if let (Some(singular), Some(plural)) = (call.text_at(0), call.text_at(1)) {
                        config.inflections.add_irregular(singular, plural);
                    }
                }
                // Rules for one word, as most are: the pattern is a regular expression otherwise, and has no text.
                "plural" | "singular" => {
                    if let (Some(from), Some(to)) = (call.text_at(0), call.text_at(1)) {
                        let (singular, plural) = if call.name == "plural" { (from, to) } else { (to, from) };
                        config.inflections.add_irregular(singular, plural);
                    } else if call.args.len() == 2 {
                        let message = "an inflection given as a regular expression is not followed".to_owned();
                        config.remarks.push(Remark { message, place: place.clone() });
                    }
                }
                "uncountable" => {
                    let words: Vec<&str> = call.args.iter().flat_map(Node::texts).collect();
                    words.iter().for_each(|word| config.inflections.add_uncountable(word));
                }
                "acronym" => {
                    if let Some(word) = call.text_at(0) {
                        config.inflections.add_acronym(word);
                    }
                }
                _ => {}
            });
        }
    }
    config.is_there |= explicit.is_some();
    config.required_by_default = explicit.unwrap_or(defaults.is_some_and(|version| version >= 5.0));
    config
}

fn is_config(path: &str) -> bool {
    path.ends_with("config/application.rb")
        || path.contains("config/initializers/")
        || path.ends_with("config/inflections.rb")
}

/// `7.1`, or `"7.1"`.
fn version(node: &Node) -> Option<f64> {
    match &node.kind {
        Kind::Float(version) => Some(*version),
        Kind::Int(version) => Some(*version as f64),
        Kind::Str(text) => text.parse().ok(),
        _ => None,
    }
}

/// Every call in a tree, outer ones first.
pub(crate) fn visit(node: &Node, see: &mut dyn FnMut(&ruby::Call)) {
    match &node.kind {
        Kind::Call(call) => {
            see(call);
            call.receiver.iter().for_each(|node| visit(node, see));
            call.block.iter().flat_map(|block| &block.body).for_each(|node| visit(node, see));
        }
        Kind::Class(_, _, body) | Kind::Module(_, body) | Kind::Branches(body) => {
            body.iter().for_each(|node| visit(node, see));
        }
        Kind::Def(def) => def.body.iter().for_each(|node| visit(node, see)),
        _ => {}
    }
}

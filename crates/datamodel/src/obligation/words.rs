//! How findings are put into words.

use crate::logic::Schema;
use crate::model::{AssociationId, DeleteRule, Framework, Kind, Path, ReferenceId};
use crate::read::Inflections;

/// `a Photo`, `an Order`.
pub(super) fn article(name: &str) -> String {
    match name.starts_with(['A', 'E', 'I', 'O', 'a', 'e', 'i', 'o']) {
        true => format!("an {name}"),
        false => format!("a {name}"),
    }
}

/// `Photos`, `LineItems`; of a table, `rows of line_item`.
pub(super) fn plural(name: &str) -> String {
    let inflections = Inflections::default();
    let (front, last) = name.rfind(['.', ':']).map_or(("", name), |at| name.split_at(at + 1));
    if !last.starts_with(char::is_uppercase) {
        return format!("rows of {name}");
    }
    format!("{front}{}", inflections.camelize(&inflections.pluralize(&inflections.underscore(last))))
}

/// A declaration as its author wrote it, more or less: `has_many :photos`.
pub(super) fn declaration(schema: &Schema<'_>, id: AssociationId) -> String {
    let association = schema.model.association(id);
    match (schema.model.framework, schema.path(id)) {
        (Framework::Rails, _) => format!("`{} :{}`", macro_name(association.kind), association.name),
        (_, Path::Inverse(reference)) => field(schema, *reference),
        _ => format!("`{}`", association.name),
    }
}

/// `Photo.profile`, where the column is.
pub(super) fn field(schema: &Schema<'_>, reference: ReferenceId) -> String {
    let declared = schema.model.reference(reference);
    format!("`{}.{}`", schema.model.class(declared.child).name, declared.name)
}

/// What a rule is called where it is written.
pub(crate) fn rule(framework: Framework, kind: Kind, rule: DeleteRule) -> &'static str {
    match framework {
        Framework::Django => match rule {
            DeleteRule::Destroy | DeleteRule::DestroyLater | DeleteRule::Delete => "CASCADE",
            DeleteRule::Nullify => "SET_NULL",
            DeleteRule::Restrict => "PROTECT",
            DeleteRule::RestrictOthers => "RESTRICT",
            DeleteRule::Nothing => "DO_NOTHING",
        },
        Framework::Prisma | Framework::Sql => match rule {
            DeleteRule::Destroy | DeleteRule::DestroyLater | DeleteRule::Delete => "Cascade",
            DeleteRule::Nullify => "SetNull",
            DeleteRule::Restrict | DeleteRule::RestrictOthers => "Restrict",
            DeleteRule::Nothing => "NoAction",
        },
        Framework::Rails => match rule {
            DeleteRule::Destroy => ":destroy",
            DeleteRule::DestroyLater => ":destroy_async",
            DeleteRule::Delete if kind == Kind::HasMany => ":delete_all",
            DeleteRule::Delete => ":delete",
            DeleteRule::Nullify => ":nullify",
            DeleteRule::Restrict | DeleteRule::RestrictOthers => ":restrict_with_error",
            DeleteRule::Nothing => "nil",
        },
    }
}

/// The macro of Rails.
pub(super) fn macro_name(kind: Kind) -> &'static str {
    match kind {
        Kind::BelongsTo => "belongs_to",
        Kind::HasOne => "has_one",
        Kind::HasMany => "has_many",
        Kind::ManyToMany => "has_and_belongs_to_many",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_keep_their_look() {
        assert_eq!(plural("Photo"), "Photos");
        assert_eq!(plural("Shop::LineItem"), "Shop::LineItems");
        assert_eq!(plural("shop.Category"), "shop.Categories");
        assert_eq!(plural("Person"), "People");
        assert_eq!(plural("line_item"), "rows of line_item");
    }
}

//! A data model as text: a line for each fact, with its place. What a test compares, and what a reader of an unexpected
//! answer looks at first.

use std::fmt;

use crate::model::{
    Association, ClassId, DataModel, DeleteRule, Framework, Join, Kind, OnDelete, Path, Reference, Required, Side,
    Target, Uniqueness,
};

impl fmt::Display for DataModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.framework)?;
        for (index, class) in self.classes.iter().enumerate() {
            write!(f, "{}{}", if class.is_abstract { "abstract class " } else { "class " }, class.name)?;
            if let Some(parent) = class.parent {
                write!(f, " < {}", self.class(parent).name)?;
            }
            if let Some(table) = &class.table {
                write!(f, " table {table}")?;
            }
            if class.soft_delete {
                f.write_str(" soft-delete")?;
            }
            writeln!(f, "  ({})", class.place)?;
            let id = ClassId(index);
            self.references.iter().filter(|r| r.child == id).try_for_each(|r| self.dump_reference(f, r))?;
            self.associations.iter().filter(|a| a.owner == id).try_for_each(|a| self.dump_association(f, a))?;
            self.uniqueness.iter().filter(|u| u.class == id).try_for_each(|u| self.dump_uniqueness(f, u))?;
        }
        self.joins.iter().try_for_each(|join| self.dump_join(f, join))?;
        self.remarks.iter().try_for_each(|remark| writeln!(f, "remark {}: {}", remark.place, remark.message))
    }
}

impl DataModel {
    fn dump_reference(&self, f: &mut fmt::Formatter<'_>, reference: &Reference) -> fmt::Result {
        write!(f, "  column {} -> ", reference.name)?;
        match &reference.target {
            Target::Class(class) => f.write_str(&self.class(*class).name)?,
            Target::Any(classes) => {
                let names: Vec<&str> = classes.iter().map(|class| &*self.class(*class).name).collect();
                write!(f, "any of [{}]", names.join(", "))?;
            }
        }
        if let Some(column) = &reference.column {
            write!(f, " by {column}")?;
        }
        f.write_str(match reference.required {
            Required::No => "",
            Required::Validated => ", validated",
            Required::NotNull => ", not null",
        })?;
        if reference.unique {
            f.write_str(", unique")?;
        }
        if let Some(on_delete) = reference.on_delete {
            write!(f, ", database: {on_delete}")?;
        }
        writeln!(f, "  ({})", reference.place)
    }

    fn dump_association(&self, f: &mut fmt::Formatter<'_>, association: &Association) -> fmt::Result {
        write!(f, "  {} {}", association.kind, association.name)?;
        match association.target {
            Some(target) => write!(f, " -> {}", self.class(target).name)?,
            None => f.write_str(" -> ?")?,
        }
        match &association.path {
            Path::Own(id) => write!(f, " by own {}", self.reference(*id).name)?,
            Path::Inverse(id) => {
                let reference = self.reference(*id);
                write!(f, " by {}.{}", self.class(reference.child).name, reference.name)?;
            }
            Path::Join(id, side) => {
                let side = if *side == Side::Left { "left" } else { "right" };
                write!(f, " by join {} from {side}", self.join(*id).name)?;
            }
            Path::Through(first, second) => {
                let (first, second) = (self.association(*first), self.association(*second));
                write!(f, " through {}.{}", first.name, second.name)?;
            }
            Path::Unknown => f.write_str(" in an unknown way")?,
        }
        if let Some(condition) = &association.condition {
            write!(f, ", where `{condition}`")?;
        }
        if association.is_choice {
            f.write_str(", one of several")?;
        }
        if let Some(rule) = association.on_delete {
            write!(f, ", on delete: {rule}")?;
        }
        writeln!(f, "  ({})", association.place)
    }

    fn dump_uniqueness(&self, f: &mut fmt::Formatter<'_>, unique: &Uniqueness) -> fmt::Result {
        let references = unique.references.iter().map(|id| &*self.reference(*id).name);
        let names: Vec<&str> = references.chain(unique.columns.iter().map(|column| &**column)).collect();
        write!(f, "  unique ({})", names.join(", "))?;
        for (flag, word) in
            [(unique.partial, "partial"), (unique.validated, "validated"), (unique.enforced, "enforced")]
        {
            if flag {
                write!(f, " {word}")?;
            }
        }
        writeln!(f, "  ({})", unique.place)
    }

    fn dump_join(&self, f: &mut fmt::Formatter<'_>, join: &Join) -> fmt::Result {
        write!(f, "join {}: {} x {}", join.name, self.class(join.left).name, self.class(join.right).name)?;
        if let Some(on_delete) = join.on_delete {
            write!(f, ", database: {on_delete}")?;
        }
        writeln!(f, "  ({})", join.place)
    }
}

impl fmt::Display for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Framework::Rails => "rails",
            Framework::Django => "django",
            Framework::Prisma => "prisma",
            Framework::Sql => "sql",
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::BelongsTo => "belongs_to",
            Kind::HasOne => "has_one",
            Kind::HasMany => "has_many",
            Kind::ManyToMany => "many_to_many",
        })
    }
}

impl fmt::Display for OnDelete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OnDelete::NoAction => "no action",
            OnDelete::Restrict => "restrict",
            OnDelete::Cascade => "cascade",
            OnDelete::SetNull => "set null",
            OnDelete::SetDefault => "set default",
        })
    }
}

impl fmt::Display for DeleteRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeleteRule::Destroy => "destroy",
            DeleteRule::DestroyLater => "destroy later",
            DeleteRule::Delete => "delete rows",
            DeleteRule::Nullify => "nullify",
            DeleteRule::Restrict => "restrict",
            DeleteRule::RestrictOthers => "restrict others",
            DeleteRule::Nothing => "nothing",
        })
    }
}

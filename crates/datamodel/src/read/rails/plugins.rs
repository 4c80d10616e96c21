//! What macros of well-known gems declare: one table, written in Ruby.
//!
//! An entry's text stands for the macro's call. In it, `$self` is the class that calls it, `$name` each of its symbol
//! arguments in turn, and `$option|default$` the value of an option. `provides` are the classes that the gem brings
//! along, for applications that use it and do not define them themselves.

/// A macro of a gem.
pub(crate) struct Plugin {
    /// What is called, or the module that is included.
    pub name: &'static str,
    /// What that declares.
    pub expansion: &'static str,
    /// The gem's own classes.
    pub provides: &'static str,
    /// What is not modelled about it, if anything.
    pub remark: Option<&'static str>,
}

const fn plugin(name: &'static str, expansion: &'static str, provides: &'static str) -> Plugin {
    Plugin { name, expansion, provides, remark: None }
}

const fn remarked(name: &'static str, expansion: &'static str, remark: &'static str) -> Plugin {
    Plugin { name, expansion, provides: "", remark: Some(remark) }
}

const TREE: &str = "
belongs_to :parent, class_name: '::$self', foreign_key: '$foreign_key|parent_id$', optional: true
has_many :children, class_name: '::$self', foreign_key: '$foreign_key|parent_id$', dependent: :$dependent|destroy$";

const NESTED_SET: &str = "
belongs_to :parent, class_name: '::$self', foreign_key: '$parent_column|parent_id$', optional: true
has_many :children, class_name: '::$self', foreign_key: '$parent_column|parent_id$', dependent: :$dependent|delete_all$";

const TAGGINGS: &str = "
has_many :taggings, as: :taggable, dependent: :destroy, class_name: 'ActsAsTaggableOn::Tagging'
has_many :base_tags, through: :taggings, source: :tag, class_name: 'ActsAsTaggableOn::Tag'";

const TAGGING_CLASSES: &str = "
class ActsAsTaggableOn::Tag < ActiveRecord::Base
  has_many :taggings, dependent: :destroy, class_name: 'ActsAsTaggableOn::Tagging'
end
class ActsAsTaggableOn::Tagging < ActiveRecord::Base
  belongs_to :tag, class_name: 'ActsAsTaggableOn::Tag'
  belongs_to :taggable, polymorphic: true
end";

const ATTACHMENT_CLASSES: &str = "
class ActiveStorage::Attachment < ActiveRecord::Base
  self.table_name = 'active_storage_attachments'
  belongs_to :record, polymorphic: true
  belongs_to :blob, class_name: 'ActiveStorage::Blob', optional: false
end
class ActiveStorage::Blob < ActiveRecord::Base
  self.table_name = 'active_storage_blobs'
  has_many :attachments, class_name: 'ActiveStorage::Attachment'
end";

// Attachments and rich texts are told apart by a name that only these macros write: every row has one of the names that
// are declared, so the rules of all names together concern every row.

/// Every macro that is known; to add one: a line here, and a case in tests/rails/plugins.
pub(crate) const PLUGINS: &[Plugin] = &[
    plugin("acts_as_tree", TREE, ""),
    remarked("acts_as_nested_set", NESTED_SET, "all descendants go with it, not only the children"),
    remarked("has_ancestry", "", "the tree of `ancestry` is kept in a text column and is not modelled"),
    plugin("acts_as_list", "", ""),
    plugin("acts_as_commentable", "has_many :comments, as: :commentable, dependent: :destroy", ""),
    plugin(
        "acts_as_rated",
        "has_many :ratings, as: :rated, dependent: :delete_all, class_name: '$rating_class|Rating$'",
        "class Rating < ActiveRecord::Base\n belongs_to :rated, polymorphic: true\nend",
    ),
    plugin("acts_as_taggable", TAGGINGS, TAGGING_CLASSES),
    plugin("acts_as_taggable_on", TAGGINGS, TAGGING_CLASSES),
    plugin("acts_as_ordered_taggable", TAGGINGS, TAGGING_CLASSES),
    plugin("acts_as_ordered_taggable_on", TAGGINGS, TAGGING_CLASSES),
    plugin(
        "acts_as_tagger",
        "has_many :owned_taggings, as: :tagger, dependent: :destroy, class_name: 'ActsAsTaggableOn::Tagging'",
        TAGGING_CLASSES,
    ),
    plugin(
        "has_paper_trail",
        "has_many :$versions|versions$, as: :item, class_name: 'PaperTrail::Version', dependent: false",
        "class PaperTrail::Version < ActiveRecord::Base\n belongs_to :item, polymorphic: true, optional: true\nend",
    ),
    plugin(
        "audited",
        "has_many :audits, as: :auditable, class_name: 'Audited::Audit', dependent: false",
        "class Audited::Audit < ActiveRecord::Base\n belongs_to :auditable, polymorphic: true, optional: true\nend",
    ),
    plugin(
        "has_one_attached",
        "has_many :$name_attachment, as: :record, class_name: 'ActiveStorage::Attachment', dependent: :destroy\n\
         has_many :$name_blob, through: :$name_attachment, source: :blob, class_name: 'ActiveStorage::Blob'",
        ATTACHMENT_CLASSES,
    ),
    plugin(
        "has_many_attached",
        "has_many :$name_attachments, as: :record, class_name: 'ActiveStorage::Attachment', dependent: :destroy\n\
         has_many :$name_blobs, through: :$name_attachments, source: :blob, class_name: 'ActiveStorage::Blob'",
        ATTACHMENT_CLASSES,
    ),
    plugin(
        "has_rich_text",
        "has_many :rich_text_$name, as: :record, class_name: 'ActionText::RichText', dependent: :destroy",
        "class ActionText::RichText < ActiveRecord::Base\n self.table_name = 'action_text_rich_texts'\n belongs_to :record, polymorphic: true\nend",
    ),
    plugin(
        "acts_as_votable",
        "has_many :votes_for, as: :votable, dependent: :delete_all, class_name: 'ActsAsVotable::Vote'",
        "class ActsAsVotable::Vote < ActiveRecord::Base\n belongs_to :votable, polymorphic: true\nend",
    ),
    plugin("acts_as_paranoid", "self.soft_delete = true", ""),
    remarked("Discard::Model", "", "`discard` only marks a row; `destroy` still deletes it, which is what is modelled"),
    remarked("has_many_polymorphs", "", "`has_many_polymorphs` is not modelled"),
];

/// The entry of this name.
pub(crate) fn find(name: &str) -> Option<&'static Plugin> {
    PLUGINS.iter().find(|plugin| plugin.name == name.trim_start_matches("::"))
}

impl Plugin {
    /// What a call declares, as Ruby: for each name that it was given, or once.
    pub(crate) fn expand(&self, class: &str, names: &[&str], option: &dyn Fn(&str) -> Option<String>) -> String {
        let text = with_options(&self.expansion.replace("$self", class), option);
        if !text.contains("$name") {
            return text;
        }
        names.iter().map(|name| text.replace("$name", name)).collect::<Vec<_>>().join("\n")
    }
}

/// Puts options in for `$option|default$`.
fn with_options(text: &str, option: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, name, default, after)) = next_option(rest) {
        out.push_str(before);
        out.push_str(&option(name).unwrap_or_else(|| default.to_owned()));
        rest = after;
    }
    out + rest
}

fn next_option(text: &str) -> Option<(&str, &str, &str, &str)> {
    let bar = text.find('|').filter(|bar| text.get(..*bar).is_some_and(|front| front.contains('$')))?;
    let (before, name) = text.get(..bar)?.rsplit_once('$')?;
    let (default, after) = text.get(bar + 1..)?.split_once('$')?;
    Some((before, name, default, after))
}

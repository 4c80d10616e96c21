//! Inflections: `photos` to `photo` to `Photo`, as Rails does it.
//!
//! Rules are regular expressions in Rails; those of the default set all look at the end of the word, so here a rule is
//! a suffix and what replaces it, tried from the most special to the most general. An application's own rules
//! (`config/initializers/inflections.rb`) come before.

/// How words are bent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inflections {
    /// Singular and plural of whole words, the latest first.
    irregular: Vec<(String, String)>,
    uncountable: Vec<String>,
    /// `API`, `HTML`: written so in class names.
    acronyms: Vec<String>,
}

#[rustfmt::skip]
const IRREGULAR: &[(&str, &str)] = &[
    ("person", "people"),
    ("man", "men"),
    ("child", "children"),
    ("sex", "sexes"),
    ("move", "moves"),
    ("zombie", "zombies"),
];

const UNCOUNTABLE: &[&str] =
    &["equipment", "information", "rice", "money", "species", "series", "fish", "sheep", "jeans", "police"];

/// Endings of plurals and of what they are plurals of, the most special first; `^` stands before whole words.
#[rustfmt::skip]
const SINGULAR: &[(&str, &str)] = &[
    ("databases", "database"), ("quizzes", "quiz"), ("matrices", "matrix"), ("vertices", "vertex"), ("indices", "index"),
    ("^oxen", "ox"), ("aliases", "alias"), ("alias", "alias"), ("statuses", "status"), ("status", "status"),
    ("octopi", "octopus"), ("octopus", "octopus"), ("viri", "virus"), ("virus", "virus"), ("^axes", "axis"),
    ("^axis", "axis"), ("crises", "crisis"), ("crisis", "crisis"), ("testes", "testis"), ("testis", "testis"),
    ("shoes", "shoe"), ("oes", "o"), ("buses", "bus"), ("bus", "bus"), ("^mice", "mouse"), ("^lice", "louse"),
    ("xes", "x"), ("ches", "ch"), ("sses", "ss"), ("shes", "sh"), ("movies", "movie"), ("series", "series"),
    ("quies", "quy"), ("lves", "lf"), ("rves", "rf"), ("tives", "tive"), ("hives", "hive"), ("analyses", "analysis"),
    ("analysis", "analysis"), ("bases", "basis"), ("basis", "basis"), ("diagnoses", "diagnosis"),
    ("diagnosis", "diagnosis"), ("parentheses", "parenthesis"), ("parenthesis", "parenthesis"),
    ("prognoses", "prognosis"), ("prognosis", "prognosis"), ("synopses", "synopsis"), ("synopsis", "synopsis"),
    ("theses", "thesis"), ("thesis", "thesis"), ("ta", "tum"), ("ia", "ium"), ("news", "news"), ("ss", "ss"),
];

/// Endings of singulars, the most special first; `^` stands before whole words.
#[rustfmt::skip]
const PLURAL: &[(&str, &str)] = &[
    ("quiz", "quizzes"), ("^oxen", "oxen"), ("^ox", "oxen"), ("^mice", "mice"), ("^lice", "lice"), ("^mouse", "mice"),
    ("^louse", "lice"), ("matrix", "matrices"), ("matrex", "matrices"), ("vertex", "vertices"), ("vertix", "vertices"),
    ("index", "indices"), ("indix", "indices"), ("sh", "shes"), ("ch", "ches"), ("ss", "sses"), ("x", "xes"),
    ("quy", "quies"), ("hive", "hives"), ("lf", "lves"), ("rf", "rves"), ("sis", "ses"), ("ta", "ta"), ("ia", "ia"),
    ("tum", "ta"), ("ium", "ia"), ("buffalo", "buffaloes"), ("tomato", "tomatoes"), ("bus", "buses"),
    ("alias", "aliases"), ("status", "statuses"), ("octopus", "octopi"), ("octopi", "octopi"), ("virus", "viri"),
    ("viri", "viri"), ("^axis", "axes"), ("^testis", "testes"),
];

/// The word with its ending replaced by the first rule that fits.
fn apply(rules: &[(&str, &str)], word: &str) -> Option<String> {
    rules.iter().find_map(|(ending, other)| match ending.strip_prefix('^') {
        Some(whole) => (word == whole).then(|| (*other).to_owned()),
        None => word.strip_suffix(ending).map(|front| format!("{front}{other}")),
    })
}

impl Inflections {
    /// `inflect.irregular "cow", "kine"`
    pub(crate) fn add_irregular(&mut self, singular: &str, plural: &str) {
        self.irregular.insert(0, (singular.to_lowercase(), plural.to_lowercase()));
    }

    /// `inflect.uncountable "staff"`
    pub(crate) fn add_uncountable(&mut self, word: &str) {
        self.uncountable.push(word.to_lowercase());
    }

    /// `inflect.acronym "API"`
    pub(crate) fn add_acronym(&mut self, word: &str) {
        self.acronyms.push(word.to_owned());
    }

    fn is_uncountable(&self, word: &str) -> bool {
        let ends = |with: &str| {
            word.strip_suffix(with)
                .is_some_and(|front| !front.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
        };
        UNCOUNTABLE.iter().any(|w| ends(w)) || self.uncountable.iter().any(|w| ends(w))
    }

    /// Singular and plural of irregular words, the application's own first.
    fn irregular(&self) -> impl Iterator<Item = (&str, &str)> {
        self.irregular.iter().map(|(s, p)| (s.as_str(), p.as_str())).chain(IRREGULAR.iter().copied())
    }

    /// `photos` for `photo`, and for `photos`.
    pub(crate) fn pluralize(&self, word: &str) -> String {
        if word.is_empty() || self.is_uncountable(word) {
            return word.to_owned();
        }
        for (singular, plural) in self.irregular() {
            if word.ends_with(plural) {
                return word.to_owned();
            }
            if let Some(front) = word.strip_suffix(singular) {
                return format!("{front}{plural}");
            }
        }
        if let Some(plural) = apply(PLURAL, word) {
            return plural;
        }
        let is_vowel = |front: &str| front.ends_with(['a', 'e', 'i', 'o', 'u', 'y']);
        match (word.strip_suffix('y'), word.strip_suffix("fe")) {
            (Some(front), _) if !front.is_empty() && !is_vowel(front) => format!("{front}ies"),
            (_, Some(front)) if !front.is_empty() && !front.ends_with('f') => format!("{front}ves"),
            _ if word.ends_with(['s', 'S']) => word.to_owned(),
            _ => format!("{word}s"),
        }
    }

    /// `photo` for `photos`, and for `photo`.
    pub(crate) fn singularize(&self, word: &str) -> String {
        if self.is_uncountable(word) {
            return word.to_owned();
        }
        for (singular, plural) in self.irregular() {
            if let Some(front) = word.strip_suffix(plural) {
                return format!("{front}{singular}");
            }
            if word.ends_with(singular) {
                return word.to_owned();
            }
        }
        if let Some(singular) = apply(SINGULAR, word) {
            return singular;
        }
        let is_vowel = |front: &str| front.ends_with(['a', 'e', 'i', 'o', 'u', 'y']);
        match (word.strip_suffix("ies"), word.strip_suffix("ves")) {
            (Some(front), _) if !front.is_empty() && !is_vowel(front) => format!("{front}y"),
            // As Rails has it: `saves` are of a `safe`, and `caves` of a `cafe`.
            (_, Some(front)) if !front.is_empty() && !front.ends_with('f') => format!("{front}fe"),
            _ => word.strip_suffix('s').unwrap_or(word).to_owned(),
        }
    }

    /// `ForumPost` for `forum_post`; `/` becomes `::`.
    pub(crate) fn camelize(&self, word: &str) -> String {
        let part = |part: &str| match self.acronyms.iter().find(|a| a.eq_ignore_ascii_case(part)) {
            Some(acronym) => acronym.clone(),
            None => {
                let mut chars = part.chars();
                chars.next().map(|c| c.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default()
            }
        };
        let name = |name: &str| name.split('_').map(part).collect::<String>();
        word.split('/').map(name).collect::<Vec<_>>().join("::")
    }

    /// `forum_post` for `ForumPost`; `::` becomes `/`.
    pub(crate) fn underscore(&self, name: &str) -> String {
        let mut name = name.replace("::", "/");
        for acronym in &self.acronyms {
            let mut soft = acronym.to_lowercase();
            if let Some(first) = soft.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            name = name.replace(acronym.as_str(), &soft);
        }
        let chars: Vec<char> = name.chars().collect();
        let mut out = String::with_capacity(name.len() + 4);
        for (index, c) in chars.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|i| chars.get(i));
            let next_is_lower = chars.get(index + 1).is_some_and(|n| n.is_lowercase());
            let starts_word = c.is_uppercase()
                && before
                    .is_some_and(|b| b.is_lowercase() || b.is_ascii_digit() || (b.is_uppercase() && next_is_lower));
            if starts_word {
                out.push('_');
            }
            out.extend(c.to_lowercase());
        }
        out.replace('-', "_")
    }

    /// `forum_posts` for `ForumPost`, whatever it is nested in.
    pub(crate) fn tableize(&self, name: &str) -> String {
        let name = name.rsplit("::").next().unwrap_or(name);
        self.pluralize(&self.underscore(name))
    }

    /// `forum_post_id` for `ForumPost`, whatever it is nested in.
    pub(crate) fn foreign_key(&self, name: &str) -> String {
        let name = name.rsplit("::").next().unwrap_or(name);
        format!("{}_id", self.underscore(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_bent_there_and_back() {
        let inflections = Inflections::default();
        #[rustfmt::skip]
        let pairs = [
            ("photo", "photos"), ("category", "categories"), ("person", "people"), ("status", "statuses"),
            ("address", "addresses"), ("box", "boxes"), ("child", "children"), ("day", "days"), ("analysis", "analyses"),
            ("sms_context", "sms_contexts"), ("wife", "wives"), ("shelf", "shelves"), ("news", "news"), ("tax", "taxes"),
            ("series", "series"), ("hero_image", "hero_images"), ("match", "matches"), ("movie", "movies"),
            ("currency", "currencies"), ("salesperson", "salespeople"), ("index", "indices"), ("medium", "media"),
            ("datum", "data"), ("process", "processes"), ("virus", "viri"), ("quiz", "quizzes"), ("money", "money"),
            ("axis", "axes"), ("database", "databases"), ("hero", "heros"), ("archive", "archives"), ("bus", "buses"),
        ];
        for (singular, plural) in pairs {
            assert_eq!(inflections.pluralize(singular), plural);
            assert_eq!(inflections.singularize(plural), singular);
            assert_eq!(inflections.singularize(singular), singular);
        }
    }

    #[test]
    fn names_become_words_and_back() {
        let mut inflections = Inflections::default();
        inflections.add_acronym("API");
        inflections.add_irregular("cow", "kine");
        assert_eq!(inflections.camelize("forum_post"), "ForumPost");
        assert_eq!(inflections.camelize("shop/api_key"), "Shop::APIKey");
        assert_eq!(inflections.underscore("Shop::APIKey"), "shop/api_key");
        assert_eq!(inflections.underscore("HTMLPage"), "html_page");
        assert_eq!(inflections.tableize("Shop::ForumPost"), "forum_posts");
        assert_eq!(inflections.foreign_key("Shop::ForumPost"), "forum_post_id");
        assert_eq!(inflections.pluralize("sacred_cow"), "sacred_kine");
        assert_eq!(inflections.singularize("kine"), "cow");
    }
}

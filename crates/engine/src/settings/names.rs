//! What a session's settings say about names: where they are looked for.

use std::borrow::Cow;
use std::sync::Arc;

use isolde_sql::catalog::Catalog;

use crate::session::SessionState;

impl SessionState {
    /// The catalog as this session's statements are to be bound to it: with its search path.
    pub(crate) fn names<'c>(&self, catalog: &'c Catalog) -> Cow<'c, Catalog> {
        let path = self.search_path();
        let unchecked = self.kept.settings.is_off("check_function_bodies");
        if path.is_none() && !unchecked {
            return Cow::Borrowed(catalog);
        }
        let mut own = catalog.clone();
        if let Some(path) = path {
            own.set_search_path(path);
        }
        if unchecked {
            own.leave_bodies_unchecked();
        }
        Cow::Owned(own)
    }

    /// Where it looks for names without a schema, if it has said so.
    pub(crate) fn search_path(&self) -> Option<Vec<Arc<str>>> {
        self.kept.settings.get("search_path").map(|path| search_path(&path)).filter(|path| !path.is_empty())
    }
}

/// The schemas of a path. An empty one, as dumps set it, is as good as the usual one: they name every schema.
fn search_path(path: &str) -> Vec<Arc<str>> {
    let names = path.split(',').map(|name| name.trim().trim_matches(['"', '\'']));
    names.filter(|name| !matches!(*name, "" | "$user" | "pg_catalog")).map(Arc::from).collect()
}

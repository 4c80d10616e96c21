//! Types that change: ALTER TYPE reaches the rows too.

use std::sync::Arc;

use isolde_sql::Value;
use isolde_sql::catalog::Catalog;
use isolde_sql::types::UserType;
use isolde_sql::value::EnumLabel;

use crate::exec::Executor;
use crate::storage::Tuple;

impl Executor<'_> {
    /// Gives the rows of all tables the labels that an enum's positions now have. Nothing is compared or hashed by its
    /// label, so indexes and digests stay as they are.
    pub(super) fn rename_labels(&mut self, catalog: &Catalog, name: &str, ty: UserType) {
        let Some(old) = catalog.user_type(name) else { return };
        let renamed = |label: &EnumLabel| {
            let same = |l: &&Arc<EnumLabel>| l.position == label.position && l.label != label.label;
            ty.labels().iter().find(same).cloned()
        };
        if !old.labels().iter().any(|l| renamed(l).is_some()) {
            return;
        }
        for table in catalog.tables() {
            let is_old = |c: &usize| table.columns[*c].ty.underlying_user() == Some(old);
            let columns: Vec<usize> = (0..table.columns.len()).filter(is_old).collect();
            if columns.is_empty() {
                continue;
            }
            let data = self.db.committed.table_mut(table.id);
            let rows: Vec<_> = data.iter().map(|(row, tuple)| (row, tuple.clone())).collect();
            for (row, tuple) in rows {
                let mut values = tuple.values.to_vec();
                columns.iter().for_each(|&c| values[c] = relabelled(&values[c], &renamed));
                data.put(table, row, Tuple { values: values.into(), ..tuple });
            }
        }
    }
}

/// The value with its label, or those of its elements, renamed.
fn relabelled(value: &Value, renamed: &dyn Fn(&EnumLabel) -> Option<Arc<EnumLabel>>) -> Value {
    match value {
        Value::Enum(label) => Value::Enum(renamed(label).unwrap_or_else(|| label.clone())),
        Value::Array(array) => match array.map(|e| Ok(relabelled(e, renamed))) {
            Ok(array) => Value::Array(Arc::new(array)),
            Err(_) => value.clone(),
        },
        other => other.clone(),
    }
}

//! What settings are about, by their names.

/// What a setting is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// The isolation level of transactions.
    Level,
    /// What transactions may do besides.
    Mode,
    /// The words in which values are printed, or where names are found.
    Wording,
    /// What the planner may do, and by that the order in which rows are found.
    Planner,
    /// Anything else.
    Other,
}

/// The settings that are about one of these.
const SETTINGS: &[(SettingKind, &[&str])] = &[
    (SettingKind::Level, &["default_transaction_isolation", "transaction_isolation"]),
    (
        SettingKind::Mode,
        &[
            "default_transaction_deferrable",
            "default_transaction_read_only",
            "transaction_deferrable",
            "transaction_read_only",
        ],
    ),
    (SettingKind::Wording, WORDING),
    (
        SettingKind::Planner,
        &[
            "enable_async_append",
            "enable_bitmapscan",
            "enable_distinct_reordering",
            "enable_gathermerge",
            "enable_group_by_reordering",
            "enable_hashagg",
            "enable_hashjoin",
            "enable_incremental_sort",
            "enable_indexonlyscan",
            "enable_indexscan",
            "enable_material",
            "enable_memoize",
            "enable_mergejoin",
            "enable_nestloop",
            "enable_parallel_append",
            "enable_parallel_hash",
            "enable_partition_pruning",
            "enable_partitionwise_aggregate",
            "enable_partitionwise_join",
            "enable_presorted_aggregate",
            "enable_self_join_elimination",
            "enable_seqscan",
            "enable_sort",
            "enable_tidscan",
        ],
    ),
];

/// Settings by which a value is printed in other words, or a name is found elsewhere.
pub(super) const WORDING: &[&str] = &[
    "bytea_output",
    "client_encoding",
    "datestyle",
    "extra_float_digits",
    "intervalstyle",
    "lc_monetary",
    "search_path",
    "timezone",
    "xmlbinary",
];

impl SettingKind {
    /// What the setting with this name is about; case does not matter.
    pub fn of(name: &str) -> SettingKind {
        let is_it = |list: &[&str]| list.iter().any(|known| known.eq_ignore_ascii_case(name));
        SETTINGS.iter().find(|(_, list)| is_it(list)).map_or(SettingKind::Other, |(kind, _)| *kind)
    }
}

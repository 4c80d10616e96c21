//! The schemas that generated programs work on: small, and each with its own reason to wait or to fail.

/// A few tables with a few rows.
#[derive(Debug)]
pub struct Schema {
    /// What creates and fills the tables.
    pub setup: &'static [&'static str],
    /// The tables, as far as the generator must know them.
    pub tables: &'static [Table],
}

/// A table as the generator sees it.
#[derive(Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
    /// Column lists that have a unique index.
    pub keys: &'static [&'static [&'static str]],
}

/// A column as the generator sees it.
#[derive(Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Whether statements may give it a value; a generated column computes its own.
    pub writable: bool,
}

impl Table {
    /// The columns that statements may give a value.
    pub fn writable(&self) -> Vec<&Column> {
        self.columns.iter().filter(|column| column.writable).collect()
    }
}

/// The types that are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Int,
    Text,
    Bool,
    Numeric,
    Date,
    /// The enum `mood` of generated schemas.
    Mood,
    /// `int[]`
    Ints,
    Jsonb,
}

const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, writable: true }
}

const ACCOUNT: Table = Table {
    name: "account",
    columns: &[column("id", Kind::Int), column("owner", Kind::Text), column("balance", Kind::Int)],
    keys: &[&["id"]],
};

const PERSON: Table = Table {
    name: "person",
    columns: &[
        column("id", Kind::Int),
        column("email", Kind::Text),
        column("age", Kind::Int),
        column("active", Kind::Bool),
    ],
    keys: &[&["id"], &["email"]],
};

const PARENT: Table =
    Table { name: "parent", columns: &[column("id", Kind::Int), column("name", Kind::Text)], keys: &[&["id"]] };

const CHILD: Table = Table {
    name: "child",
    columns: &[column("id", Kind::Int), column("parent_id", Kind::Int), column("n", Kind::Int)],
    keys: &[&["id"]],
};

const NOTE: Table = Table { name: "note", columns: &[column("a", Kind::Int), column("b", Kind::Text)], keys: &[] };

const PAIR: Table = Table {
    name: "pair",
    columns: &[column("a", Kind::Int), column("b", Kind::Int), column("price", Kind::Numeric)],
    keys: &[&["a", "b"]],
};

const JOB: Table = Table {
    name: "job",
    columns: &[column("id", Kind::Int), column("taken", Kind::Bool), column("rank", Kind::Int)],
    keys: &[&["id"], &["rank"]],
};

const TREE: Table = Table {
    name: "tree",
    columns: &[column("id", Kind::Int), column("parent_id", Kind::Int), column("n", Kind::Int)],
    keys: &[&["id"]],
};

const FAMILY: &[Table] = &[PARENT, CHILD];

/// Every schema. To add one: describe its tables above and add an entry; all tests use it from then on.
pub const SCHEMAS: &[Schema] = &[
    Schema {
        setup: &[
            "CREATE TABLE account (id int PRIMARY KEY, owner text, balance int NOT NULL DEFAULT 10 CHECK (balance >= 0))",
            "INSERT INTO account VALUES (1, 'ann', 10), (2, 'bob', 20), (3, NULL, 0)",
        ],
        tables: &[ACCOUNT],
    },
    Schema {
        setup: &[
            "CREATE TABLE person (id int PRIMARY KEY, email text UNIQUE, age int, active boolean NOT NULL DEFAULT true)",
            "INSERT INTO person VALUES (1, 'a', 30, true), (2, 'b', NULL, false), (4, NULL, 7, true)",
        ],
        tables: &[PERSON],
    },
    Schema {
        setup: &[
            "CREATE TABLE parent (id int PRIMARY KEY, name text)",
            "CREATE TABLE child (id int PRIMARY KEY, parent_id int REFERENCES parent, n int)",
            "INSERT INTO parent VALUES (1, 'a'), (2, 'b'), (3, NULL)",
            "INSERT INTO child VALUES (1, 1, 5), (2, 1, 6), (3, 2, NULL), (4, NULL, 1)",
        ],
        tables: FAMILY,
    },
    Schema {
        setup: &[
            "CREATE TABLE parent (id int PRIMARY KEY, name text)",
            "CREATE TABLE child (id int PRIMARY KEY, parent_id int REFERENCES parent ON DELETE CASCADE, n int)",
            "INSERT INTO parent VALUES (1, 'a'), (2, 'b'), (3, NULL)",
            "INSERT INTO child VALUES (1, 1, 5), (2, 1, 6), (3, 2, NULL), (4, NULL, 1)",
        ],
        tables: FAMILY,
    },
    Schema {
        setup: &[
            "CREATE TABLE parent (id int PRIMARY KEY, name text)",
            "CREATE TABLE child (id int PRIMARY KEY, parent_id int REFERENCES parent ON DELETE SET NULL ON UPDATE CASCADE, n int)",
            "INSERT INTO parent VALUES (1, 'a'), (2, 'b'), (3, NULL)",
            "INSERT INTO child VALUES (1, 1, 5), (2, 1, 6), (3, 2, NULL), (4, NULL, 1)",
        ],
        tables: FAMILY,
    },
    Schema {
        setup: &[
            "CREATE TABLE parent (id int PRIMARY KEY, name text)",
            "CREATE TABLE child (id int PRIMARY KEY, parent_id int DEFAULT 3 REFERENCES parent ON DELETE SET DEFAULT ON UPDATE RESTRICT, n int)",
            "INSERT INTO parent VALUES (1, 'a'), (2, 'b'), (3, NULL)",
            "INSERT INTO child VALUES (1, 1, 5), (2, 1, 6), (3, 2, NULL), (4, NULL, 1)",
        ],
        tables: FAMILY,
    },
    Schema {
        setup: &[
            "CREATE TABLE job (id serial PRIMARY KEY, taken boolean NOT NULL DEFAULT false, rank int UNIQUE)",
            "INSERT INTO job (rank) VALUES (3), (1), (NULL)",
        ],
        tables: &[JOB],
    },
    Schema {
        setup: &[
            "CREATE TABLE tree (id int PRIMARY KEY, parent_id int REFERENCES tree ON DELETE CASCADE, n int)",
            "INSERT INTO tree VALUES (1, NULL, 5), (2, 1, 6), (3, 2, NULL), (4, 1, 1)",
        ],
        tables: &[TREE],
    },
    Schema {
        setup: &[
            "CREATE TABLE note (a int, b text)",
            "INSERT INTO note VALUES (1, 'x'), (1, 'x'), (2, NULL), (NULL, 'y'), (NULL, NULL)",
        ],
        tables: &[NOTE],
    },
    Schema {
        setup: &[
            "CREATE TABLE pair (a int, b int, price numeric(6,2), PRIMARY KEY (a, b))",
            "CREATE TABLE note (a int, b text)",
            "INSERT INTO pair VALUES (1, 1, 1.50), (1, 2, NULL), (2, 1, 0.25), (3, 3, 7)",
            "INSERT INTO note VALUES (1, 'x'), (3, 'z'), (3, NULL), (NULL, 'y')",
        ],
        tables: &[PAIR, NOTE],
    },
];

//! DPF's seven kernels, ours after the sentence that the paper has for each: so many threads with so many statements.

use std::fmt::Write as _;

use super::Published;

/// A kernel, in any size.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// As in the paper.
    pub name: &'static str,
    /// What the paper says about it, and what ours does.
    pub about: &'static str,
    /// The size that is compared with the paper.
    pub shape: Shape,
    /// A size for tests.
    pub quick: Shape,
    /// The paper's figures.
    pub published: Published,
    setup: fn(Shape) -> String,
    /// The statement of a thread, both counted from 0.
    statement: fn(Shape, usize, usize) -> String,
}

/// So many threads, with so many statements each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Shape {
    pub threads: usize,
    pub statements: usize,
}

impl Kernel {
    /// The scenario in a size.
    pub fn text(&self, shape: Shape) -> String {
        let mut text = format!("-- {}: {}.\n{}\n", self.name, self.about, (self.setup)(shape));
        for thread in 0..shape.threads {
            let _ = writeln!(text, "\n--@ thread t{}", thread + 1);
            for number in 0..shape.statements {
                let _ = writeln!(text, "{};", (self.statement)(shape, thread, number));
            }
        }
        text
    }
}

const fn shape(threads: usize, statements: usize) -> Shape {
    Shape { threads, statements }
}

/// The kernels, in the order of the paper.
pub const KERNELS: &[Kernel] = &[
    Kernel {
        name: "InsertDelete",
        about: "created to test the (I,D) dependency; ours: one inserts the rows that the other deletes",
        shape: shape(2, 4),
        quick: shape(2, 3),
        setup: |_| "CREATE TABLE entry (id int PRIMARY KEY, value int);".into(),
        statement: |_, thread, i| match thread % 2 {
            0 => format!("INSERT INTO entry VALUES ({i}, {i})"),
            _ => format!("DELETE FROM entry WHERE id = {i}"),
        },
        published: Published {
            states: [40, 36, 36],
            ms: [[1078, 1072, 1075], [1085, 1078, 1102], [1097, 1079, 1080], [1050, 1061, 0]],
            in_memory: Some((898, 4427)),
        },
    },
    Kernel {
        name: "IndAtts",
        about: "threads that update values of different attributes; ours: of one row",
        shape: shape(4, 6),
        quick: shape(3, 3),
        setup: |shape| wide(shape.threads, 1),
        statement: |_, thread, i| format!("UPDATE t SET a{thread} = {} WHERE id = 0", i + 1),
        published: Published {
            states: [3269, 3153, 3057],
            ms: [[4742, 4344, 5219], [5482, 5273, 5821], [4665, 4755, 5320], [5523, 5215, 0]],
            in_memory: Some((168561, 723195)),
        },
    },
    Kernel {
        name: "IndCells",
        about: "threads that use different cells; ours: rows and columns are shared, cells are not",
        shape: shape(3, 9),
        quick: shape(3, 3),
        setup: |shape| wide(shape.threads, shape.threads),
        statement: |shape, thread, i| {
            let (column, row) = ((i + thread) % shape.threads, i % shape.threads);
            format!("UPDATE t SET a{column} = {} WHERE id = {row}", i + 1)
        },
        published: Published {
            states: [1061, 981, 921],
            ms: [[2314, 1811, 2512], [2368, 2244, 2497], [2325, 2292, 2558], [2391, 2218, 0]],
            in_memory: Some((26693, 115328)),
        },
    },
    Kernel {
        name: "IndDelete",
        about: "created to test the dependency among delete operations; ours: rows of their own, and last one for all",
        shape: shape(4, 10),
        quick: shape(3, 3),
        setup: |_| {
            "CREATE TABLE entry (id int PRIMARY KEY, value int);\nINSERT INTO entry SELECT i, i FROM generate_series(0, 999) AS g(i);"
                .into()
        },
        statement: |shape, thread, i| match i + 1 == shape.statements {
            false => format!("DELETE FROM entry WHERE id = {}", (thread + 1) * 100 + i),
            true => "DELETE FROM entry WHERE id = 0".into(),
        },
        published: Published {
            states: [15610, 11732, 11732],
            ms: [[19133, 12693, 13174], [45553, 16009, 17970], [18835, 12414, 13117], [44644, 16051, 17381]],
            in_memory: None,
        },
    },
    Kernel {
        name: "IndRels",
        about: "created to test POR with the relation granularity; ours: a table for each thread",
        shape: shape(3, 9),
        quick: shape(3, 3),
        setup: |shape| {
            let table =
                |t| format!("CREATE TABLE t{t} (id int PRIMARY KEY, value int);\nINSERT INTO t{t} VALUES (1, 0);");
            (0..shape.threads).map(table).collect::<Vec<_>>().join("\n")
        },
        statement: |_, thread, i| format!("UPDATE t{thread} SET value = {} WHERE id = 1", i + 1),
        published: Published {
            states: [1061, 921, 921],
            ms: [[1902, 2326, 2499], [2452, 2287, 2382], [2375, 2219, 2418], [2438, 2176, 0]],
            in_memory: Some((26693, 113317)),
        },
    },
    Kernel {
        name: "Accesses",
        about: "many SQL operations, independent and dependent; ours: mostly on keys of a thread's own, one on a shared row",
        shape: shape(4, 10),
        quick: shape(3, 4),
        setup: |shape| {
            let rows = (0..=shape.threads).map(|t| format!("({t}, 0, 0)")).collect::<Vec<_>>().join(", ");
            format!(
                "CREATE TABLE item (id int PRIMARY KEY, price int, stock int);\nINSERT INTO item VALUES {rows};\n\
                 CREATE TABLE log (id int PRIMARY KEY, item int, note text);"
            )
        },
        statement: access,
        published: Published {
            states: [14856, 8759, 369],
            ms: [[18396, 10231, 3170], [14363, 8689, 3069], [18365, 10860, 3219], [14376, 8347, 3084]],
            in_memory: None,
        },
    },
    Kernel {
        name: "Entries",
        about: "created to test our two approaches for hashing the database; ours: 20,000 rows, every third statement on a row of all",
        shape: shape(3, 6),
        quick: shape(3, 3),
        setup: |_| {
            "CREATE TABLE entry (id int PRIMARY KEY, value int, note text);\n\
             INSERT INTO entry SELECT i, 0, 'entry ' || i FROM generate_series(1, 20000) AS g(i);"
                .into()
        },
        statement: |_, thread, i| match i % 3 {
            0 => format!("INSERT INTO entry VALUES ({}, {i}, 'new')", 100_000 * (thread + 1) + i),
            1 => format!("UPDATE entry SET value = {} WHERE id = {}", thread + 1, i + 1),
            _ => format!("SELECT note FROM entry WHERE id = {}", 100_000 * (thread + 1) + i - 2),
        },
        published: Published {
            states: [467, 302, 139],
            ms: [[4675, 3751, 3190], [3442, 2900, 3014], [4215, 3218, 2979], [2856, 2495, 2628]],
            in_memory: None,
        },
    },
];

/// A table with columns `a0`, `a1`, ... and rows 0, 1, ...
fn wide(columns: usize, rows: usize) -> String {
    let names: Vec<String> = (0..columns).map(|c| format!("a{c} int DEFAULT 0")).collect();
    let ids: Vec<String> = (0..rows).map(|r| format!("({r})")).collect();
    format!("CREATE TABLE t (id int PRIMARY KEY, {});\nINSERT INTO t (id) VALUES {};", names.join(", "), ids.join(", "))
}

/// Reads and writes of a thread's own item and its log; in the middle, half of the threads write the shared item's
/// price and the others read it.
fn access(shape: Shape, thread: usize, i: usize) -> String {
    let own = thread + 1;
    if i == shape.statements / 2 {
        return match thread % 2 {
            0 => format!("UPDATE item SET price = {own} WHERE id = 0"),
            _ => "SELECT price FROM item WHERE id = 0".into(),
        };
    }
    match i % 5 {
        0 => format!("SELECT price, stock FROM item WHERE id = {own}"),
        1 => format!("UPDATE item SET stock = {i} WHERE id = {own}"),
        2 => format!("INSERT INTO log VALUES ({}, {own}, 'note')", own * 100 + i),
        3 => format!("SELECT note FROM log WHERE item = {own}"),
        _ => format!("DELETE FROM log WHERE id = {}", own * 100 + i - 2),
    }
}

//! Programs in which every value is written once, so that a value tells the version of its row.

use std::fmt::Write;

/// A small generator of numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        // Steele and others, SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// Two or three threads that read and write the rows of `t (id, v)`.
pub fn program(seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut text =
        String::from("CREATE TABLE t (id int PRIMARY KEY, v int);\nINSERT INTO t VALUES (1, 1), (2, 2), (3, 3);\n");
    let mut value = 100;
    for thread in 0..2 + dice.below(5) / 4 {
        let level = ["", "", "", " isolation repeatable read", " isolation repeatable read", " isolation serializable"];
        let retry = ["", "", " retry 1"][dice.below(3) as usize];
        let _ = writeln!(text, "--@ thread t{thread}{}{retry}", level[dice.below(6) as usize]);
        let block = dice.below(3) > 0;
        let statements: Vec<String> = (0..2 + dice.below(3)).map(|_| statement(&mut dice, &mut value)).collect();
        let body = statements.join("\n");
        let end = if dice.below(8) == 0 { "ROLLBACK;" } else { "COMMIT;" };
        let _ = match block {
            true => writeln!(text, "BEGIN;\n{body}\n{end}"),
            false => writeln!(text, "{body}"),
        };
    }
    text
}

/// Two or three threads that add to counters, each by an UPDATE or by reading, computing and writing.
pub fn counters(seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut text = String::from("CREATE TABLE t (id int PRIMARY KEY, v int);\nINSERT INTO t VALUES (1, 1), (2, 2);\n");
    for thread in 0..2 + dice.below(4) / 3 {
        let level = ["", "", "", " isolation repeatable read"][dice.below(4) as usize];
        let _ = writeln!(text, "--@ thread t{thread}{level}");
        let block = dice.below(2) > 0;
        let body: String = (0..1 + dice.below(2)).map(|_| addition(&mut dice)).collect();
        let _ = match block {
            true => writeln!(text, "BEGIN;\n{body}COMMIT;"),
            false => writeln!(text, "{body}"),
        };
    }
    text
}

fn addition(dice: &mut Dice) -> String {
    let (k, n) = (1 + dice.below(2), 1 + dice.below(50));
    match dice.below(4) {
        0 => format!("UPDATE t SET v = v + {n} WHERE id = {k};\n"),
        1 => format!("SELECT v FROM t WHERE id = {k};\n"),
        _ => format!(
            "SELECT v - {} AS x FROM t WHERE id = {k} \\gset\nUPDATE t SET v = :x + {n} WHERE id = {k};\n",
            dice.below(9)
        ),
    }
}

fn statement(dice: &mut Dice, value: &mut u64) -> String {
    *value += 1;
    let (k, v) = (1 + dice.below(3), *value);
    match dice.below(14) {
        0..=3 => format!("SELECT id, v FROM t WHERE id = {k};"),
        4 => "SELECT id, v FROM t ORDER BY id;".into(),
        5 => format!("SELECT id, v FROM t WHERE v > {} ORDER BY id;", [0, 2, 50, v - 2][dice.below(4) as usize]),
        6 => format!("SELECT id, v FROM t WHERE id = {k} FOR UPDATE;"),
        7..=9 => format!("UPDATE t SET v = {v} WHERE id = {k};"),
        10 => format!("UPDATE t SET v = {v} WHERE id = {k} AND v < 100;"),
        11 => format!("INSERT INTO t VALUES ({}, {v});", 3 + k),
        12 => format!("INSERT INTO t VALUES ({}, {v}) ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v;", 2 + k),
        _ => format!("DELETE FROM t WHERE id = {k};"),
    }
}

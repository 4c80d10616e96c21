//! Triggers for generated schemas: they change what is written, forbid it, or write a log of it.

use super::dice::Dice;
use super::schema::{Kind, Table};

/// The function and the trigger: two statements. The table `log (k int, line text)` must be there.
pub(super) fn trigger(dice: &mut Dice, table: &Table, number: usize) -> Vec<String> {
    let (name, body, when) = match dice.below(9) {
        0 | 1 => before_row(dice, table),
        2 => before_delete(dice),
        3 | 4 => after_row(dice),
        5 => after_statement(dice),
        6 => transition(dice),
        7 => constraint(dice),
        _ => before_statement(dice),
    };
    let name = format!("{name}{number}");
    let function =
        format!("CREATE FUNCTION do_{name}() RETURNS trigger LANGUAGE plpgsql AS $$\nBEGIN\n{body}\nEND\n$$");
    let kind = if when.contains("DEFERR") { "CONSTRAINT TRIGGER" } else { "TRIGGER" };
    let when = when.replace("{table}", table.name);
    vec![function, format!("CREATE {kind} {name} {when} EXECUTE FUNCTION do_{name}()")]
}

type Parts = (&'static str, String, String);

/// An int column that is not the key, or the key.
fn number_of(table: &Table) -> &'static str {
    table
        .columns
        .iter()
        .find(|column| column.kind == Kind::Int && column.name != "id" && column.writable)
        .map_or("id", |c| c.name)
}

/// Changes the new row, or keeps it out.
fn before_row(dice: &mut Dice, table: &Table) -> Parts {
    let n = number_of(table);
    let body = match dice.below(5) {
        0 => format!("NEW.{n} := COALESCE(NEW.{n}, 0) + 1;\nRETURN NEW;"),
        1 => format!("IF NEW.{n} = 3 THEN RETURN NULL; END IF;\nRETURN NEW;"),
        2 => format!("IF NEW.{n} > 8 THEN RAISE EXCEPTION 'too much: %', NEW.{n}; END IF;\nRETURN NEW;"),
        3 => format!("IF TG_OP = 'UPDATE' THEN NEW.{n} := OLD.{n}; END IF;\nRETURN NEW;"),
        _ => "INSERT INTO log VALUES (NEW.id, TG_WHEN || ' ' || TG_OP);\nRETURN NEW;".to_string(),
    };
    let events = dice.pick(&["INSERT OR UPDATE", "INSERT", "UPDATE"]);
    let condition = if dice.one_in(4) { " WHEN (NEW.id <> 2)" } else { "" };
    ("before_row", body, format!("BEFORE {events} ON {{table}} FOR EACH ROW{condition}"))
}

fn before_delete(dice: &mut Dice) -> Parts {
    let body = dice
        .pick(&[
            "IF OLD.id = 3 THEN RETURN NULL; END IF;\nRETURN OLD;",
            "IF OLD.id = 2 THEN RAISE EXCEPTION 'keep %', OLD.id USING ERRCODE = 'P0042'; END IF;\nRETURN OLD;",
            "INSERT INTO log VALUES (OLD.id, 'gone');\nRETURN OLD;",
        ])
        .to_string();
    ("before_delete", body, "BEFORE DELETE ON {table} FOR EACH ROW".to_string())
}

fn after_row(dice: &mut Dice) -> Parts {
    let body = dice
        .pick(&[
            "INSERT INTO log VALUES (COALESCE(NEW.id, OLD.id), TG_OP || ' ' || TG_TABLE_NAME);\nRETURN NULL;",
            "IF TG_OP = 'DELETE' THEN\nINSERT INTO log VALUES (OLD.id, 'old');\nELSE\nINSERT INTO log VALUES (NEW.id, 'new');\nEND IF;\nRETURN NULL;",
            "UPDATE log SET k = k + 1 WHERE line = TG_OP;\nIF NOT FOUND THEN INSERT INTO log VALUES (1, TG_OP); END IF;\nRETURN NULL;",
        ])
        .to_string();
    let events = dice.pick(&["INSERT OR UPDATE OR DELETE", "UPDATE", "INSERT OR DELETE"]);
    ("after_row", body, format!("AFTER {events} ON {{table}} FOR EACH ROW"))
}

fn before_statement(dice: &mut Dice) -> Parts {
    let body = "INSERT INTO log VALUES (0, TG_LEVEL || ' ' || TG_OP);\nRETURN NULL;".to_string();
    let events = dice.pick(&["INSERT OR UPDATE OR DELETE", "UPDATE", "DELETE"]);
    ("before_all", body, format!("BEFORE {events} ON {{table}} FOR EACH STATEMENT"))
}

fn after_statement(dice: &mut Dice) -> Parts {
    let body = "INSERT INTO log VALUES ((SELECT count(*) FROM log), TG_OP);\nRETURN NULL;".to_string();
    let events = dice.pick(&["INSERT OR UPDATE OR DELETE", "UPDATE", "DELETE"]);
    ("after_all", body, format!("AFTER {events} ON {{table}}"))
}

fn transition(dice: &mut Dice) -> Parts {
    let (event, tables) = *dice.pick(&[
        ("INSERT", "NEW TABLE AS rows_seen"),
        ("UPDATE", "NEW TABLE AS rows_seen"),
        ("UPDATE", "OLD TABLE AS rows_seen"),
        ("DELETE", "OLD TABLE AS rows_seen"),
    ]);
    let body = "INSERT INTO log SELECT r.id, TG_OP FROM rows_seen AS r ORDER BY r.id;\nRETURN NULL;".to_string();
    ("seen", body, format!("AFTER {event} ON {{table}} REFERENCING {tables} FOR EACH STATEMENT"))
}

fn constraint(dice: &mut Dice) -> Parts {
    let body = "IF NEW.id = 6 THEN RAISE EXCEPTION 'no six'; END IF;\nINSERT INTO log VALUES (NEW.id, 'checked');\nRETURN NULL;"
        .to_string();
    let deferred = dice.pick(&["DEFERRABLE INITIALLY DEFERRED", "DEFERRABLE INITIALLY IMMEDIATE"]);
    ("checked", body, format!("AFTER INSERT OR UPDATE ON {{table}} {deferred} FOR EACH ROW"))
}

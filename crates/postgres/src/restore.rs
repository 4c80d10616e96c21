//! Back to the state after set-up.
//!
//! A search runs thousands of times from the same start, so coming back to it should cost what was done, not what there is.
//! Two ways:
//!
//! - **Undo.** `isolde.log` knows what the run has committed (see [`crate::effects`]). One call of a function in the server takes
//!   it back, newest first, each row by its primary key; triggers and foreign keys sleep meanwhile
//!   (`session_replication_role = replica`). A small table is not undone row by row but filled again from a copy, so that
//!   its rows lie in the same order in every run: a SELECT without ORDER BY then returns them so. A table that was truncated
//!   is filled again whatever its size. Sequences are set back.
//! - **Copy.** Where threads change definitions, or the role may not do the above, the whole database is made again from a copy.
//!   That is always right, and takes a tenth of a second.

//!
//! Runs must not differ by what earlier ones have left in the files of tables. While dead versions may be reused, a new version can
//! lie before an old one, and rows come in another order; so a session with an old snapshot keeps them from being
//! reused. And an index that has grown has more pages, which SERIALIZABLE can tell; so after some runs, and after each one where
//! a thread is SERIALIZABLE, the small tables are truncated and filled again, and all is as at the beginning. (VACUUM would do as well, but it also tells the
//! planner how large the tables are, and plans change.)

use std::ops::RangeInclusive;

use isolde_wire::{Connection, Response};

use crate::Trouble;

/// A table with at most so many rows is filled again rather than undone.
const SMALL_ROWS: usize = 200;
/// So many versions may pile up in a small table before it is truncated.
const VERSIONS_MAX: usize = 4000;
/// Tables are truncated after so many runs, whatever their size.
const RUNS_PER_SWEEP: RangeInclusive<usize> = 40..=80;

/// What is kept to come back to. `{all}` says whether large tables are copied, too.
const KEEP: &str = r#"
CREATE TABLE isolde.tables (tab oid PRIMARY KEY, name text, columns text, copied boolean, by_key text, whole text);
CREATE TABLE isolde.sequences (seq oid PRIMARY KEY, name text, value bigint, start bigint);
DO $isolde$
DECLARE t record; n bigint;
BEGIN
  FOR t IN
    SELECT c.oid, c.oid::regclass::text AS name,
      (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
         WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '') AS columns,
      (SELECT string_agg(format('($1::%s).%I', c.oid::regclass, attname), ', ' ORDER BY attnum) FROM pg_attribute
         WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '') AS vals,
      (SELECT string_agg(format('x.%1$I = ($2::%2$s).%1$I', attname, c.oid::regclass), ' AND ')
         FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
         WHERE i.indrelid = c.oid AND i.indisprimary) AS by_key
    FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid WHERE g.tgname = '~isolde'
  LOOP
    EXECUTE format('SELECT count(*) FROM (SELECT FROM %s LIMIT {small} + 1) AS counted', t.name) INTO n;
    IF n <= {small} OR {all} THEN
      EXECUTE format('CREATE TABLE isolde.%I AS SELECT * FROM %s', 'copy_' || t.oid, t.name);
    END IF;
    INSERT INTO isolde.tables VALUES (t.oid, t.name, t.columns, n <= {small} OR {all},
      coalesce(t.by_key, format('x.ctid = (SELECT y.ctid FROM %s AS y WHERE y::text = $2 LIMIT 1)', t.name)), t.vals);
  END LOOP;
  INSERT INTO isolde.sequences SELECT s.seqrelid, s.seqrelid::regclass::text, pg_sequence_last_value(s.seqrelid), s.seqstart
    FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid WHERE c.relnamespace <> 'isolde'::regnamespace;
END $isolde$;

CREATE FUNCTION isolde.restore() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE t record; e record; q record; done bigint := 0;
BEGIN
  FOR t IN SELECT k.* FROM isolde.tables k WHERE k.tab IN (SELECT tab FROM isolde.log) LOOP
    done := done + 1;
    IF t.copied THEN
      EXECUTE format('DELETE FROM %s', t.name);
      EXECUTE format('INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM isolde.%I', t.name, t.columns, t.columns, 'copy_' || t.tab);
    ELSE
      FOR e IN SELECT * FROM isolde.log l WHERE l.tab = t.tab ORDER BY l.n DESC LOOP
        CASE e.op
          WHEN 'I' THEN EXECUTE format('DELETE FROM %s AS x WHERE %s', t.name, t.by_key) USING NULL::text, e.new;
          WHEN 'U' THEN EXECUTE format('UPDATE %s AS x SET (%s) = ROW(%s) WHERE %s', t.name, t.columns, t.whole, t.by_key) USING e.old, e.new;
          WHEN 'D' THEN EXECUTE format('INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s', t.name, t.columns, t.whole) USING e.old;
          ELSE RAISE EXCEPTION 'table % was truncated and no copy of it was kept', t.name;
        END CASE;
      END LOOP;
    END IF;
  END LOOP;
  IF done > 0 THEN
    DELETE FROM isolde.log;
  END IF;
  FOR q IN SELECT * FROM isolde.sequences s WHERE pg_sequence_last_value(s.seq) IS DISTINCT FROM s.value LOOP
    PERFORM setval(q.seq::regclass, coalesce(q.value, q.start), q.value IS NOT NULL);
  END LOOP;
  RETURN done;
END $$;
"#;

/// Empties the copied tables and fills them again; whether that was possible.
const SWEEP: &str = r#"
CREATE FUNCTION isolde.sweep() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE t record; names text := (SELECT string_agg(name, ', ') FROM isolde.tables WHERE copied);
BEGIN
  IF names IS NULL THEN RETURN false; END IF;
  EXECUTE 'TRUNCATE ' || names;
  FOR t IN SELECT * FROM isolde.tables WHERE copied LOOP
    EXECUTE format('INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM isolde.%I', t.name, t.columns, t.columns, 'copy_' || t.tab);
  END LOOP;
  TRUNCATE isolde.log;
  RETURN true;
EXCEPTION WHEN feature_not_supported THEN
  RETURN false; -- A large table refers to one of them.
END $$;
"#;

/// How to come back.
#[derive(Debug)]
pub struct Restore {
    undoes: bool,
    restores: usize,
    /// Runs between two sweeps.
    sweep_every: usize,
    /// Keeps dead versions from being reused.
    pin: Option<Connection>,
    /// Files are as at the beginning before each run.
    exact: bool,
    /// Why not, where nothing is undone.
    reason: Option<String>,
}

impl Restore {
    /// Prepares to undo what is written from now on. `truncates` says that tables may be emptied as a whole.
    /// The connection is the one that will [undo](Restore::undo).
    pub fn prepare(connection: &mut Connection, truncates: bool) -> Result<Restore, Trouble> {
        let text = KEEP.replace("{small}", &SMALL_ROWS.to_string()).replace("{all}", &truncates.to_string());
        connection.execute(&text)?;
        connection.execute(SWEEP)?;
        let answers = connection.query("SET session_replication_role = replica")?;
        let reason = answers.iter().find_map(|response| match response {
            Response::Error(error) => Some(format!("rows cannot be put back by this role ({})", error.message)),
            _ => None,
        });
        let rows = rows_of_largest_copy(connection)?;
        let sweep_every = (VERSIONS_MAX / (2 * rows.max(1))).clamp(*RUNS_PER_SWEEP.start(), *RUNS_PER_SWEEP.end());
        let pin = if reason.is_none() { Some(pinned(connection)?) } else { None };
        Ok(Restore { undoes: reason.is_none(), restores: 0, sweep_every, pin, exact: false, reason })
    }

    /// Comes back by a copy of the database, for this reason.
    pub fn by_copy(reason: &str) -> Restore {
        Restore {
            undoes: false,
            restores: 0,
            sweep_every: 1,
            pin: None,
            exact: false,
            reason: Some(reason.to_string()),
        }
    }

    /// Whether rows are put back; otherwise the database is made again.
    pub fn undoes(&self) -> bool {
        self.undoes
    }

    /// From now on each run finds the files of small tables exactly as the first one did: for SERIALIZABLE, which is kept by pages.
    pub fn make_exact(&mut self) {
        if self.undoes {
            (self.sweep_every, self.exact, self.pin) = (1, true, None);
        }
    }

    /// How it is done, for `--stats`.
    pub fn describe(&self) -> String {
        match &self.reason {
            None if self.exact => "changed rows are put back, and tables rewritten for SERIALIZABLE".into(),
            None => "changed rows are put back".into(),
            Some(reason) => format!("the database is copied for each run: {reason}"),
        }
    }

    /// Takes back what was committed since. Nobody may be in a transaction.
    pub fn undo(&mut self, connection: &mut Connection) -> Result<(), Trouble> {
        connection.execute("SELECT isolde.restore()")?;
        self.restores += 1;
        if self.restores.is_multiple_of(self.sweep_every) {
            // Whoever holds an old snapshot would see tables empty.
            self.pin = None;
            let swept = connection.execute("SELECT isolde.sweep()")?;
            if swept.first().map(Response::rows) != Some(&[vec![Some("t".to_string())]]) {
                connection.execute("VACUUM")?;
            }
            self.pin = if self.exact { None } else { Some(pinned(connection)?) };
        }
        Ok(())
    }
}

/// Rows of the largest table that is filled again.
fn rows_of_largest_copy(connection: &mut Connection) -> Result<usize, Trouble> {
    let names = connection.execute("SELECT 'isolde.copy_' || tab FROM isolde.tables WHERE copied")?;
    let names = names.iter().flat_map(Response::rows).filter_map(|row| row.first().cloned().flatten());
    let names: Vec<String> = names.collect();
    let mut largest = 0;
    for name in names {
        let counted = connection.execute(&format!("SELECT count(*) FROM {name}"))?;
        let count = counted.iter().flat_map(Response::rows).find_map(|row| row.first()?.as_ref()?.parse().ok());
        largest = largest.max(count.unwrap_or(0));
    }
    Ok(largest)
}

/// A session with a snapshot of now.
fn pinned(connection: &Connection) -> Result<Connection, Trouble> {
    let mut pin = Connection::open(connection.settings())?;
    pin.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
    pin.execute("SELECT 1")?;
    Ok(pin)
}

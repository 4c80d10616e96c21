//! Back to the state after set-up.
//!
//! A search runs thousands of times from the same start, so coming back to it should cost what was done, not what there
//! is. Two ways:
//!
//! - **Undo.** Where what the server tells is all that a run does, it is [known here](crate::undo) what it has
//!   committed, and a few statements, prepared once, take it back. Otherwise `isolde.log` knows it (see
//!   [`crate::effects`]), and one call of a function in the server does, written for the tables that there are, so that
//!   its plans are made once. Triggers and foreign keys sleep meanwhile (`session_replication_role = replica`). A small
//!   table is filled again from a copy, so that its rows lie in the same order in every run: a SELECT without ORDER BY
//!   then returns them so. Where that cannot matter, because threads reach the table by its whole primary key and in no
//!   other way ([`Plan::keyed`]), and in large tables, rows are put back one by one. A table that was truncated is
//!   filled again whatever its size. Sequences are set back.
//! - **Copy.** Where threads change definitions, or the role may not do the above, the whole database is made again
//!   from a copy. That is always right, and takes a tenth of a second.
//!
//! Runs must not differ by what earlier ones have left in the files of tables. While dead versions may be reused, a new
//! version can lie before an old one, and rows come in another order; so a session with an old snapshot keeps them from
//! being reused. An index that has grown has more pages, which SERIALIZABLE can tell. And each session remembers the
//! page into which it put its last row: once a table has grown by a page, rows of several sessions lie in an order that
//! depends on the runs before. So after some runs, and after each one where a thread is SERIALIZABLE or takes rows in
//! the order in which they lie, the small tables are truncated and filled again, as at the beginning. (VACUUM would do
//! as well, but it also tells the planner how large the tables are, and plans change.)

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use isolde_wire::{Connection, Response};

use crate::Trouble;
use crate::effects::{self, Effect};
use crate::undo::{Told, Undo};

/// A table with at most so many rows is filled again rather than undone.
const SMALL_ROWS: usize = 200;
/// So many versions may pile up in a small table before it is truncated.
const VERSIONS_MAX: usize = 4000;
/// Tables are truncated after so many runs, whatever their size.
const RUNS_PER_SWEEP: RangeInclusive<usize> = 40..=80;
/// Where no table is filled again and dead versions are reused, only the log grows.
const RUNS_PER_SWEEP_KEYED: usize = 2000;

/// What is kept to come back to, and the function that does. `{all}` says whether large tables are copied, too,
/// `{keyed}` which small ones are not.
const KEEP: &str = r#"
CREATE TABLE isolde.tables (tab oid PRIMARY KEY, name text, columns text, copied boolean);
CREATE TABLE isolde.sequences (seq oid PRIMARY KEY, name text, value bigint, start bigint);
DO $isolde$
DECLARE t record; n bigint; copied boolean; declared text := ''; body text := ''; rewind text := '';
BEGIN
  FOR t IN
    SELECT c.oid, c.oid::regclass::text AS name,
      string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns,
      string_agg(format('was_%s.%I', c.oid, attname), ', ' ORDER BY attnum) AS vals,
      string_agg(quote_ident(attname), ', ' ORDER BY attnum) FILTER (WHERE attidentity <> 'a') AS set_columns,
      string_agg(format('was_%s.%I', c.oid, attname), ', ' ORDER BY attnum) FILTER (WHERE attidentity <> 'a') AS set_vals,
      (SELECT string_agg(format('x.%1$I = is_%2$s.%1$I', k.attname, c.oid), ' AND ')
         FROM pg_index i JOIN pg_attribute k ON k.attrelid = c.oid AND k.attnum = ANY (i.indkey)
         WHERE i.indrelid = c.oid AND i.indisprimary) AS by_key
    FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid
      JOIN pg_attribute a ON a.attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
    WHERE g.tgname = '~isolde' GROUP BY c.oid ORDER BY c.oid
  LOOP
    EXECUTE format('SELECT count(*) FROM (SELECT FROM ONLY %s LIMIT {small} + 1) AS counted', t.name) INTO n;
    copied := {all} OR (n <= {small} AND t.oid <> ALL (ARRAY[{keyed}]::oid[]));
    INSERT INTO isolde.tables VALUES (t.oid, t.name, t.columns, copied);
    body := body || format('IF %s::oid = ANY (changed) THEN ', t.oid);
    IF copied THEN
      EXECUTE format('CREATE TABLE isolde.%I AS SELECT * FROM ONLY %s', 'copy_' || t.oid, t.name);
      body := body || format('DELETE FROM ONLY %1$s; INSERT INTO %1$s (%2$s) OVERRIDING SYSTEM VALUE SELECT %2$s FROM isolde.%3$I; ',
        t.name, t.columns, 'copy_' || t.oid);
    ELSE
      declared := declared || format('was_%1$s %2$s; is_%1$s %2$s; ', t.oid, t.name);
      body := body
        || format('FOR e IN SELECT * FROM isolde.log AS l WHERE l.tab = %1$s ORDER BY l.n DESC LOOP
            was_%1$s := e.old::%2$s; is_%1$s := e.new::%2$s; ', t.oid, t.name)
        || format('IF e.op = ''I'' THEN DELETE FROM %1$s AS x WHERE %2$s;
            ELSIF e.op = ''D'' THEN INSERT INTO %1$s (%3$s) OVERRIDING SYSTEM VALUE VALUES (%4$s);
            ELSIF e.op = ''T'' THEN RAISE EXCEPTION ''table %1$s was truncated and no copy of it was kept''; ',
            t.name, coalesce(t.by_key, format('x.ctid = (SELECT y.ctid FROM %s AS y WHERE y::text = e.new LIMIT 1)', t.name)),
            t.columns, t.vals)
        || coalesce(format('ELSIF e.op = ''U'' THEN UPDATE %1$s AS x SET (%3$s) = ROW(%4$s) WHERE %2$s; ',
            t.name, coalesce(t.by_key, format('x.ctid = (SELECT y.ctid FROM %s AS y WHERE y::text = e.new LIMIT 1)', t.name)),
            t.set_columns, t.set_vals), '')
        || 'END IF; END LOOP; ';
    END IF;
    body := body || 'END IF; ';
  END LOOP;
  INSERT INTO isolde.sequences SELECT s.seqrelid, s.seqrelid::regclass::text, pg_sequence_last_value(s.seqrelid), s.seqstart
    FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid WHERE c.relnamespace <> 'isolde'::regnamespace;
  body := 'SELECT array_agg(l.tab) INTO changed FROM isolde.log AS l; IF changed IS NOT NULL THEN ' || body
    || 'DELETE FROM isolde.log; END IF; ';
  IF EXISTS (SELECT FROM isolde.sequences) THEN
    rewind := 'PERFORM setval(s.seq::regclass, coalesce(s.value, s.start), s.value IS NOT NULL)
      FROM isolde.sequences AS s WHERE pg_sequence_last_value(s.seq) IS DISTINCT FROM s.value; ';
  END IF;
  body := body || rewind;
  EXECUTE format('CREATE FUNCTION isolde.rewind() RETURNS void LANGUAGE plpgsql AS %L', 'BEGIN ' || rewind || 'END');
  EXECUTE format('CREATE FUNCTION isolde.restore() RETURNS void LANGUAGE plpgsql AS %L',
    E'\n#variable_conflict use_column\nDECLARE changed oid[]; e record; ' || declared || 'BEGIN ' || body || 'END');
END $isolde$;
"#;

/// Empties the copied tables and fills them again; whether that was possible.
const SWEEP: &str = r#"
CREATE FUNCTION isolde.sweep() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE t record; names text := (SELECT string_agg('ONLY ' || name, ', ') FROM isolde.tables WHERE copied);
BEGIN
  TRUNCATE isolde.log;
  IF names IS NULL THEN RETURN false; END IF;
  EXECUTE 'TRUNCATE ' || names;
  FOR t IN SELECT * FROM isolde.tables WHERE copied LOOP
    EXECUTE format('INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM isolde.%I', t.name, t.columns, t.columns, 'copy_' || t.tab);
  END LOOP;
  RETURN true;
EXCEPTION WHEN feature_not_supported THEN
  RETURN false; -- A large table refers to one of them.
END $$;
"#;

/// What is known of the runs that are to be undone.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Tables may be emptied as a whole.
    pub truncates: bool,
    /// Tables, by oid, of which no run can tell how their rows lie.
    pub keyed: Vec<u32>,
    /// Runs can tell of some tables how their rows lie.
    pub ordered: bool,
    /// Runs can tell how many pages there are: a thread is SERIALIZABLE, or takes rows in the order in which they lie.
    pub exact: bool,
    /// Nothing writes but the statements of clients, and in no tables but these, by oid.
    pub told: Option<BTreeSet<u32>>,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan { truncates: false, keyed: Vec::new(), ordered: true, exact: false, told: None }
    }
}

/// How to come back.
#[derive(Debug)]
pub struct Restore {
    undoes: bool,
    restores: usize,
    /// Runs between two sweeps.
    sweep_every: usize,
    /// Keeps dead versions from being reused.
    pin: Option<Connection>,
    /// Whether there is to be one.
    pins: bool,
    /// Files are as at the beginning before each run.
    exact: bool,
    /// Undoing has begun and its end was not waited for.
    under_way: bool,
    /// What the run has committed, if that is known here.
    told: Option<Told>,
    /// There are sequences to be set back.
    rewinds: bool,
    /// Why not, where nothing is undone.
    reason: Option<String>,
}

impl Restore {
    /// Prepares to undo what is written from now on. The connection is the one that will [undo](Restore::undo).
    pub fn prepare(connection: &mut Connection, plan: &Plan) -> Result<Restore, Trouble> {
        let keyed = if plan.exact { &[] } else { &*plan.keyed };
        let keyed: Vec<String> = keyed.iter().map(u32::to_string).collect();
        let text = KEEP.replace("{small}", &SMALL_ROWS.to_string()).replace("{all}", &plan.truncates.to_string());
        connection.execute(&text.replace("{keyed}", &keyed.join(", ")))?;
        connection.execute(SWEEP)?;
        let answers = connection.query("SET session_replication_role = replica")?;
        let reason = answers.iter().find_map(|response| match response {
            Response::Error(error) => Some(format!("rows cannot be put back by this role ({})", error.message)),
            _ => None,
        });
        let rows = rows_of_largest_copy(connection)?;
        let sweep_every = match (plan.exact, plan.ordered) {
            (true, _) => 1,
            (false, true) => (VERSIONS_MAX / (2 * rows.max(1))).clamp(*RUNS_PER_SWEEP.start(), *RUNS_PER_SWEEP.end()),
            (false, false) => RUNS_PER_SWEEP_KEYED,
        };
        let told = match &plan.told {
            Some(tables) if reason.is_none() => Told::read(connection, tables)?,
            _ => None,
        };
        if told.is_some() {
            effects::stop_logging(connection)?;
        }
        let sequences = connection.execute("SELECT FROM isolde.sequences LIMIT 1")?;
        let rewinds = sequences.iter().any(|response| !response.rows().is_empty());
        let pins = reason.is_none() && plan.ordered && !plan.exact;
        let pin = if pins { Some(pinned(connection)?) } else { None };
        let (undoes, exact) = (reason.is_none(), plan.exact);
        Ok(Restore { undoes, restores: 0, sweep_every, pin, pins, exact, under_way: false, told, rewinds, reason })
    }

    /// Comes back by a copy of the database, for this reason.
    pub fn by_copy(reason: &str) -> Restore {
        Restore {
            undoes: false,
            restores: 0,
            sweep_every: 1,
            pin: None,
            pins: false,
            exact: false,
            under_way: false,
            told: None,
            rewinds: false,
            reason: Some(reason.to_string()),
        }
    }

    /// Whether rows are put back; otherwise the database is made again.
    pub fn undoes(&self) -> bool {
        self.undoes
    }

    /// How it is done, for `--stats`.
    pub fn describe(&self) -> String {
        match &self.reason {
            None if self.exact => "changed rows are put back, and tables rewritten".into(),
            None => "changed rows are put back".into(),
            Some(reason) => format!("the database is copied for each run: {reason}"),
        }
    }

    /// A session has written a row.
    pub(crate) fn hear(&mut self, session: usize, effect: &Effect) {
        if let Some(told) = &mut self.told {
            told.hear(session, effect);
        }
    }

    /// A session has committed its transaction, or has given up the last `writes` of it.
    pub(crate) fn settle(&mut self, session: usize, committed: bool, writes: usize) {
        if let Some(told) = &mut self.told {
            told.settle(session, committed, writes);
        }
    }

    /// Takes back what was committed since. Nobody may be in a transaction.
    pub fn undo(&mut self, connection: &mut Connection) -> Result<(), Trouble> {
        self.begin(connection)?;
        self.finish(connection)
    }

    /// Begins to. Until that is [finished](Restore::finish), transactions may be begun, but not look at anything, and
    /// the connection may not be used for anything else. Where it [rewrites](Restore::rewrites) tables, sessions may
    /// not even begin: a lock that a statement takes before its first gate would be waited for.
    pub fn begin(&mut self, connection: &mut Connection) -> Result<(), Trouble> {
        let mut undo = match &mut self.told {
            Some(told) => told.take_back(),
            None => vec![Undo::text("SELECT isolde.restore()")],
        };
        if self.told.is_some() && self.rewinds {
            undo.push(Undo::text("SELECT isolde.rewind()"));
        }
        for Undo { sql, params } in &undo {
            let params: Vec<Option<&str>> = params.iter().map(Option::as_deref).collect();
            connection.queue_prepared(sql, &params)?;
        }
        self.under_way = !undo.is_empty();
        if self.under_way {
            connection.sync()?;
        }
        Ok(())
    }

    /// Whether what was begun ends with rewriting tables.
    pub fn rewrites(&self) -> bool {
        self.under_way && (self.restores + 1).is_multiple_of(self.sweep_every)
    }

    /// Waits until everything is taken back, if that was begun.
    pub fn finish(&mut self, connection: &mut Connection) -> Result<(), Trouble> {
        let rewrites = self.rewrites();
        if !std::mem::take(&mut self.under_way) {
            return Ok(());
        }
        connection.finish()?;
        self.restores += 1;
        if rewrites {
            // Whoever holds an old snapshot would see tables empty.
            self.pin = None;
            let swept = connection.execute("SELECT isolde.sweep()")?;
            if swept.first().map(Response::rows) != Some(&[vec![Some("t".to_string())]]) {
                connection.execute("VACUUM")?;
            }
            self.pin = if self.pins { Some(pinned(connection)?) } else { None };
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

//! SERIALIZABLE against a real server, and against what the word promises.
//!
//! Who fails depends on all serializable transactions of a server, in whichever database. So these programs have a
//! server of their own, and run one after another.

use std::sync::Arc;

use isolde_testkit::program::{Observation, Outcome, Program, Response};
use isolde_testkit::{Cluster, Engine, Runner, Server, generate, mirror};

#[test]
fn serializable_transactions_fail_as_they_fail_on_the_server() {
    let cluster = Arc::new(Cluster::start().expect("a server starts"));
    let mut server = Server::on(cluster).expect("a database is created");
    mirror::compare_generated(generate::serializable, 150, &mut server, &mut Engine::new());
}

/// The transactions that committed saw and left behind what they would have if they had run one after another.
#[test]
fn what_committed_could_have_run_serially() {
    let mut engine = Engine::new();
    let (mut overlapping, mut failed) = (0, 0);
    for seed in 0..300 {
        let program = all_serializable(generate::serializable(seed));
        let observed = engine.run(&program);
        failed += observed.iter().filter(|o| o.to_string().contains("read/write dependencies")).count();
        let Some(history) = History::of(&program, &observed) else { continue };
        overlapping += usize::from(history.committed.len() > 1);
        assert!(history.is_serial(&mut engine), "no serial order explains seed {seed}:\n{}", program.script(&observed));
    }
    assert!(overlapping > 100 && failed > 40, "too little to learn from: {overlapping} overlapping, {failed} failed");
}

/// The same program with every transaction at SERIALIZABLE.
fn all_serializable(mut program: Program) -> Program {
    for (_, statement) in &mut program.steps {
        if statement == "BEGIN" || statement.ends_with("REPEATABLE READ") {
            *statement = "BEGIN ISOLATION LEVEL SERIALIZABLE".to_string();
        }
    }
    program
}

/// A statement with its answer.
type Answered = (String, Vec<Response>);

/// What the transactions of a run saw.
struct History<'p> {
    program: &'p Program,
    /// Those that committed, in that order.
    committed: Vec<Vec<Answered>>,
    /// What was left in the end.
    left: Vec<Answered>,
}

impl<'p> History<'p> {
    /// `None` if a transaction that committed met an error before: for unique keys, PostgreSQL promises nothing then.
    fn of(program: &'p Program, observed: &[Observation]) -> Option<Self> {
        let mut history = History { program, committed: Vec::new(), left: Vec::new() };
        let mut open: Vec<Option<Vec<Answered>>> = vec![None; program.sessions];
        let mut waiting: Vec<&str> = vec![""; program.sessions];
        for ((session, statement), observation) in program.steps.iter().zip(observed) {
            match &observation.outcome {
                Outcome::Answered(responses) => history.note(*session, statement, responses, &mut open),
                Outcome::Waits => waiting[*session] = statement,
                Outcome::Skipped => {}
            }
            for (session, responses) in &observation.released {
                history.note(*session, waiting[*session], responses, &mut open);
            }
        }
        let is_clean = |t: &Vec<Answered>| t.iter().all(|(_, responses)| !responses.iter().any(Response::is_error));
        history.committed.iter().all(is_clean).then_some(history)
    }

    fn note(&mut self, session: usize, statement: &str, responses: &[Response], open: &mut [Option<Vec<Answered>>]) {
        let answered = (statement.to_string(), responses.to_vec());
        let ended = matches!(responses, [Response::Done { tag }] if tag == "COMMIT");
        match &mut open[session] {
            None if statement.starts_with("BEGIN") => open[session] = Some(vec![answered]),
            None if statement.starts_with("SELECT") => self.left.push(answered),
            None => {}
            Some(transaction) => {
                transaction.push(answered);
                if statement == "COMMIT" || statement == "ROLLBACK" {
                    let transaction = open[session].take().unwrap_or_default();
                    self.committed.extend(ended.then_some(transaction));
                }
            }
        }
    }

    fn is_serial(&self, engine: &mut Engine) -> bool {
        let mut order: Vec<usize> = (0..self.committed.len()).collect();
        let count = (1..=order.len()).product::<usize>();
        (0..count).any(|_| {
            let explains = self.is_explained_by(&order, engine);
            next_permutation(&mut order);
            explains
        })
    }

    fn is_explained_by(&self, order: &[usize], engine: &mut Engine) -> bool {
        let expected = order.iter().flat_map(|&t| &self.committed[t]).chain(&self.left);
        let steps = expected.clone().map(|(statement, _)| (0, statement.clone())).collect();
        let serial = Program { setup: self.program.setup.clone(), sessions: 1, steps };
        let observed = engine.run(&serial);
        expected.zip(&observed).all(|((_, responses), o)| o.outcome == Outcome::Answered(responses.clone()))
    }
}

/// The next order, behind the last the first.
fn next_permutation(order: &mut [usize]) {
    match (1..order.len()).rev().find(|&i| order[i - 1] < order[i]) {
        None => order.reverse(),
        Some(i) => {
            let j = (i..order.len()).rev().find(|&j| order[j] > order[i - 1]).unwrap_or(i);
            order.swap(i - 1, j);
            order[i..].reverse();
        }
    }
}

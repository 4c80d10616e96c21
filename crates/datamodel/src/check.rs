//! The whole job: a model, and perhaps properties, to a report.

use isolde_report as report;
use isolde_smt::{Silence, Solver};

use crate::logic::{self, Case, Limits, Order, Outcome, Question, Schema, Semantics, Verdict, carry_out, decide};
use crate::model::{DataModel, Framework, Place};
use crate::obligation::{self, Trouble};
use crate::property::{Mode, Properties, Property};
use crate::read::File;
use crate::{evidence, ignore, picture, repair};

/// What to do with a model.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose rules apply.
    pub semantics: Semantics,
    /// How far to go.
    pub limits: Limits,
    /// As the command was typed.
    pub command: String,
    /// The application, as it was named.
    pub path: String,
}

/// Decides properties; without any, what every model should meet. `files` are those that the model was read from:
/// changes are written into them, and comments in them say what is on purpose.
pub fn check(
    model: &DataModel,
    files: &[File],
    properties: Option<&Properties>,
    solver: &Solver,
    options: &Options,
) -> Result<report::ModelReport, Silence> {
    solver.probe(options.limits.timeout)?;
    let schema = Schema::new(model, options.semantics);
    let name = Semantics::ALL.iter().find(|(_, known)| *known == options.semantics).map_or("", |(name, _)| name);
    let mut answer = report::ModelReport::new(&options.command, &options.path, name);
    answer.size = report::ModelSize {
        classes: model.classes.len(),
        references: model.references.len(),
        associations: model.associations.len(),
    };
    for remark in &model.remarks {
        answer.remarks.push(report::ModelRemark { message: remark.message.clone(), place: place(&remark.place) });
    }
    match properties {
        Some(properties) => {
            for property in &properties.list {
                let question = Question { schema: &schema, property, assumptions: &properties.assumptions };
                let verdict = decide(question, solver, options.limits)?;
                answer.properties.push(decided(&schema, property, verdict));
            }
        }
        None => {
            let mut found = obligation::obligations(&schema, solver, options.limits)?;
            repair::write(&schema, files, &mut found.troubles);
            answer.findings = found.troubles.iter().map(|trouble| finding(&schema, trouble)).collect();
            answer.proved = found.proved;
            answer.undecided = found.undecided;
            for remark in &found.decisions {
                answer
                    .remarks
                    .push(report::ModelRemark { message: remark.message.clone(), place: place(&remark.place) });
            }
            ignore::apply(files, &mut answer);
        }
    }
    answer.settle();
    Ok(answer)
}

/// The questions that would be put to a solver, as SMT-LIB 2: each between `push` and `pop`.
pub fn questions(model: &DataModel, properties: &Properties, options: &Options) -> String {
    let schema = Schema::new(model, options.semantics);
    let mut out = String::from("(set-logic ALL)\n");
    for property in &properties.list {
        let question = Question { schema: &schema, property, assumptions: &properties.assumptions };
        let (_, encoded) = logic::encoded(question, options.limits);
        let meaning = match property.mode {
            Mode::Always => "unsat: it holds for all data",
            Mode::Possible => "unsat: no data show it",
        };
        out.push_str(&format!(
            "\n; {}: {}\n; {meaning}\n(push 1)\n{}(check-sat)\n(pop 1)\n",
            property.name, property.text, encoded.script
        ));
    }
    out
}

fn decided(schema: &Schema<'_>, property: &Property, verdict: Verdict) -> report::Decided {
    let (word, meaning, case) = match (verdict, property.mode) {
        (Verdict::Holds(case), Mode::Always) => ("holds", "for all data".to_string(), case),
        (Verdict::Holds(case), Mode::Possible) => ("holds", "these data show it".into(), case),
        (Verdict::Fails(case), Mode::Always) => ("fails", "these data break it".into(), case),
        (Verdict::Fails(case), Mode::Possible) => ("fails", "no data show it".into(), case),
        (Verdict::Unknown(reason), _) => ("unknown", reason, None),
    };
    report::Decided {
        name: property.name.clone(),
        text: property.text.clone(),
        place: None,
        verdict: word.into(),
        meaning,
        known: false,
        example: case.map(|case| example(schema, &case)),
    }
}

fn finding(schema: &Schema<'_>, trouble: &Trouble) -> report::Finding {
    report::Finding {
        id: trouble.id.clone(),
        headline: trouble.headline.clone(),
        place: place(&trouble.place),
        why: trouble.why.clone(),
        example: example(schema, &trouble.case),
        query: trouble.query.clone(),
        change: trouble.remedy.as_ref().map(|remedy| report::Change {
            code: remedy.code.clone(),
            place: place(&remedy.place),
            verified: true,
            lines: remedy.patch.as_ref().map(|patch| report::ChangedLines {
                file: patch.file.to_string(),
                line: patch.line,
                old: patch.old.clone(),
                new: patch.new.clone(),
            }),
        }),
    }
}

fn example(schema: &Schema<'_>, case: &Case) -> report::Example {
    let lines = |text: String| text.lines().map(str::to_string).collect::<Vec<_>>();
    let before = &case.before;
    let mut shown = report::Example { before: lines(before.to_text(schema)), ..report::Example::default() };
    shown.sql = before.to_sql(schema);
    shown.graph = picture::instance(schema, before, case.after());
    if let Some((object, outcome)) = &case.delete {
        shown.delete = Some(before.name(schema, *object));
        match outcome {
            Outcome::Done(after) => {
                shown.after = lines(after.to_text(schema));
                shown.objects = changes(schema, before, after);
            }
            Outcome::Refused(reason) => shown.declined = Some(format!("refused, because {reason}")),
            Outcome::Raised(reason) => shown.declined = Some(format!("an error of the database, because {reason}")),
        }
        // The order that led to this outcome, of those that there are.
        let runs = Order::ALL.into_iter().map(|order| carry_out(schema, before, *object, order));
        let sent = { runs }.find(|(found, _)| found == outcome).map(|(_, sent)| sent).unwrap_or_default();
        let delete = before.delete_sql(schema, &sent);
        match evidence::runs(schema, before, &shown.sql, &delete, Some(outcome)) {
            true => shown.sql.extend(delete),
            false => shown.sql.clear(),
        }
    } else if !evidence::runs(schema, before, &shown.sql, &[], None) {
        shown.sql.clear();
    }
    if matches!(schema.model.framework, Framework::Rails | Framework::Django) {
        shown.console = before.to_console(schema, case.delete.as_ref().map(|(object, _)| *object));
    }
    shown
}

/// Each object and pair before a delete and after it.
fn changes(schema: &Schema<'_>, before: &logic::Instance, after: &logic::Instance) -> Vec<report::ObjectChange> {
    let object = |index: usize| report::ObjectChange {
        before: before.drawn(schema, index),
        after: after.objects[index].is_there.then(|| after.drawn(schema, index)),
        dangles: after.dangles(index),
    };
    let pair = |pair: &(crate::model::JoinId, usize, usize)| report::ObjectChange {
        before: before.drawn_pair(schema, *pair),
        after: after.pairs.contains(pair).then(|| after.drawn_pair(schema, *pair)),
        dangles: after.pairs.contains(pair) && [pair.1, pair.2].iter().any(|end| !after.objects[*end].is_there),
    };
    (0..before.objects.len()).map(object).chain(before.pairs.iter().map(pair)).collect()
}

fn place(place: &Place) -> Option<report::Place> {
    (!place.file.is_empty()).then(|| report::Place { file: Some(place.file.to_string()), line: place.line })
}

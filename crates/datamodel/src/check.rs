//! The whole job: a model, and perhaps properties, to a report.

use isolde_report as report;
use isolde_smt::{Silence, Solver};

use crate::logic::encode;
use crate::logic::{Case, Limits, Outcome, Projection, Question, Schema, Semantics, Verdict, decide};
use crate::model::{DataModel, Framework, Place};
use crate::obligation::{self, Trouble};
use crate::property::{Mode, Properties, Property};

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

/// Decides properties; without any, what every model should meet.
pub fn check(
    model: &DataModel,
    properties: Option<&Properties>,
    solver: &Solver,
    options: &Options,
) -> Result<report::ModelReport, Silence> {
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
            let found = obligation::obligations(&schema, solver, options.limits)?;
            answer.findings = found.troubles.iter().map(|trouble| finding(&schema, trouble)).collect();
            answer.proved = found.proved;
            answer.undecided = found.undecided;
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
        let part = match options.limits.projection {
            true => Projection::of(&schema, property, &properties.assumptions),
            false => Projection::whole(&schema, property),
        };
        let encoded = encode::encode(&schema, &part, property, &properties.assumptions);
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
        verdict: word.into(),
        meaning,
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
        change: trouble.remedy.as_ref().map(|remedy| report::Change {
            code: remedy.code.clone(),
            place: place(&remedy.place),
            verified: remedy.verified,
        }),
    }
}

fn example(schema: &Schema<'_>, case: &Case) -> report::Example {
    let lines = |text: String| text.lines().map(str::to_string).collect::<Vec<_>>();
    let mut shown = report::Example { before: lines(case.before.to_text(schema)), ..report::Example::default() };
    shown.sql = case.before.to_sql(schema);
    if let Some((object, outcome)) = &case.delete {
        shown.delete = Some(case.before.name(schema, *object));
        shown.after = match outcome {
            Outcome::Done(after) => lines(after.to_text(schema)),
            Outcome::Refused(reason) => vec![format!("refused: {reason}")],
            Outcome::Raised(reason) => vec![format!("an error of the database: {reason}")],
        };
        let table = crate::logic::instance::table_name(schema, case.before.objects[*object].class);
        shown.sql.push(format!("DELETE FROM {table} WHERE id = {};", case.before.id(schema, *object)));
    }
    if matches!(schema.model.framework, Framework::Rails | Framework::Django) {
        shown.console = case.before.to_console(schema, case.delete.as_ref().map(|(object, _)| *object));
    }
    shown
}

fn place(place: &Place) -> Option<report::Place> {
    (!place.file.is_empty()).then(|| report::Place { file: Some(place.file.to_string()), line: place.line })
}

//! What a page says, that it is well formed, and that nothing of the user's becomes a part of it.
#![allow(clippy::unwrap_used)]

use expect_test::{Expect, expect};

use super::*;
use crate::tests::lost_update;
use crate::{
    Asked, Behaviour, ChangeKind, ColumnChange, EdgeEnd, EdgeKind, Finding, Fix, FixVerdict, Graph, GraphEdge, Node,
    Passed, ProofCell, ProofWitness, PropertyResult, PropertyStatus, RowChange, StepResult, TableChange,
};

fn page(reports: &[Report]) -> String {
    let mut page = HtmlPage::default();
    reports.iter().for_each(|report| page.answer(report));
    page.to_html("isolde explore bank.sql --html bank.html")
}

/// What is between tags, a line for each; of the body only.
fn words(html: &str) -> String {
    let body = html.split_once("<body>").unwrap().1.split_once("<script>").unwrap().0;
    let mut out = String::new();
    for part in body.split('<').filter_map(|part| part.split_once('>')) {
        let text = part.1.replace("&gt;", ">").replace("&lt;", "<").replace("&quot;", "\"").replace("&amp;", "&");
        if !text.trim().is_empty() {
            out += text.trim();
            out.push('\n');
        }
    }
    out
}

/// Panics unless every tag that is opened is closed, in order.
fn well_formed(html: &str) {
    const VOID: [&str; 3] = ["meta", "input", "!DOCTYPE"];
    let mut open = Vec::new();
    let mut rest = html;
    while let Some((_, tag)) = rest.split_once('<') {
        let (tag, after) = tag.split_once('>').unwrap();
        let name = tag.split([' ', '\n', '/']).find(|name| !name.is_empty()).unwrap();
        rest = after;
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
        // What is in there is not HTML.
        if ["style", "script"].contains(&name) && !tag.starts_with('/') {
            rest = &rest[rest.find("</").unwrap()..];
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

/// Panics if the page could make a browser fetch something.
fn self_contained(html: &str) {
    let html = html.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for outside in ["http://", "https://", "src=", "<link", "<img", "<iframe", "@import", "url(h", "fetch("] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.contains("default-src 'none'"));
}

fn check(html: &str, expected: Expect) {
    well_formed(html);
    self_contained(html);
    expected.assert_eq(&words(html));
}

#[test]
fn a_lost_update() {
    let mut report = lost_update();
    let counterexample = report.counterexample.as_mut().unwrap();
    counterexample.explanation.push("Write `FOR UPDATE` behind it.".into());
    let patch = "--- bank.sql\n+++ bank.sql\n@@ -7,3 +7,3 @@\n before\n--- was\n+-- is\n after\n";
    let fix = |title: &str, verdict, patch: &str| Fix {
        kind: "row lock".into(),
        title: title.into(),
        verdict,
        cost: None,
        patch: patch.into(),
    };
    counterexample.fixes = vec![
        fix("FOR UPDATE on the read", FixVerdict::Holds, patch),
        fix("FOR SHARE on the read", FixVerdict::Fails("deadlock".into()), ""),
    ];
    let html = page(&[report]);
    assert!(html.contains("<span class=\"removed\">--- was\n</span><span class=\"added\">+-- is\n</span>"));
    assert!(html.contains("<code>FOR UPDATE</code>"));
    check(
        &html,
        expect![[r#"
            bank.sql
            violated
            serial outcome (lost update)
            What the threads saw and left behind is possible in no serial order of alice and bob.
            How it happens
            #
            line
            alice
            bob
            1
            6
            SELECT balance INTO bal FROM account WHERE id = acc
            → balance 100
            2
            6
            SELECT balance INTO bal FROM account WHERE id = acc
            → balance 100
            3
            8
            UPDATE account SET balance = bal - amount WHERE id = acc
            → UPDATE 1
            ~
            account 1: balance
            100
            →
            40
            4
            8
            UPDATE account SET balance = bal - amount WHERE id = acc
            … waits for alice
            5
            (commits)
            6
            8
            (goes on)
            → UPDATE 1
            ~
            account 1: balance
            100
            →
            40
            7
            (commits)
            ◀
            ▶
            ← →
            alice
            has not begun
            bob
            has not begun
            alice
            goes on later
            bob
            has not begun
            alice
            goes on later
            bob
            goes on later
            alice
            goes on later
            bob
            goes on later
            rows written so far, committed or not
            3 alice
            ~
            account 1: balance
            100
            →
            40
            alice
            goes on later
            bob
            waits for alice
            rows written so far, committed or not
            3 alice
            ~
            account 1: balance
            100
            →
            40
            alice
            is done
            bob
            waits for alice
            rows written so far, committed or not
            3 alice
            ~
            account 1: balance
            100
            →
            40
            alice
            is done
            bob
            goes on later
            rows written so far, committed or not
            3 alice, 6 bob
            ~
            account 1: balance
            100
            →
            40
            alice
            is done
            bob
            is done
            rows written so far, committed or not
            3 alice, 6 bob
            ~
            account 1: balance
            100
            →
            40
            account
            at the end
            id
            balance
            1
            40
            Why
            bob's read of account 1 (line 6) missed alice's update (line 8), and bob's update overwrote it.
            Write
            FOR UPDATE
            behind it.
            Fixes that were tried
            holds
            FOR UPDATE on the read
            --- bank.sql
            +++ bank.sql
            @@ -7,3 +7,3 @@
            before
            --- was
            +-- is
            after
            still fails
            FOR SHARE on the read
            deadlock
            What was checked
            violated
            serial outcome
            undecided
            uncaught error
            Searched
            stateful: 1,234 states, 2,345 steps, 3 end states, at most 8 steps deep; stopped at the first violation.
            See it again
            isolde replay bank.sql 'alice bob alice bob alice bob bob'
            Copy
            isolde explore bank.sql --html bank.html
            Isolde 0.1.0
        "#]],
    );
}

#[test]
fn several_answers_have_a_table_of_contents() {
    let holds = Report::new("isolde explore", "fixed.sql", Verdict::Holds, crate::Stats::default());
    let mut several = HtmlPage::default();
    several.answer(&lost_update());
    several.answer(&holds);
    several.mistake("broken.sql", "error: the file has no threads");
    let html = several.to_html("isolde explore *.sql --html all.html");
    well_formed(&html);
    self_contained(&html);
    let words = words(&html);
    assert!(words.starts_with("3 answers\n1 violated, 1 holds, 1 no answer\nviolated\nbank.sql\n"), "{words}");
    assert!(html.contains("href=\"#answer-2\"") && html.contains("id=\"answer-2\""));
    assert!(words.contains("error: the file has no threads"));
}

/// A tag where it could do harm: in element content, in attributes, in the drawing.
const EVIL: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>";

fn harmless(html: &str) {
    well_formed(html);
    assert_eq!(html.matches("<script").count(), 1, "only ours");
    assert!(!html.contains("<img") && !html.contains("\"'>"));
    assert!(html.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn what_users_write_stays_text() {
    let mut report = lost_update();
    let evil = || EVIL.to_string();
    (report.file, report.command) = (evil(), evil());
    report.warnings = vec![evil()];
    report.properties = vec![PropertyResult { name: evil(), by: None, status: PropertyStatus::Violated }];
    let counterexample = report.counterexample.as_mut().unwrap();
    (counterexample.property, counterexample.headline, counterexample.replay) = (evil(), evil(), evil());
    counterexample.anomaly = Some(evil());
    counterexample.explanation = vec![evil(), format!("`{EVIL}`")];
    let verdict = FixVerdict::Fails(evil());
    counterexample.fixes =
        vec![Fix { kind: evil(), title: evil(), verdict, cost: None, patch: format!("@@\n-{EVIL}") }];
    let end = || EdgeEnd { statement: EVIL.into(), place: None, transaction: 1 };
    let edge = |from, to| GraphEdge {
        from,
        to,
        kind: EdgeKind::Rw,
        predicate: false,
        item: EVIL.into(),
        first: end(),
        second: end(),
        cycle: true,
    };
    let nodes = vec![Node { name: evil() }, Node { name: evil() }];
    counterexample.graph = Some(Graph { name: evil(), nodes, edges: vec![edge(0, 1), edge(1, 0)] });
    let trace = &mut counterexample.trace;
    trace.threads = vec![evil(), format!("{EVIL} 2")];
    for step in &mut trace.steps {
        step.statement = evil();
        step.notes = vec![evil()];
        let column = ColumnChange { column: evil(), before: Some(evil()), after: Some(evil()) };
        step.changes = vec![RowChange { table: evil(), key: evil(), kind: ChangeKind::Update, columns: vec![column] }];
    }
    trace.steps[0].result = StepResult::Error { code: evil(), message: evil() };
    trace.steps[3].result = StepResult::Waits { on: vec![evil()] };
    trace.tables[0].name = evil();
    trace.tables[0].columns = vec![evil()];
    trace.tables[0].rows = vec![vec![Some(evil())]];
    harmless(&page(&[report]));
}

#[test]
fn the_other_checkers_have_pages_too() {
    let evil = || EVIL.to_string();
    let mut space = SpaceReport::new("isolde space", EVIL);
    let trace = Behaviour {
        variables: vec![evil()],
        states: vec![Passed { action: Some(evil()), place: None, values: vec![evil()] }],
        back_to: Some(0),
        stays: false,
    };
    let verdict = || "fails".to_string();
    space.properties =
        vec![Asked { kind: evil(), name: evil(), verdict: verdict(), meaning: evil(), trace: Some(trace) }];
    space.settle();
    let mut prove = ProveReport::new("isolde prove", EVIL);
    let change =
        TableChange { table: evil(), columns: vec![evil()], before: vec![vec![evil()]], after: vec![vec!["1".into()]] };
    let witness = ProofWitness {
        rows: vec![evil()],
        call: evil(),
        arguments: Vec::new(),
        lines: vec![3],
        changes: vec![change],
        outcome: evil(),
        confirmation: None,
    };
    prove.cells = vec![ProofCell {
        procedure: evil(),
        line: 1,
        rule: evil(),
        rule_text: evil(),
        verdict: "unsafe".into(),
        meaning: evil(),
        at_line: None,
        assumptions: Vec::new(),
        needs: Vec::new(),
        warning: None,
        content: String::new(),
        witness: Some(witness),
        helps: Vec::new(),
    }];
    prove.settle();
    let mut model = ModelReport::new("isolde model", EVIL, "rails");
    model.findings = vec![Finding {
        id: evil(),
        headline: evil(),
        place: None,
        why: evil(),
        example: crate::Example { before: vec![evil()], sql: vec![evil()], ..crate::Example::default() },
        query: Some(evil()),
        change: None,
    }];
    model.settle();
    let mut page = HtmlPage::default();
    page.space(&space);
    page.proof(&prove);
    page.model(&model);
    let html = page.to_html(EVIL);
    harmless(&html);
    assert_eq!(html.matches("<article").count(), 3);
    assert!(words(&html).contains("1 finding"));
}

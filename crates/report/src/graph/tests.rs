use super::*;
use crate::wrap::width;
use expect_test::expect;

fn end(statement: &str, line: u32, transaction: usize) -> EdgeEnd {
    EdgeEnd { statement: statement.into(), place: Some(Place { file: None, line }), transaction }
}

fn edge(from: usize, to: usize, kind: EdgeKind, item: &str, first: EdgeEnd, second: EdgeEnd) -> GraphEdge {
    GraphEdge { from, to, kind, predicate: false, item: item.into(), first, second, cycle: true }
}

fn graph(name: &str, nodes: &[&str], edges: Vec<GraphEdge>) -> Graph {
    let nodes = nodes.iter().map(|name| Node { name: name.to_string() }).collect();
    Graph { name: name.into(), nodes, edges }
}

fn lost_update() -> Graph {
    let balance = "balance of account id = 1";
    let there = edge(0, 1, EdgeKind::Rw, balance, end("SELECT", 6, 1), end("UPDATE", 8, 1));
    let back = edge(1, 0, EdgeKind::Ww, balance, end("UPDATE", 8, 1), end("UPDATE", 8, 1));
    let other = edge(1, 0, EdgeKind::Rw, balance, end("SELECT", 6, 1), end("UPDATE", 8, 1));
    graph("lost update", &["alice", "bob"], vec![there, back, GraphEdge { cycle: false, ..other }])
}

fn read_only_anomaly() -> Graph {
    let nodes = ["withdrawal", "deposit", "report"];
    let searched = edge(0, 1, EdgeKind::Rw, "savings id = 1", end("SELECT", 3, 1), end("UPDATE", 7, 1));
    let edges = vec![
        GraphEdge { predicate: true, ..searched },
        edge(1, 2, EdgeKind::Wr, "savings id = 1", end("UPDATE", 7, 1), end("SELECT", 11, 2)),
        edge(2, 0, EdgeKind::Rw, "checking id = 1", end("SELECT", 11, 2), end("UPDATE", 4, 1)),
    ];
    graph("read-only anomaly", &nodes, edges)
}

#[test]
fn a_cycle_of_two() {
    expect![[r#"
        ┌───────┐
        │ alice │◀────────────────────────────────────────────────────┐
        └───────┘                                                     │
           │ rw  balance of account id = 1                            │
           │ read by SELECT (line 6), then changed by UPDATE (line 8) │
           ▼                                                          │
        ┌─────┐                                                       │
        │ bob │───────────────────────────────────────────────────────┘
        └─────┘  ww  balance of account id = 1
                 changed by UPDATE (line 8), then by UPDATE (line 8)"#]]
    .assert_eq(&lost_update().to_text(98).join("\n"));
}

#[test]
fn a_cycle_of_three() {
    expect![[r#"
        ┌────────────┐
        │ withdrawal │◀───────────────────────────────────────────────────────┐
        └────────────┘                                                        │
           │ rw  savings id = 1                                               │
           │ searched by SELECT (line 3), then changed by UPDATE (line 7)     │
           ▼                                                                  │
        ┌─────────┐                                                           │
        │ deposit │                                                           │
        └─────────┘                                                           │
           │ wr  savings id = 1                                               │
           │ changed by UPDATE (line 7), then read by SELECT (line 11)        │
           ▼                                                                  │
        ┌────────┐                                                            │
        │ report │────────────────────────────────────────────────────────────┘
        └────────┘  rw  checking id = 1
                    read by SELECT (line 11), then changed by UPDATE (line 4)"#]]
    .assert_eq(&read_only_anomaly().to_text(98).join("\n"));
}

#[test]
fn a_deadlock() {
    let edges = vec![
        edge(0, 1, EdgeKind::Waits, "account id = 2", end("UPDATE", 7, 1), end("UPDATE", 11, 1)),
        edge(1, 0, EdgeKind::Waits, "account id = 1", end("UPDATE", 12, 1), end("UPDATE", 6, 1)),
    ];
    expect![[r#"
        ┌─────┐
        │ ann │◀───────────────────────────────┐
        └─────┘                                │
           │ waits for account id = 2          │
           │ wanted by UPDATE (line 7), locked │
           │     by UPDATE (line 11)           │
           ▼                                   │
        ┌─────┐                                │
        │ ben │────────────────────────────────┘
        └─────┘  waits for account id = 1
                 wanted by UPDATE (line 12),
                     locked by UPDATE (line 6)"#]]
    .assert_eq(&graph("deadlock", &["ann", "ben"], edges).to_text(40).join("\n"));
}

#[test]
fn one_arrow_that_does_not_come_back() {
    let read = edge(0, 1, EdgeKind::Wr, "account id = 1", end("UPDATE", 3, 1), end("SELECT", 7, 1));
    expect![[r#"
        ┌───────┐
        │ alice │
        └───────┘
           │ wr  account id = 1
           │ changed by UPDATE (line 3), then read by SELECT (line 7)
           ▼
        ┌─────┐
        │ bob │
        └─────┘"#]]
    .assert_eq(&graph("aborted read", &["alice", "bob"], vec![read]).to_text(98).join("\n"));
    assert_eq!(Graph::default().to_text(98), Vec::<String>::new());
}

#[test]
fn the_page_is_not_left() {
    for graph in [lost_update(), read_only_anomaly()] {
        for page in [46, 60, 80, 100] {
            let lines = graph.to_text(page);
            assert!(
                lines.iter().all(|line| width(line) <= page && !line.ends_with(' ')),
                "{page}\n{}",
                lines.join("\n")
            );
        }
    }
}

#[test]
fn in_the_language_of_graphviz() {
    expect![[r##"
        digraph "lost update" {
          rankdir=LR;
          node [shape=box, style=rounded, fontname="Helvetica"];
          edge [fontname="Helvetica", fontsize=10];
          "alice";
          "bob";
          "alice" -> "bob" [label="rw  balance of account id = 1\nread by SELECT (line 6), then changed by UPDATE (line 8)", color="#b00020", penwidth=2];
          "bob" -> "alice" [label="ww  balance of account id = 1\nchanged by UPDATE (line 8), then by UPDATE (line 8)", color="#b00020", penwidth=2];
          "bob" -> "alice" [label="rw  balance of account id = 1\nread by SELECT (line 6), then changed by UPDATE (line 8)", color="#999999", fontcolor="#777777"];
        }
    "##]].assert_eq(&lost_update().to_dot());
}

#[test]
fn as_a_picture() {
    expect_test::expect_file!["golden/lost-update.svg"].assert_eq(&lost_update().to_svg());
    expect_test::expect_file!["golden/read-only-anomaly.svg"].assert_eq(&read_only_anomaly().to_svg());
}

#[test]
fn names_are_quoted_where_they_must_be() {
    let item = "name of item name = \"<&>\\\"";
    let edges = vec![edge(0, 1, EdgeKind::Ww, item, end("UPDATE", 1, 1), end("UPDATE", 2, 1))];
    let graph = graph("mixed writes", &["a", "b", "lonely"], edges);
    assert!(graph.to_svg().contains("name of item name = &quot;&lt;&amp;&gt;\\&quot;"));
    assert!(graph.to_dot().contains(r#"name of item name = \"<&>\\\""#));
    assert!(graph.to_dot().contains("\"lonely\";"));
}

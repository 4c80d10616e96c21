//! TrOOP's clients load and run, and what lies in `benches/troop` is what the generator writes.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::Duration;

use isolde_benches::configuration::Configuration;
use isolde_benches::troop::{Mode, Shape, clients};
use isolde_explore::System;
use isolde_scenario::{ScenarioSystem, Status};

#[test]
fn the_files_are_as_generated() {
    for client in clients() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("troop").join(format!("{}.sql", client.name()));
        let text = client.text(Shape::PUBLISHED);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(&path).unwrap_or_default(),
            text,
            "UPDATE_GOLDEN=1 writes {}",
            path.display()
        );
    }
}

/// One run after the other: no statement fails, so that every session comes to its end.
#[test]
fn every_client_runs_at_every_level() {
    for client in clients() {
        for mode in Mode::ALL {
            let scenario = client.scenario(Shape { sessions: 5, transactions: 5 }, mode).unwrap();
            let system = ScenarioSystem::new(&scenario, scenario.options());
            let (mut state, mut steps) = (system.initial(), Vec::new());
            loop {
                steps.clear();
                system.enabled(&state, &mut steps);
                let Some(step) = steps.first() else { break };
                system.execute(&mut state, step);
            }
            for ended in &state.clients {
                assert_eq!(ended.status, Status::Done, "{}, {}", client.name(), mode.name());
            }
        }
    }
}

/// Nine transactions in three sessions: 9! / 3!^3 interleavings.
#[test]
fn transactions_as_steps_are_1680_interleavings() {
    for client in clients().filter(|c| c.application.name == "cart") {
        let scenario = client.scenario(Shape::PUBLISHED, Mode::Atomic).unwrap();
        let all = Configuration::EVERY_RUN.measure(&scenario, Duration::from_secs(600));
        assert_eq!(all.summary.leaves, 1680, "{}", client.name());
    }
}

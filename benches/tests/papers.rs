//! The papers' programs load, our searches miss nothing on them, and need no more than the papers' do.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::Duration;

use isolde_benches::configuration::{Configuration, Way, ours};
use isolde_benches::dpf::kernels::KERNELS;
use isolde_benches::{dpf, epor};
use isolde_scenario::Scenario;

const LONG: Duration = Duration::from_secs(600);

/// All programs, small.
fn programs() -> Vec<(String, Scenario)> {
    let dpf = dpf::programs(true).into_iter().map(|p| (p.name.to_string(), p.scenario()));
    let epor = epor::employees().into_iter().chain(epor::petclinic()).map(|p| (p.name.clone(), p.scenario()));
    dpf.chain(epor).map(|(name, scenario)| (name, scenario.unwrap())).collect()
}

/// The kernels as they are compared with the paper lie beside the applications, to be read and tried.
#[test]
fn the_kernels_files_are_as_generated() {
    for kernel in KERNELS {
        let name = format!("{}.sql", kernel.name.to_lowercase());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("dpf").join(name);
        let text = kernel.text(kernel.shape);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(written, text, "UPDATE_GOLDEN=1 writes {}", path.display());
    }
}

#[test]
fn ours_misses_no_end() {
    for (name, scenario) in programs() {
        let all = Configuration::NAIVE.measure(&scenario, LONG).ends;
        let reduced = Configuration::new(Way::States, ours()).measure(&scenario, LONG);
        assert_eq!(reduced.ends, all, "{name}");
    }
}

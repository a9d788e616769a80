//! The machine, the numbering of generations and the policy, model-checked: the types that ship, in an
//! environment that does to them whatever a server, a network and a user can do.
//!
//! What is shipped: [`mcp_tool::machine::Invocation`], `mcp_discovery::generations::Generations` and
//! `ConservativePolicy`. What is modelled, after the code that it stands for: the driver (`driver.rs`), the
//! bridge (`bridge.rs`), the flights of mcp-discovery's `run.rs` (`discovery.rs`), transports,
//! network and servers (`wire.rs`). One step of the model is what happens between two awaits.

mod act;
mod breach;
mod bridge;
mod call;
mod discovery;
mod driver;
mod fault;
mod properties;
mod runs;
mod scenario;
mod system;
mod wire;
mod world;

use std::{
    io::{Write, stderr},
    num::NonZero,
    thread::available_parallelism,
    time::Instant,
};

use fault::Fault;
use runs::Exhaustive;
use scenario::Scenario;
use stateright::{Checker, Expectation, HasDiscoveries, Model};
use system::System;

#[test]
fn the_invariants_hold_in_every_state_of_every_scenario() {
    for exhaustive in &runs::DAILY {
        check(exhaustive);
    }
}

/// Minutes, and that only if it is optimised:
///
/// ```text
/// cargo test -p mcp-tool-tests --test model \
///     --config 'profile.dev.package.mcp-tool-tests.opt-level=2' -- --ignored
/// ```
#[test]
#[ignore = "takes minutes"]
fn the_invariants_hold_over_three_generations_on_every_wire_whatever_changes() {
    let states: usize = runs::thorough().map(|exhaustive| check(&exhaustive)).sum();
    assert!(states > 20_000_000, "{states}");
}

/// Runs a scenario to the end, and tells its size.
fn check(exhaustive: &Exhaustive) -> usize {
    let Exhaustive { name, scenario, states, reaches } = exhaustive;
    let began = Instant::now();
    let threads = available_parallelism().map_or(1, NonZero::get);
    let checker = System::new(*scenario, None).checker().threads(threads).spawn_bfs().join();
    let (unique, steps, depth) = (checker.unique_state_count(), checker.state_count(), checker.max_depth());
    // Past the capture of the test's output: the size is a result.
    let told = writeln!(
        stderr(),
        "{name}: {unique} states, {steps} transitions, depth {depth}, {:.1} s",
        began.elapsed().as_secs_f32()
    );
    told.expect("the test has a standard error");
    for property in checker.model().properties() {
        let found = checker.discovery(property.name);
        match (property.expectation, found) {
            (Expectation::Always | Expectation::Eventually, Some(path)) => {
                panic!("{name}: {} is broken by {:#?}", property.name, path.into_actions());
            }
            (Expectation::Sometimes, None) => {
                assert!(!reaches.contains(&property.name), "{name}: never {}", property.name);
            }
            (Expectation::Always | Expectation::Eventually, None) | (Expectation::Sometimes, Some(_)) => {}
        }
    }
    assert!(unique >= *states, "{name}: {unique} states are too few");
    unique
}

#[test]
fn each_fault_of_the_environment_breaks_the_invariant_that_is_about_it() {
    use properties as p;
    #[rustfmt::skip]
    let rows: [(Fault, Scenario, &'static str); 29] = [
        (Fault::TrustsEverybody,           runs::TRUST_TO_COME, p::I6_HAND),
        (Fault::TrustsEverybody,           runs::NO_GUARD,      p::I1),
        (Fault::CarriesTrustOver,          runs::TRUST,         p::I6_HAND),
        (Fault::CarriesHintsOver,          runs::DEFINITIONS,   p::I1),
        (Fault::SkipsTheGuard,             runs::TRUST,         p::I6_BYTE),
        (Fault::SkipsTheGuard,             runs::LEAVES,        p::I8),
        (Fault::ReplaysOnTheOldGeneration, runs::HTTP,          p::I2),
        (Fault::SharesADepartedListing,    runs::HTTP,          p::I2),
        (Fault::ClaimsUnsent,              runs::LOSSES,        p::I1),
        (Fault::ClaimsUnsent,              runs::LOSSES,        p::I3),
        (Fault::ClaimsUnsent,              runs::LOSSES,        p::I16),
        (Fault::TakesARefusalForProof,     runs::HTTP,          p::I1),
        (Fault::ForgetsDoubt,              runs::LOSSES,        p::I3),
        (Fault::ReplaysContinuations,      runs::CONTINUES,     p::I1),
        (Fault::TakesAnAnswerForALoss,     runs::LOSSES,        p::I7),
        (Fault::TakesACancelForALoss,      runs::LEAVES,        p::I8),
        (Fault::TakesNoTurn,               runs::HTTP,          p::I11_ONE),
        (Fault::ForgetsWaiters,            runs::LOSSES,        p::I11_SHARED),
        (Fault::StragglersTearDown,        runs::HTTP,          p::I11_STRAGGLER),
        (Fault::EndsWhateverIsPresent,     runs::SUPERVISED,    p::I11_STRAGGLER),
        (Fault::ForgetsTheEnd,             runs::LOSSES,        p::AGREE),
        (Fault::MatchesByNumber,           runs::HTTP,          p::I12_ANSWER),
        (Fault::SuspectsOnLateAnswers,     runs::HTTP,          p::I12_SUSPECT),
        (Fault::LandsUnnoticed,            runs::LOSSES,        p::I15),
        (Fault::ReportsDropsAsNotExecuted, runs::LEAVES,        p::I16),
        (Fault::InventsAnAnswer,           runs::LOSSES,        p::I16),
        (Fault::IgnoresIdentity,           runs::IDENTITIES,    p::SERVER),
        (Fault::IgnoresDefinitions,        runs::DEFINITIONS,   p::TOOL),
        (Fault::ClaimsAFence,              runs::NEEDS_FENCE,   p::FENCE),
    ];
    for (fault, scenario, property) in rows {
        let broken = HasDiscoveries::AnyOf([property].into());
        let checker = System::new(scenario, Some(fault)).checker().finish_when(broken).spawn_bfs().join();
        assert!(checker.discovery(property).is_some(), "{fault:?} does not break {property}");
    }
}

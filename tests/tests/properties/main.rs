//! Properties over random inputs: the policy, the machine of one invocation, and listings.
//!
//! Each property runs a fixed number of cases with fresh randomness; `PROPTEST_CASES=100000` runs more. A case
//! that fails is shrunk and printed whole, so nothing is kept in files: what was found becomes a named test.

mod listings;
mod machine;
mod pages;
mod policy;

use proptest::test_runner::Config;

fn cases(number: u32) -> Config {
    let Config { cases, .. } = Config::default();
    // The library's own number, unless somebody has set another.
    let chosen = if cases == 256 { number } else { cases };
    Config { cases: chosen, failure_persistence: None, ..Config::default() }
}

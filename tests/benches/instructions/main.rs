//! Work to count the instructions of: tests/instructions runs this under valgrind, and compares what it
//! counts with the baseline beside this file. docs/performance.md says more.

mod server;
mod work;

use std::{env, error::Error};

use tokio::runtime::Builder;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    // Whatever `cargo bench` and `cargo test` say: they count nothing.
    let [name, times] = arguments.as_slice() else { return Ok(()) };
    let known = work::WORK.iter().find(|(known, _)| known == name);
    let (_, work) = known.ok_or_else(|| format!("{name} is no work of ours"))?;
    Builder::new_current_thread().enable_all().build()?.block_on(work(times.parse()?));
    Ok(())
}

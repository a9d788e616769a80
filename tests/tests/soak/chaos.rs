//! What happens to servers from outside, at random.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::time::{sleep, timeout};

use crate::{
    bench::process::PATIENCE,
    definition::{Definition, wild},
    fleet::{Fleet, NAMES},
    numbers::Numbers,
};

impl Fleet {
    /// Does one thing after the other to one server or another, and says how many there were.
    pub(crate) async fn storm(&mut self, numbers: &mut Numbers, end: Instant) -> usize {
        let mut deeds = 0;
        while Instant::now() < end {
            let (name, front) = NAMES[numbers.below(NAMES.len() as u64) as usize];
            match (self.present.get(name), numbers.below(14)) {
                // Sooner or later everybody is there again.
                (None, _) | (_, 0..=2) => {
                    let definition = Definition::new(front, wild(front, numbers)).await;
                    self.put(name, Some(definition)).await;
                }
                (_, 3) => self.put(name, None).await,
                (Some(definition), 4..=7) => definition.signal(Signal::KILL),
                (Some(definition), 8..=10) => {
                    definition.signal(Signal::STOP);
                    sleep(Duration::from_millis(numbers.below(1_500))).await;
                    // To one that was started meanwhile it does nothing.
                    definition.signal(Signal::CONT);
                }
                (_, explicit) => self.ask(name, explicit).await,
            }
            deeds += 1;
            sleep(Duration::from_millis(numbers.below(150))).await;
        }
        deeds
    }

    /// What a host may ask of a server. It may fail, and must end.
    async fn ask(&self, name: &str, what: u64) {
        let Some(server) = self.servers().get(name) else { return };
        let supervision = server.supervision();
        let asked = async {
            match what {
                11 => drop(supervision.reconnect().await),
                12 => drop(supervision.refresh().await),
                _ => {
                    let _ = supervision.stop().await;
                    drop(supervision.connect().await);
                }
            }
        };
        timeout(PATIENCE, asked).await.expect("what a host asks for ends within a bound");
    }
}

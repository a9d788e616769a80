//! What the process of the host holds. (For Linux: `/proc` tells.)

use std::{
    fmt, fs,
    time::{Duration, Instant},
};

use tokio::{runtime::Handle, time::sleep};

use crate::bench::process::PATIENCE;

/// Memory may be this much more than it usually is: a tenth and 8 MiB. An allocator gives back what it
/// likes; a leak of a kilobyte per call is past this within minutes.
const MORE_KIB: u64 = 8 * 1024;

/// Of everything but memory there may be no more than usual.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Holdings {
    tasks: usize,
    descriptors: usize,
    children: usize,
    resident_kib: u64,
}

impl Holdings {
    /// What is held once it is no more than usual, or does not change any more where nothing is usual yet.
    pub(crate) async fn settled(usual: Option<&Self>) -> Self {
        let end = Instant::now() + PATIENCE;
        let mut before = Self::now();
        loop {
            // What ends, ends by itself; nobody tells of the last of it.
            sleep(Duration::from_secs(1)).await;
            let now = Self::now();
            let is_settled = match usual {
                Some(usual) => now.fits(usual),
                None => now.counts() == before.counts(),
            };
            if is_settled {
                return now;
            }
            assert!(Instant::now() < end, "it holds {now}, and usually {}", usual.unwrap_or(&before));
            before = now;
        }
    }

    fn now() -> Self {
        Self {
            tasks: Handle::current().metrics().num_alive_tasks(),
            descriptors: fs::read_dir("/proc/self/fd").expect("descriptors").count(),
            children: children(),
            resident_kib: resident_kib(),
        }
    }

    fn counts(&self) -> [usize; 3] {
        [self.tasks, self.descriptors, self.children]
    }

    fn fits(&self, usual: &Self) -> bool {
        let counts = self.counts().into_iter().zip(usual.counts()).all(|(now, usual)| now <= usual);
        counts && self.resident_kib <= usual.resident_kib + usual.resident_kib / 10 + MORE_KIB
    }
}

/// Zombies, too.
fn children() -> usize {
    let own = std::process::id().to_string();
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let stats = processes.filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    stats.filter(|stat| parent(stat) == Some(&own)).count()
}

fn parent(stat: &str) -> Option<&str> {
    stat.rsplit_once(") ")?.1.split(' ').nth(1)
}

fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("what the kernel knows of this process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.split_whitespace().next().and_then(|kib| kib.parse().ok()).expect("a number")
}

impl fmt::Display for Holdings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tasks, descriptors, children, resident_kib } = self;
        write!(f, "{tasks} tasks, {descriptors} descriptors, {children} children, {resident_kib} KiB")
    }
}

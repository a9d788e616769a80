//! Plays many schedules, on all cores, and reports every one that did not come out as it must.

use std::{
    fmt::Write,
    ops::Range,
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use crate::{
    coverage::Coverage,
    judge::{Complaint, judge},
    play::{Rig, play},
    schedule::Schedule,
    shrink::shrink,
    world::Record,
};

/// How long no schedule may come to an end: one that never does would else never be named.
const PATIENCE: Duration = Duration::from_secs(120);
/// More would not be read.
const REPORTS: usize = 5;

/// Plays one schedule and judges it.
pub(crate) fn try_out(schedule: &Schedule, rig: &Rig) -> (Record, Vec<Complaint>) {
    let record = play(schedule, rig);
    let complaints = judge(schedule, &record);
    (record, complaints)
}

/// Plays the schedules of these seeds. What they covered, or what went wrong.
pub(crate) fn campaign(seeds: Range<u64>, rig: &Rig) -> Result<Coverage, String> {
    let threads = thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let next = AtomicU64::new(seeds.start);
    let (ends, ended) = mpsc::channel();
    let mut reports = Vec::new();
    let mut coverage = Coverage::default();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (ends, next) = (ends.clone(), &next);
            scope.spawn(move || {
                let mut coverage = Coverage::default();
                while let seed = next.fetch_add(1, Ordering::Relaxed)
                    && seed < seeds.end
                {
                    let schedule = Schedule::draw(seed);
                    let (record, complaints) = try_out(&schedule, rig);
                    coverage.add(&schedule, &record);
                    let report = (!complaints.is_empty()).then(|| report(&schedule, rig));
                    let _ = ends.send(Told::Played(report));
                }
                let _ = ends.send(Told::Done(coverage));
            });
        }
        drop(ends);
        loop {
            match ended.recv_timeout(PATIENCE) {
                Ok(Told::Played(report)) => reports.extend(report),
                Ok(Told::Done(of_thread)) => coverage.merge(of_thread),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let seed = next.load(Ordering::Relaxed);
                    eprintln!("one of the last {threads} seeds before {seed} does not come to an end");
                    std::process::exit(1);
                }
            }
        }
    });
    match reports.len() {
        0 => Ok(coverage),
        bad => Err(format!("{bad} schedules\n\n{}", reports[..bad.min(REPORTS)].join("\n\n"))),
    }
}

enum Told {
    Played(Option<String>),
    Done(Coverage),
}

/// What went wrong, in the smallest schedule in which the same goes wrong.
pub(crate) fn report(schedule: &Schedule, rig: &Rig) -> String {
    let (_, complaints) = try_out(schedule, rig);
    let invariant = complaints.first().map(|complaint| complaint.invariant);
    let smallest = shrink(schedule, |smaller| {
        let (_, complaints) = try_out(smaller, rig);
        complaints.iter().any(|complaint| Some(complaint.invariant) == invariant)
    });
    let (record, shrunk) = try_out(&smallest, rig);
    let mut report = format!("SEED={} SCHEDULES=1\n", schedule.seed);
    for complaint in complaints {
        let _ = writeln!(report, "{}: {}", complaint.invariant, complaint.what);
    }
    let _ = writeln!(report, "shrunk: {smallest:#?}");
    for complaint in shrunk {
        let _ = writeln!(report, "{}: {}", complaint.invariant, complaint.what);
    }
    let _ = write!(report, "{record}");
    report
}

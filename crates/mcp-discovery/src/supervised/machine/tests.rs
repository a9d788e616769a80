use super::*;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn at(seconds: u64) -> Moment {
    Moment { at: s(seconds), spread: 0.0 }
}

fn connection(number: u64) -> ConnectionId {
    (1..number).fold(ConnectionId::FIRST, |connection, _| connection.next())
}

fn generation(number: u64) -> Generation {
    (1..number).fold(Generation::FIRST, |generation, _| generation.next())
}

/// A machine whose first connection has been listed at 0.
fn connected(rules: Supervision) -> Machine {
    let mut machine = Machine::new(rules);
    machine.permit(at(0)).unwrap();
    let listed = Event::Listed { connection: connection(1), generation: generation(1), probed: true };
    machine.on(at(0), listed);
    machine.on(at(0), Event::Landed);
    machine
}

fn lost(number: u64) -> Event {
    Event::Lost { connection: connection(number), reason: DownReason::ConnectionLost }
}

fn probed(verdict: Verdict) -> Event {
    Event::Probed { connection: connection(1), verdict }
}

#[test]
fn a_failure_on_the_way_decides_how_long_the_pause_is() {
    use DownReason::{Misconfigured, NotListed, NotReached};
    // The first pause is half of 500 ms at the least.
    for (reason, pause) in [
        (NotReached, Duration::from_millis(250)),
        (NotListed, Duration::from_millis(250)),
        (Misconfigured, s(300)),
    ] {
        let mut machine = Machine::new(Supervision::default());
        machine.permit(at(0)).unwrap();
        assert_eq!(machine.condition(), Condition::Connecting);
        machine.on(at(0), Event::Failed(reason));
        machine.on(at(0), Event::Landed);
        assert_eq!(machine.condition(), Condition::Down { reason, next_try: Some(pause) });
        assert_eq!(machine.wakes_at(), Some(pause));
        assert_eq!(machine.due(at(0), false), None);
        assert_eq!(machine.due(at(300), false), Some(Action::Try));
        assert_eq!(machine.condition(), Condition::Connecting);
    }
}

#[test]
fn a_start_that_everybody_has_left_is_no_reason_to_start_a_server_that_was_never_there() {
    let mut machine = Machine::new(Supervision::default());
    machine.permit(at(0)).unwrap();
    machine.on(at(0), Event::Landed);
    assert_eq!((machine.wakes_at(), machine.due(at(1_000), false)), (None, None));

    let mut machine = connected(Supervision::default());
    machine.on(at(100), lost(1));
    assert_eq!(machine.due(at(100), false), Some(Action::Try));
    machine.permit(at(100)).unwrap();
    machine.on(at(101), Event::Landed);
    machine.on(at(101), Event::Tried);
    assert!(machine.wakes_at() > Some(s(101)));
}

#[test]
fn a_try_that_comes_to_no_start_is_not_repeated_at_once() {
    let mut machine = connected(Supervision::default());
    machine.on(at(100), lost(1));
    assert_eq!(machine.due(at(100), false), Some(Action::Try));
    machine.on(at(100), Event::Tried);
    assert_eq!(machine.due(at(100), false), None);
    assert!(machine.wakes_at() > Some(s(100)));
}

#[test]
fn calls_that_use_up_the_budget_park_the_server() {
    let mut machine = Machine::new(Supervision::default().with_start_budget(2, s(600)));
    for _ in 0..2 {
        machine.permit(at(0)).unwrap();
        machine.on(at(0), Event::Failed(DownReason::NotReached));
    }
    assert!(!machine.permits_another(at(0)));
    machine.on(at(0), Event::Landed);
    let parked =
        |machine: &Machine| matches!(machine.condition(), Condition::Down { reason: DownReason::Parked, .. });
    assert!(parked(&machine));
    assert_eq!(machine.wakes_at(), Some(s(600)), "the budget is kept by the slow tries, too");
    assert_eq!(machine.permit(at(9)), Err(DiscoveryErrorKind::Parked));
    assert_eq!(machine.permit(at(10)), Ok(()));
    assert!(!machine.permits_another(at(10)));
    machine.on(at(10), Event::Landed);
    assert!(parked(&machine) && machine.wakes_at() == Some(s(600)));
    // A connect is permitted whatever there was, once.
    machine.on(at(11), Event::Asked);
    assert_eq!(machine.permit(at(11)), Ok(()));
    assert_eq!(machine.permit(at(11)), Err(DiscoveryErrorKind::Parked));
    machine.on(at(11), Event::Served);
}

#[test]
fn a_server_that_was_parked_is_so_until_it_has_stayed_up() {
    let rules = Supervision::default().with_start_budget(1, s(20));
    for (up, parked) in [(9, true), (10, false)] {
        let mut machine = connected(rules);
        machine.on(at(1), lost(1));
        assert_eq!(machine.due(at(301), false), Some(Action::Try));
        machine.permit(at(301)).unwrap();
        let listed = Event::Listed { connection: connection(2), generation: generation(2), probed: true };
        machine.on(at(301), listed);
        machine.on(at(301), Event::Landed);
        machine.on(at(301), Event::Tried);
        assert_eq!(machine.condition(), Condition::Ready);
        // In the meantime there is room again only in the second case.
        machine.starts = Starts::new(1, s(20));
        machine.on(at(301 + up), lost(2));
        let next = if parked { s(601 + up) } else { s(301 + up) };
        assert_eq!(machine.wakes_at(), Some(next), "{up}");
    }
}

#[test]
fn what_comes_late_over_a_connection_that_is_gone_changes_nothing() {
    let mut machine = connected(Supervision::default());
    machine.on(at(50), lost(1));
    let before = machine.clone();
    machine.on(at(51), Event::Listed { connection: connection(1), generation: generation(2), probed: true });
    machine.on(at(51), lost(1));
    machine.on(at(51), probed(Verdict::Alive));
    machine.on(at(51), probed(Verdict::Gone));
    machine.on(at(51), Event::Heard(s(51)));
    machine.on(at(51), Event::Doubted(generation(1)));
    machine.on(at(51), Event::Slept);
    assert!(before.link.is_none() && machine == before);

    machine.on(at(52), Event::Stopped);
    let before = machine.clone();
    machine.on(at(53), Event::Listed { connection: connection(2), generation: generation(3), probed: true });
    machine.on(at(53), Event::Landed);
    machine.on(at(53), Event::Tried);
    assert!(machine == before && machine.condition() == Condition::Stopped);
}

#[test]
fn a_sleep_of_the_machine_probes_now_and_once() {
    let mut machine = connected(Supervision::default());
    assert_eq!((machine.due(at(1), false), machine.wakes_at()), (None, Some(s(30))));
    machine.on(at(1), Event::Slept);
    assert_eq!(machine.due(at(1), false), Some(Action::Probe(connection(1))));
    assert_eq!((machine.due(at(1), false), machine.wakes_at()), (None, None));
    machine.on(at(2), probed(Verdict::Alive));
    assert_eq!((machine.due(at(2), false), machine.wakes_at()), (None, Some(s(32))));
}

#[test]
fn an_answer_from_before_a_failure_does_not_undo_it() {
    let mut machine = connected(Supervision::default());
    assert_eq!(machine.due(at(30), true), Some(Action::Probe(connection(1))));
    machine.on(at(40), Event::Heard(s(20)));
    machine.on(at(40), probed(Verdict::Failed));
    machine.on(at(41), Event::Heard(s(20)));
    assert_eq!(machine.condition(), Condition::Degraded);
    machine.on(at(42), Event::Heard(s(41)));
    assert_eq!(machine.condition(), Condition::Ready);
}

#[test]
fn a_busy_connection_is_given_up_by_nothing() {
    for verdict in [Verdict::Failed, Verdict::Gone] {
        let mut machine = connected(Supervision::default());
        let mut now = 0;
        for _ in 0..10 {
            now += 30;
            assert_eq!(machine.due(at(now), true), Some(Action::Probe(connection(1))));
            machine.on(at(now), probed(verdict));
            assert_eq!(machine.due(at(now), true), None);
        }
        assert_eq!(machine.due(at(now), false), Some(Action::GiveUp(connection(1))));
    }
}

/// Numbers that look random and are the same with every run (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Events in any order, as they could and as they could not come.
#[test]
fn whatever_happens_the_budget_holds_and_the_machine_neither_spins_nor_starts_when_it_must_not() {
    const BUDGET: usize = 3;
    let rules = Supervision::default().with_start_budget(BUDGET as u32, s(600));
    for seed in 1..=2_000_u64 {
        let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut machine = Machine::new(rules);
        let (mut now, mut connections, mut ours, mut begun) = (0, 0, Vec::new(), Vec::new());
        for _ in 0..300 {
            now += [0, 0, 0, 1, 5, 30, 400][chance.below(7) as usize];
            let moment = Moment { at: s(now), spread: chance.below(100) as f64 / 100.0 };
            let verdict = [Verdict::Alive, Verdict::Failed, Verdict::Gone][chance.below(3) as usize];
            let number = chance.below(connections + 2).max(1);
            let busy = chance.below(3) == 0;
            let event = match chance.below(16) {
                0 => Some(Event::Asked),
                1 => Some(Event::Served),
                2 => Some(Event::Stopped),
                3 => Some(lost(number)),
                4 | 5 if machine.starting => {
                    connections += 1;
                    let (connection, generation) = (connection(connections), generation(connections));
                    Some(Event::Listed { connection, generation, probed: chance.below(4) > 0 })
                }
                6 => Some(Event::Failed(DownReason::NotReached)),
                7 => Some(Event::Landed),
                8 => Some(Event::Tried),
                9 => Some(Event::Heard(s(now))),
                10 => Some(Event::Probed { connection: connection(number), verdict }),
                11 if busy => Some(Event::Doubted(generation(number))),
                11 => Some(Event::Suspected(generation(number))),
                12 => Some(Event::Slept),
                // One start beyond the budget may be that of somebody who asks, or that of a call to a
                // server that has rested; these are not ours.
                13 => {
                    let (was_asked, had_room) = (machine.asked, machine.starts.has_room(s(now)));
                    let (parked, last) = (machine.parked, machine.starts.last());
                    let permitted = machine.permit(moment);
                    assert_eq!(permitted == Err(DiscoveryErrorKind::Stopped), machine.stopped, "{seed}");
                    let rested = last.is_none_or(|last| last + s(10) <= s(now));
                    let may = was_asked || (had_room && !parked) || rested;
                    assert!(permitted.is_err() || may, "{seed}");
                    begun.extend(permitted.map(|()| (now, had_room)));
                    None
                }
                _ => None,
            };
            if let Some(event) = event {
                machine.on(moment, event);
            }
            // At most a probe, a giving up and a try follow each other.
            let mut due = 0;
            while let Some(action) = machine.due(moment, busy) {
                due += 1;
                assert!(due <= 3 && !machine.stopped, "{seed}: {action:?}");
                match action {
                    Action::Try => {
                        assert!(machine.link.is_none() && !machine.starting, "{seed}");
                        assert_eq!(machine.permit(moment), Ok(()), "{seed}: ours is within the budget");
                        ours.push(now);
                    }
                    Action::GiveUp(connection) => {
                        assert!(!busy, "{seed}");
                        let reason = DownReason::Unresponsive;
                        machine.on(moment, Event::Lost { connection, reason });
                    }
                    Action::Probe(_) => {}
                }
            }
            assert!(machine.wakes_at().is_none_or(|wakes| wakes > s(now)), "{seed}: it would spin");
            assert_eq!(machine.condition() == Condition::Stopped, machine.stopped);
        }
        for window in ours.windows(BUDGET + 1) {
            assert!(window[BUDGET] - window[0] >= 600, "{seed}: {window:?}");
        }
    }
}

#[test]
fn a_server_that_becomes_another_gets_one_start_and_one_that_does_so_all_the_time_does_not_spin() {
    let mut machine = Machine::new(Supervision::default().with_start_budget(2, s(600)));
    for now in 0..2 {
        machine.permit(at(now)).unwrap();
        machine.on(at(now), Event::Failed(DownReason::NotReached));
        machine.on(at(now), Event::Landed);
    }
    let mut starts = Vec::new();
    for now in 2..100 {
        machine.on(at(now), Event::Edited);
        if machine.due(at(now), false) == Some(Action::Try) {
            machine.permit(at(now)).unwrap();
            machine.on(at(now), Event::Failed(DownReason::NotReached));
            machine.on(at(now), Event::Landed);
            machine.on(at(now), Event::Tried);
            starts.push(now);
        }
    }
    assert_eq!(starts, [11, 21, 31, 41, 51, 61, 71, 81, 91]);
    // Only one start for each edit.
    machine.on(at(101), Event::Edited);
    assert_eq!(machine.due(at(101), false), Some(Action::Try));
    machine.permit(at(101)).unwrap();
    machine.on(at(101), Event::Landed);
    machine.on(at(101), Event::Tried);
    assert!(machine.wakes_at() >= Some(s(401)));
}

#[test]
fn a_server_that_asked_to_be_left_alone_is_neither_started_nor_probed_before_that_is_over() {
    use DownReason::{Misconfigured, NotReached};
    // A pause of its own, that one being longer, and a later request.
    for (reason, held, next) in [
        (NotReached, s(30), s(30)),
        (NotReached, s(0), Duration::from_millis(250)),
        (Misconfigured, s(30), s(300)),
    ] {
        let mut machine = Machine::new(Supervision::default());
        machine.permit(at(0)).unwrap();
        machine.on(at(0), Event::Held(held));
        machine.on(at(0), Event::Failed(reason));
        machine.on(at(0), Event::Landed);
        assert_eq!(machine.condition(), Condition::Down { reason, next_try: Some(next) });
        machine.on(at(1), Event::Held(s(400)));
        assert_eq!(machine.condition(), Condition::Down { reason, next_try: Some(s(400)) });
        assert_eq!((machine.wakes_at(), machine.due(at(399), false)), (Some(s(400)), None));
        assert_eq!(machine.due(at(400), false), Some(Action::Try));
    }

    let mut machine = connected(Supervision::default());
    machine.on(at(10), Event::Held(s(50)));
    machine.on(at(10), Event::Doubted(generation(1)));
    assert_eq!((machine.wakes_at(), machine.due(at(49), false)), (Some(s(50)), None));
    assert_eq!(machine.due(at(50), false), Some(Action::Probe(connection(1))));
    machine.on(at(50), probed(Verdict::Alive));
    assert_eq!(machine.wakes_at(), Some(s(80)), "it is over");

    let mut machine = connected(Supervision::default());
    machine.on(at(10), Event::Held(s(50)));
    machine.on(at(20), lost(1));
    assert_eq!((machine.wakes_at(), machine.due(at(49), false)), (Some(s(50)), None));
    assert_eq!(machine.due(at(50), false), Some(Action::Try));
}

#[test]
fn another_server_has_not_asked_to_be_left_alone() {
    let mut machine = connected(Supervision::default());
    machine.on(at(10), Event::Held(s(500)));
    machine.on(at(20), lost(1));
    machine.on(at(21), Event::Edited);
    assert_eq!(machine.due(at(21), false), Some(Action::Try));
}

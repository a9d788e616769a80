//! Everything that happens to one client during one play, drawn from a seed.

use mcp_tool::Trust;

use crate::{
    life::{CallFault, Life},
    numbers::Numbers,
    tool::{Definition, NAMES},
    world::between,
};

/// More than any call waits for.
pub(crate) const LONG: u64 = 600_000;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Schedule {
    pub(crate) seed: u64,
    /// The server's lives, one per connect. Those that follow are like the last one, without a fault.
    pub(crate) lives: Vec<Life>,
    pub(crate) calls: Vec<Call>,
    /// The trust at the beginning, and what it becomes when.
    pub(crate) trust: Trust,
    pub(crate) flips: Vec<(u64, Trust)>,
    /// When the server's configuration becomes another.
    pub(crate) moves: Vec<u64>,
}

/// What one caller does. All times are in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// Stands in the arguments.
    pub(crate) key: usize,
    pub(crate) at: u64,
    pub(crate) tool: usize,
    pub(crate) deadline: u64,
    pub(crate) idle: u64,
    /// So long after its beginning.
    pub(crate) cancelled: Option<u64>,
    /// The same for a caller that drops the call.
    pub(crate) dropped: Option<u64>,
    /// Looks its tool up first, and calls that so much later.
    pub(crate) looked_up: Option<u64>,
    /// Bytes of text among the arguments.
    pub(crate) text: usize,
}

impl Schedule {
    pub(crate) fn draw(seed: u64) -> Self {
        // Neighbouring seeds would else be the same numbers, one apart.
        let mut numbers = Numbers(seed.wrapping_mul(0xd134_2543_de82_ef95));
        let mut tools = [Definition::draw(&mut numbers), Definition::draw(&mut numbers)];
        let lives = (0..1 + numbers.below(4)).map(|number| {
            if number > 0 && numbers.below(4) == 0 {
                let changes = numbers.below(2) as usize;
                tools[changes] = tools[changes].changed(&mut numbers);
            }
            Life::draw(&mut numbers, tools)
        });
        let mut lives: Vec<_> = lives.collect();
        if numbers.below(12) == 0 {
            lives = (0..5).map(|_| Life::draw_fatal(&mut numbers, tools)).collect();
        }
        // A replay that waits while trust is withdrawn.
        let withdrawn = numbers.below(20) == 0;
        if withdrawn {
            let dies = Life { calls: vec![Some(CallFault::ExecutesThenDies)], ..Life::healthy(tools) };
            lives = vec![dies, Life::waiting(tools)];
        }
        let calls = (0..1 + numbers.below(4) as usize).map(|key| Call::draw(&mut numbers, key)).collect();
        let trust = if numbers.below(4) == 0 { any_trust(&mut numbers) } else { Trust::BOTH };
        let flips = match numbers.below(4) {
            _ if withdrawn => vec![(numbers.below(6_000), any_trust(&mut numbers))],
            0 => (0..1 + numbers.below(4)).map(|_| (numbers.below(6_000), any_trust(&mut numbers))).collect(),
            _ => Vec::new(),
        };
        let moves = if numbers.below(12) == 0 { vec![numbers.below(3_000)] } else { Vec::new() };
        Self { seed, lives, calls, trust, flips, moves }
    }

    /// The life that the `number`th connect begins, counted from 0.
    pub(crate) fn life(&self, number: usize) -> Life {
        match (self.lives.get(number), self.lives.last()) {
            (Some(life), _) => life.clone(),
            (None, Some(last)) => Life::healthy(last.tools),
            (None, None) => unreachable!("a schedule has a life"),
        }
    }
}

impl Call {
    fn draw(numbers: &mut Numbers, key: usize) -> Self {
        let at = between(numbers.below(2_000));
        let mut call = Self {
            key,
            at,
            tool: numbers.below(NAMES.len() as u64) as usize,
            deadline: LONG,
            idle: LONG / 2,
            cancelled: None,
            dropped: None,
            looked_up: None,
            text: [0, 0, 0, 700, 5_000][numbers.below(5) as usize],
        };
        match numbers.below(10) {
            0 | 1 => call.deadline = 300 + numbers.below(4_000),
            2 => call.idle = 300 + numbers.below(3_000),
            3 => call.cancelled = Some(numbers.below(2_000)),
            4 => call.dropped = Some(numbers.below(2_000)),
            _ => {}
        }
        if numbers.below(5) == 0 {
            call.looked_up = Some(numbers.below(1_000));
        }
        call
    }
}

fn any_trust(numbers: &mut Numbers) -> Trust {
    match numbers.below(5) {
        0 => Trust::NONE,
        1 => Trust::NONE.with_trusted_server(),
        2 => Trust::NONE.with_trusted_workspace(),
        _ => Trust::BOTH,
    }
}

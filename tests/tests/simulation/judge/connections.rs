//! Connections are made one at a time, kept while they are good, and taken down at the end.

use std::collections::HashSet;

use super::{Case, Complaint};
use crate::{
    tool::Listed,
    world::{Asked, Event},
};

pub(super) fn judge(case: &Case<'_>, complaints: &mut Vec<Complaint>) {
    if case.record.most_connecting > 1 {
        complaints.push(Complaint::of("I11", "two connects at one time"));
    }
    let (mut hurt, mut used, mut lives_of) = (HashSet::new(), HashSet::new(), Vec::new());
    let mut is_over = false;
    for (_, event) in case.events {
        match event {
            Event::Hurt { life, .. } => drop(hurt.insert(*life)),
            Event::Asked { life, what: Asked::Page { listing, .. }, .. } => lives_of.push((*listing, *life)),
            Event::Catalog { listing, .. } => {
                let lives = lives_of.iter().filter(|(number, _)| listing.contains(&Some(*number)));
                used.extend(lives.map(|(_, life)| *life));
                if !is_whole(case, *listing) {
                    complaints.push(Complaint::of("I2", "a catalog that is not one whole listing"));
                }
            }
            Event::Left { life } if !is_over && used.contains(life) && !hurt.contains(life) => {
                let what = format!("the good connection of life {life} was given up");
                complaints.push(Complaint::of("I11", what));
            }
            Event::Over => is_over = true,
            Event::TasksLeft { tasks } if *tasks > 0 => {
                complaints.push(Complaint::of("I15", format!("{tasks} tasks are left")));
            }
            _ => {}
        }
    }
    let mut ids = HashSet::new();
    for request in &case.wire.requests {
        if !ids.insert((request.life, request.id)) {
            complaints
                .push(Complaint::of("I13", format!("life {}: id {} came twice", request.life, request.id)));
        }
    }
}

/// Whether all tools are there that were listed, from one listing.
fn is_whole(case: &Case<'_>, listing: [Option<usize>; 2]) -> bool {
    let Some(number) = listing.into_iter().flatten().next() else { return true };
    let Some((_, life)) = case.listing(number) else { return false };
    let tools = case.schedule.life(life).tools;
    tools.iter().zip(listing).all(|(tool, found)| match tool.listed {
        Listed::Once | Listed::Twice => found == Some(number),
        Listed::Never => found.is_none(),
    })
}

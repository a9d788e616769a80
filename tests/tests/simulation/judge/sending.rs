//! What leaves, leaves within one attempt, and is the same each time.

use mcp_tool::Happening;

use super::{Case, Complaint, Story};

pub(super) fn judge(case: &Case<'_>, story: &Story<'_>, complaints: &mut Vec<Complaint>) {
    let key = story.call.key;
    // Bytes of one attempt, from where it was handed over to where it was given up or ended.
    for stretch in case.wire.stretches.iter().filter(|stretch| stretch.key == key) {
        let before = story.told.iter().rev().find(|(index, _)| *index < stretch.first);
        let attempting = matches!(before, Some((_, Happening::Attempting { .. })));
        let judged = story.told.iter().find(|(index, told)| {
            *index > stretch.first && matches!(told, Happening::Failed { .. } | Happening::Ended { .. })
        });
        if !attempting || judged.is_none_or(|(judged, _)| *judged < stretch.last) {
            let what = format!("call {key}: bytes were accepted after what was read of the delivery");
            complaints.push(Complaint::of("I4", what));
        }
    }
    let calls = || story.requests.iter().filter_map(|request| request.call.as_ref());
    if let Some(first) = calls().next() {
        if calls().any(|call| (&call.name, &call.arguments) != (&first.name, &first.arguments)) {
            complaints.push(Complaint::of("I13", format!("call {key}: its attempts differ")));
        }
        let expected = crate::tool::NAMES[story.call.tool];
        if first.name != expected || !first.arguments.contains(&"x".repeat(story.call.text)) {
            complaints
                .push(Complaint::of("I13", format!("call {key}: what was sent is not what was called")));
        }
    }
}

use std::collections::HashSet;

use super::Said;
use crate::fault_server::{Event, Record};

/// What happened to a call, step by step, in the words of the [demo](crate::demo): as far as the server saw it, and then
/// what the client said.
pub fn timeline(record: &Record, said: Option<Said>) -> Vec<&'static str> {
    let mut course = Course::default();
    record.events().iter().for_each(|event| course.take(event));
    let said = said.map(|said| match said {
        Said::Answered => "answered",
        Said::ErrorAnswer | Said::Error => "told an error",
        Said::NotExecuted => "told \"not executed\"",
        Said::Unknown => "told \"unknown\"",
        Said::Hung => "HUNG",
    });
    course.steps.extend(said);
    course.steps
}

#[derive(Default)]
struct Course {
    steps: Vec<&'static str>,
    /// Connections that were opened.
    handshakes: u32,
    /// The arguments of the calls that were read.
    sent: HashSet<String>,
    /// The last step is a fault, and the tool runs before it shows.
    struck: bool,
}

impl Course {
    fn take(&mut self, event: &Event) {
        let struck = std::mem::take(&mut self.struck);
        match event {
            Event::Handshake { .. } => {
                self.handshakes += 1;
                if self.handshakes > 1 {
                    self.steps.push("reconnected");
                }
            }
            Event::List(listing) if listing.cursor.is_none() && self.steps.last() == Some(&"reconnected") => {
                self.steps.pop();
                self.steps.push("reconnected, tools listed again");
            }
            Event::List(listing) if listing.cursor.is_none() && !self.steps.is_empty() => {
                self.steps.push("tools listed again");
            }
            Event::Received(receipt) => {
                let is_new = self.sent.insert(receipt.arguments.clone());
                self.steps.push(if is_new { "sent" } else { "sent again" });
            }
            Event::Executed(_) if struck => {
                let place = self.steps.len().saturating_sub(1);
                self.steps.insert(place, "it ran");
            }
            Event::Executed(_) => self.steps.push("it ran"),
            Event::Fault { fault, .. } => {
                self.struck = true;
                self.steps.push(match fault.as_str() {
                    "hang" => "no answer",
                    "page_answered_last" => "DIED idle",
                    http if http.starts_with("http_404") => "REFUSED",
                    http if http.starts_with("http_") => "an error status",
                    _ => "LOST",
                });
            }
            Event::TurnedAway { method, .. } if method.as_deref() == Some("tools/call") => {
                self.steps.push("REFUSED");
            }
            Event::Get { last_event_id: Some(_), .. } => self.steps.push("resumed"),
            _ => {}
        }
    }
}

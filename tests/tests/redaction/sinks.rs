//! Everywhere that something could be told: what is captured there.

use std::{
    error::Error,
    fmt::{Debug, Write},
    sync::{Arc, Mutex},
};

use mcp_tool::{Happening, InvocationInfo, Observer};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

/// What was told, by who told it.
#[derive(Clone, Default)]
pub(crate) struct Sinks(Arc<Mutex<Vec<(String, String)>>>);

impl Sinks {
    pub(crate) fn tell(&self, sink: &str, text: String) {
        self.0.lock().unwrap().push((sink.to_owned(), text));
    }

    /// An error in all forms, its causes as a reporter prints them.
    pub(crate) fn error(&self, sink: &str, error: &(dyn Error + 'static)) {
        let mut next = Some(error);
        while let Some(error) = next {
            self.tell(sink, format!("{error} {error:#} {error:?} {error:#?}"));
            next = error.source();
        }
    }

    pub(crate) fn debug(&self, sink: &str, value: &dyn Debug) {
        self.tell(sink, format!("{value:?} {value:#?}"));
    }

    /// Who told this text, each once.
    pub(crate) fn tellers_of(&self, text: &str) -> Vec<String> {
        let told = self.0.lock().unwrap();
        let mut tellers: Vec<_> =
            told.iter().filter(|(_, told)| told.contains(text)).map(|(sink, _)| sink.clone()).collect();
        tellers.sort();
        tellers.dedup();
        tellers
    }

    /// How much was told by whoever begins like this.
    pub(crate) fn count(&self, sink: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|(teller, _)| teller.starts_with(sink)).count()
    }
}

impl Observer for Sinks {
    fn observe(&self, invocation: &InvocationInfo<'_>, happening: &Happening) {
        self.tell("observer", format!("{invocation:?} {happening:?}"));
    }
}

/// All spans and events at every level, by their targets.
impl Subscriber for Sinks {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut words = Words::default();
        span.record(&mut words);
        self.tell(&format!("log of {}", span.metadata().target()), words.0);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut words = Words::default();
        values.record(&mut words);
        self.tell("log of a span", words.0);
    }

    fn event(&self, event: &Event<'_>) {
        let mut words = Words::default();
        event.record(&mut words);
        self.tell(&format!("log of {}", event.metadata().target()), words.0);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{}={value:?} ", field.name());
    }
}

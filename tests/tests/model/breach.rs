//! What went wrong on the way to a state, where it shows only while it happens.

/// What was seen to go wrong on the way here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Breaches(u16);

/// What must not happen, where it shows only while it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breach {
    /// A replay was handed over on a listing that had left before the loss was seen, or on none.
    ReplayOnOldGeneration,
    /// A further attempt was handed over while a trust that it needs was not there.
    HandedOverUntrusted,
    /// The first byte of a further attempt left while a trust that it needs was not there.
    FirstByteUntrusted,
    /// A first byte left after the answer.
    SentAfterAnswer,
    /// A first byte left after the caller had given up.
    SentAfterLeave,
    /// A call was completed by an answer that is not its own.
    ForeignAnswer,
    /// A connection was closed that nobody had found ended.
    HealthyTornDown,
    /// A flight was started where one could have been shared.
    NotShared,
    /// An attempt was made on another server than the one that the call began with.
    OtherServer,
    /// An attempt was made with a tool that is not the one that the call was made for.
    OtherTool,
    /// A write was replayed while the server that it was sent to could still act.
    ReplayUnfenced,
}

impl Breaches {
    pub(crate) fn note(&mut self, breach: Breach) {
        self.0 |= 1 << breach as u16;
    }

    pub(crate) fn has(self, breach: Breach) -> bool {
        self.0 & (1 << breach as u16) != 0
    }
}

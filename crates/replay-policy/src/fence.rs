/// What is known of the old connection's ability to act, once it has been replaced.
///
/// A fact for policies that want it at [`BeforeReplay`](crate::Checkpoint::BeforeReplay);
/// [`ConservativePolicy`](crate::ConservativePolicy) does not read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fence {
    /// Nothing: the old server may still be working on the call. Always so over HTTP.
    #[default]
    None,
    /// The old server's process group was signalled and seen empty. Processes that had left the
    /// group (`setsid`, a container, a relay to another machine) may live on.
    GroupGone,
}

/// What is known of whether a failed request reached the server.
///
/// Ordered by doubt: `Unsent < Refused < Unknown`. Proof is a claim that somebody makes by name;
/// whoever cannot claim it reports the default, `Unknown`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Delivery {
    /// Proven on this machine: no complete request can have been received.
    Unsent,
    /// The peer, or something before it, states that it did not process the request. Its word is
    /// no proof.
    Refused,
    /// Anything else: the server may have run the call.
    #[default]
    Unknown,
}

impl Delivery {
    /// What is known over two attempts of one invocation: the more doubtful of the two.
    ///
    /// Sticky: once one attempt is `Unknown`, so is the invocation, whatever later attempts prove
    /// about themselves.
    ///
    /// ```
    /// use replay_policy::Delivery;
    ///
    /// assert_eq!(Delivery::Unknown.join(Delivery::Unsent), Delivery::Unknown);
    /// ```
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        self.max(other)
    }
}

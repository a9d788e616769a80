/// Declares a number that only ever grows, so that the two kinds cannot be mixed up.
macro_rules! ordinal {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// The first one.
            pub const FIRST: Self = Self(1);

            /// The one after this.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0 + 1)
            }

            /// The number itself, for logs and metrics.
            pub const fn get(self) -> u64 {
                self.0
            }
        }
    };
}

ordinal! {
    /// Orders the listings of one server: a later listing has a higher generation.
    ///
    /// A generation is one complete listing over one connection. Numbers may be left out (a listing
    /// that failed takes its number with it), but none is used twice.
    Generation
}

ordinal! {
    /// Orders the connections to one server: one process or one session each.
    ///
    /// Counted separately from [`Generation`], since several generations may share a connection. No
    /// number is left out among the connections that a catalog was made from, so the one before
    /// `n.next()` is always `n`.
    ConnectionId
}

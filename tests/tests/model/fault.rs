//! Mistakes that are put into the environment on purpose, to see that somebody notices.

/// One mistake of the driver, the bridge, the transport, the discovery or the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The policy takes everybody for trusted.
    TrustsEverybody,
    /// The trust of the first checkpoint is used at the second, too.
    CarriesTrustOver,
    /// The hints of the first listing are used at the second checkpoint, too.
    CarriesHintsOver,
    /// The guard is not asked before the first byte.
    SkipsTheGuard,
    /// A lost call goes back to the catalog that it failed on.
    ReplaysOnTheOldGeneration,
    /// A rebuild is content with a listing that is under way.
    SharesADepartedListing,
    /// A request that may have been read is reported as unsent.
    ClaimsUnsent,
    /// The word of the peer is taken for proof.
    TakesARefusalForProof,
    /// Before it lists again, the invocation forgets that it is in doubt.
    ForgetsDoubt,
    /// The policy is asked about a continuation, too.
    ReplaysContinuations,
    /// An answer is taken for a lost connection.
    TakesAnAnswerForALoss,
    /// The caller's cancellation is taken for a lost connection, and nobody looks at it again.
    TakesACancelForALoss,
    /// Who connects does not wait for their turn.
    TakesNoTurn,
    /// Nobody on a flight is remembered.
    ForgetsWaiters,
    /// Who lost a call closes the present connection, whichever that is.
    StragglersTearDown,
    /// The end of a connection is not written down.
    ForgetsTheEnd,
    /// Who has closed a connection says so of the present one, whichever that is by then.
    EndsWhateverIsPresent,
    /// An answer is matched by its number alone, which begins anew with each connection.
    MatchesByNumber,
    /// A late answer makes the present generation suspect.
    SuspectsOnLateAnswers,
    /// A dropped call is reported as not executed.
    ReportsDropsAsNotExecuted,
    /// A call is told to have been answered when its connection ends.
    InventsAnAnswer,
    /// The identity of the server is not compared.
    IgnoresIdentity,
    /// The definition of the tool is not compared.
    IgnoresDefinitions,
    /// A process that lives on is told to be gone.
    ClaimsAFence,
    /// A flight that has landed tells nobody.
    LandsUnnoticed,
}

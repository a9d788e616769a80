/// How the tool that is listed now compares with the one that the call was made for.
///
/// Compared by digest, by whoever builds the [`FailedAttempt`](crate::FailedAttempt). The variants
/// are exhaustive: a policy that matches on them stops compiling when there is a new answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Definition {
    /// The same name, schemas, annotations and description.
    #[default]
    Same,
    /// Something differs, the input schema does not.
    Changed,
    /// The input schema differs: the arguments were made for another tool.
    SchemaChanged,
    /// The server lists the name more than once, with different definitions, so nobody can tell
    /// which of them would run.
    Ambiguous,
}

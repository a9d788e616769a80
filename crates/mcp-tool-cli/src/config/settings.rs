use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use mcp_tool::ToolFilter;

/// What an entry says of its server, its variables expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// How the server is reached.
    pub reach: Reach,
    /// How long a request may take (`timeout`, in milliseconds). Default: none is given.
    pub timeout: Option<Duration>,
    /// Whether the user trusts the server (`trust`). Default: false.
    pub trust: bool,
    /// Which of its tools may be used. Default: all.
    pub tools: ToolFilter,
}

/// How a server is reached. `Debug` shows neither values nor the command line nor the URL.
#[derive(Clone, PartialEq, Eq)]
pub enum Reach {
    /// A process, over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// What is added to our environment.
        env: BTreeMap<String, String>,
        /// Its working directory. Default: ours.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// The URL, not checked yet.
        url: String,
        /// A header of every request, by name, not checked yet.
        headers: BTreeMap<String, String>,
    },
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { args, env, .. } => f
                .debug_struct("Stdio")
                .field("args", &args.len())
                .field("env", &env.keys())
                .finish_non_exhaustive(),
            Self::Http { headers, .. } => {
                f.debug_struct("Http").field("headers", &headers.keys()).finish_non_exhaustive()
            }
        }
    }
}

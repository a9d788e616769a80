//! One fault, one set of hints, one call.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use mcp_tool_cli::{
    drill::{Asked, Judgement, Said, Subject, Transport, Verdict},
    fault_server::{Ledger, Record},
};

use super::{
    client::Client,
    front::Front,
    options::Era,
    template::{Reach, Ready, Template},
};
use crate::command::exit::Exit;

/// What all rows have in common.
pub(super) struct Drill {
    pub(super) template: Template,
    pub(super) timeout: Duration,
    pub(super) era: Era,
    /// Where each row has a folder of its own.
    pub(super) folder: PathBuf,
}

/// A row that was played.
pub(super) struct Played {
    pub(super) subject: Subject,
    pub(super) record: Record,
    /// None where nobody told.
    pub(super) said: Option<Said>,
    pub(super) exit_code: Option<i32>,
    pub(super) judgement: Judgement,
    /// The last line of the client's standard error.
    pub(super) last_line: Option<String>,
}

/// 1 where a row runs the tool twice, or leads to that.
pub(super) fn exit(rows: &[Played]) -> Exit {
    let runs_twice = |row: &Played| row.judgement.verdict.is_some_and(Verdict::runs_twice);
    if rows.iter().any(runs_twice) { Exit::ErrorAnswer } else { Exit::Completed }
}

impl Drill {
    /// Plays a row, the `number`th.
    pub(super) async fn play(&self, subject: Subject, number: usize) -> io::Result<Played> {
        let folder = self.folder.join(number.to_string());
        fs::create_dir(&folder)?;
        let ledger = Ledger::new(folder.join("ledger.jsonl"));
        subject.enter(&ledger).map_err(io::Error::other)?;
        let ended = match subject.transport {
            Transport::Stdio => {
                let words = self.server(&subject, ledger.path())?;
                let ready = self.ready(&Reach::Stdio(&words), &folder)?;
                Client::start(&ready)?.end(self.timeout, &ledger).await?
            }
            Transport::Http => {
                let scenario =
                    subject.fault.scenario(subject.transport, &subject.hints, self.era.of_server());
                let mut front = Front::start(&scenario, &ledger, 0).await?;
                let ready = self.ready(&Reach::Http(&front.url()), &folder)?;
                let client = Client::start(&ready)?;
                let ended = tokio::select! {
                    ended = client.end(self.timeout, &ledger) => ended?,
                    error = front.keep() => return Err(error),
                };
                front.end().await;
                ended
            }
        };
        let record = ledger.read()?;
        let judgement = Judgement::of(&subject, &record, Asked::Once, Some(ended.said));
        Ok(Played {
            subject,
            record,
            said: Some(ended.said),
            exit_code: ended.exit_code,
            judgement,
            last_line: ended.last_line,
        })
    }

    /// The words that start the server of a row.
    fn server(&self, subject: &Subject, ledger: &Path) -> io::Result<Vec<String>> {
        let text = |path: &Path| {
            path.to_str().map(str::to_owned).ok_or_else(|| io::Error::other("a path is no UTF-8"))
        };
        let words = ["drill", "serve", "--fault", subject.fault.name(), "--hints", subject.hints.name()];
        let words = words.into_iter().chain(["--era", self.era.name(), "--ledger"]).map(str::to_owned);
        Ok([text(&env::current_exe()?)?].into_iter().chain(words).chain([text(ledger)?]).collect())
    }

    fn ready(&self, reach: &Reach<'_>, folder: &Path) -> io::Result<Ready> {
        let config = folder.join("mcp.json");
        fs::write(&config, reach.config())?;
        Ok(self.template.fill(reach, &config))
    }
}

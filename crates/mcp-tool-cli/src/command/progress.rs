use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU32, Ordering},
};

use mcp_tool::mcp_transport::Progress as Told;
use tokio::sync::watch;

use super::screen::Screen;

/// What is being waited for: shown while it is, where standard error is a terminal.
pub(crate) struct Progress(watch::Sender<String>);

/// One report of a server.
struct Report<'a> {
    progress: f64,
    total: Option<f64>,
    message: Option<&'a str>,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new("connecting".into()))
    }

    /// What is waited for from now on.
    pub(crate) fn is(&self, what: &str) {
        self.0.send_replace(what.into());
    }

    /// What a call tells its progress. Does not block: only the latest report of the latest attempt is kept.
    pub(crate) fn listener(&self) -> impl Fn(Told<'_>) + Send + Sync + 'static {
        let (latest, attempt) = (self.0.clone(), AtomicU32::new(0));
        move |told| {
            // What comes late from a connection that was given up says nothing of the present attempt.
            if attempt.fetch_max(told.attempt, Ordering::Relaxed) <= told.attempt {
                let report =
                    Report { progress: told.progress, total: told.total, message: told.message.as_deref() };
                latest.send_replace(report.bar());
            }
        }
    }

    /// Does the work and shows the progress meanwhile.
    pub(crate) async fn shown_on<T>(&self, screen: &Screen, work: impl Future<Output = T>) -> T {
        let mut latest = self.0.subscribe();
        latest.mark_changed();
        let showing = async {
            while latest.changed().await.is_ok() {
                let line = latest.borrow_and_update().clone();
                screen.status(&line);
            }
        };
        let done = tokio::select! {
            biased;
            done = work => done,
            () = showing => unreachable!("the sender lives here"),
        };
        screen.clear();
        done
    }
}

impl Report<'_> {
    /// One line of at most 79 columns, since one that wraps cannot be written over.
    fn bar(&self) -> String {
        const CELLS: f64 = 30.0;
        let mut line = match self.total {
            Some(total) if total > 0.0 => {
                let done = (self.progress / total).clamp(0.0, 1.0);
                let filled = (done * CELLS) as usize;
                format!("[{:-<30}] {:3.0} %", "#".repeat(filled), done * 100.0)
            }
            _ => format!("{} done", self.progress),
        };
        if let Some(message) = self.message {
            let _ = write!(line, " {}", message.replace(['\n', '\r', '\t'], " "));
        }
        if line.chars().count() > 79 {
            line = line.chars().take(78).chain(['…']).collect();
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_how_much_of_the_total_is_done() {
        let report = |progress, total, message: Option<&str>| Report { progress, total, message }.bar();
        assert_eq!(report(0.0, Some(4.0), None), "[------------------------------]   0 %");
        assert_eq!(report(2.0, Some(4.0), None), "[###############---------------]  50 %");
        assert_eq!(report(9.0, Some(4.0), None), "[##############################] 100 %");
        assert_eq!(report(3.0, None, Some("of\nmany")), "3 done of many");
        assert_eq!(report(3.0, Some(0.0), None), "3 done");
        assert_eq!(report(f64::NAN, Some(1.0), None), "[------------------------------] NaN %");
    }

    #[test]
    fn late_progress_of_an_earlier_attempt_is_not_shown() {
        use mcp_tool::rmcp::model::{NumberOrString, ProgressNotificationParam, ProgressToken};
        let progress = Progress::new();
        let listener = progress.listener();
        let tell = |attempt, done| {
            let token = ProgressToken(NumberOrString::Number(0));
            listener(Told::new(attempt, &ProgressNotificationParam::new(token, done)));
            progress.0.borrow().clone()
        };
        assert_eq!(
            [tell(1, 7.0), tell(2, 1.0), tell(1, 8.0), tell(2, 2.0)],
            ["7 done", "1 done", "1 done", "2 done"]
        );
    }

    #[test]
    fn a_bar_never_wraps() {
        let report = Report { progress: 1.0, total: Some(2.0), message: Some(&"ü".repeat(200)) };
        assert_eq!(report.bar().chars().count(), 79);
    }
}

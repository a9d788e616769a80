//! Plays the rows of a matrix, some at a time, and reports every one that did not come out as it must.

use std::fmt::Debug;

use tokio::{sync::Semaphore, task::JoinSet};

use crate::axes::Row;

/// Rows at a time, over all tests of this program.
static ROWS: Semaphore = Semaphore::const_new(8);

/// `play` says what is wrong with a row, as text; none when it came out as it must.
pub(crate) async fn hold<F, Fut>(rows: Vec<Row<F>>, play: fn(Row<F>) -> Fut)
where
    F: Copy + Debug + Send + 'static,
    Fut: Future<Output = Option<String>> + Send + 'static,
{
    let total = rows.len();
    let mut plays = JoinSet::new();
    for row in rows {
        plays.spawn(async move {
            let _turn = ROWS.acquire().await.expect("nobody closes it");
            tokio::spawn(play(row)).await.unwrap_or_else(|panic| Some(format!("{row}\n  {panic}")))
        });
    }
    let complaints = plays.join_all().await;
    let broken: Vec<_> = complaints.into_iter().flatten().collect();
    assert!(broken.is_empty(), "{} of {total} rows:\n\n{}", broken.len(), broken.join("\n\n"));
    println!("{total} rows");
}

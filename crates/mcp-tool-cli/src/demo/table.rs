use std::io::{self, Write};

use super::row::{Got, Over, Played};

/// One table for each way in which servers are reached, with the same columns.
pub(super) fn print(rows: &[Played], out: &mut impl Write) -> io::Result<()> {
    let tables =
        [(Over::Stdio, "what happened over stdio"), (Over::Http, "what happened over Streamable HTTP")];
    let headings = tables.map(|(_, first)| [first, "ran", "the caller got", "why"].map(str::to_owned));
    let cells: Vec<[String; 4]> = rows.iter().map(cells).collect();
    let widths: [usize; 4] = [0, 1, 2, 3]
        .map(|column| cells.iter().chain(&headings).map(|row| row[column].len()).max().unwrap_or(0));
    let [first, second, third, _] = widths;
    for ((over, _), heading) in tables.into_iter().zip(&headings) {
        writeln!(out)?;
        let rule = widths.map(|width| "-".repeat(width));
        let columns = |[a, b, c, d]: &[String; 4]| format!("{a:first$}  {b:>second$}  {c:third$}  {d}");
        writeln!(out, "{}\n{}", columns(heading), columns(&rule))?;
        for (row, played) in cells.iter().zip(rows).filter(|(_, played)| played.over == over) {
            writeln!(out, "{}", columns(row))?;
            writeln!(out, "    {}", played.timeline)?;
        }
    }
    Ok(())
}

fn cells(row: &Played) -> [String; 4] {
    let why = match row.held() {
        true => row.why.to_owned(),
        false => format!("BROKEN: expected {} and \"{}\"", row.expected.executions, text(row.expected.got)),
    };
    [row.happened.to_owned(), row.real.executions.to_string(), text(row.real.got), why]
}

fn text(got: Got) -> String {
    match got {
        Got::Answer => "the answer".to_owned(),
        Got::ErrorAnswer => "the tool's own error".to_owned(),
        Got::NotRun(reason) => format!("not run: {reason}"),
        Got::MayHaveRun(reason) => format!("may have run: {reason}"),
    }
}

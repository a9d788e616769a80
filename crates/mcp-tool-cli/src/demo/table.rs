use std::io::{self, Write};

use super::row::{Got, Played};

const HEADINGS: [&str; 4] = ["what happened", "ran", "the caller got", "why"];

pub(super) fn print(rows: &[Played], out: &mut impl Write) -> io::Result<()> {
    let cells: Vec<[String; 4]> = rows.iter().map(cells).collect();
    let width = |column: usize| {
        let longest = cells.iter().map(|row| row[column].len()).max().unwrap_or(0);
        longest.max(HEADINGS[column].len())
    };
    let (happened, ran, got) = (width(0), width(1), width(2));
    let mut line = |[a, b, c, d]: [&str; 4]| writeln!(out, "{a:happened$}  {b:>ran$}  {c:got$}  {d}");
    line(HEADINGS)?;
    let rule = ["-".repeat(happened), "-".repeat(ran), "-".repeat(got), "-".repeat(width(3))];
    line(rule.each_ref().map(String::as_str))?;
    for row in &cells {
        line(row.each_ref().map(String::as_str))?;
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

use std::fmt::Write as _;

/// Lines of cells as text: every cell but the last of a line as wide as the widest of its column.
pub(crate) fn aligned<const N: usize>(text: &mut String, lines: &[[String; N]]) {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    for line in lines {
        let mut row = String::from("  ");
        for (cell, width) in line.iter().zip(widths) {
            let _ = write!(row, "{cell:width$}  ");
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
}

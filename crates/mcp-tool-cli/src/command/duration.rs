use std::time::Duration;

/// Reads `500ms`, `30s`, `2m`, `1h`: a whole number above zero and its unit.
pub(crate) fn parse(text: &str) -> Result<Duration, &'static str> {
    const FORM: &str = "a duration is a whole number above zero with its unit, such as 500ms, 30s, 2m or 1h";
    let unit = text.find(|char: char| !char.is_ascii_digit()).ok_or(FORM)?;
    let number: u64 = text[..unit].parse().map_err(|_| FORM)?;
    let millis = match &text[unit..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(FORM),
    };
    match number.checked_mul(millis) {
        Some(millis) if millis > 0 => Ok(Duration::from_millis(millis)),
        _ => Err(FORM),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_whole_number_with_its_unit() {
        let rows = [
            ("500ms", Some(500)),
            ("600s", Some(600_000)),
            ("2m", Some(120_000)),
            ("1h", Some(3_600_000)),
            ("0s", None),
            ("600", None),
            ("s", None),
            ("", None),
            ("-1s", None),
            ("1.5s", None),
            ("1s ", None),
            ("1d", None),
            ("18446744073709551615h", None),
            ("99999999999999999999s", None),
        ];
        for (text, millis) in rows {
            assert_eq!(parse(text).ok(), millis.map(Duration::from_millis), "{text}");
        }
    }
}

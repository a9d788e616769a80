use std::time::{Duration, SystemTime};

use crate::TransportError;

/// Adds what a response asks for by its `Retry-After` header (RFC 9110, section 10.2.3), if it does.
pub(super) fn with_retry_after(error: TransportError, header: Option<&str>) -> TransportError {
    match header.and_then(|value| pause(value, SystemTime::now())) {
        Some(pause) => error.with_retry_after(pause),
        None => error,
    }
}

/// Seconds, or how far away a date is. Nonsense asks for nothing, and a date in the past for no pause.
fn pause(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim_ascii();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number has: as long as anybody may ask for.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_understood_and_nonsense_is_not() {
        // 1994-11-06 08:49:37.
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (value, seconds) in [
            ("120", Some(120)),
            (" 7 ", Some(7)),
            ("0", Some(0)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30)),
            ("Sunday, 06-Nov-94 08:50:07 GMT", Some(30)),
            ("Sun Nov  6 08:50:07 1994", Some(30)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("soon", None),
            ("Sun, 06 Nov 1994", None),
        ] {
            assert_eq!(pause(value, now), seconds.map(Duration::from_secs), "{value:?}");
        }
    }

    #[test]
    fn nobody_asks_for_more_than_ten_minutes() {
        let told = |value| with_retry_after(TransportError::http_status(503), value).retry_after();
        assert_eq!(told(Some("600")), told(Some("601")));
        assert_eq!(told(Some("601")), Some(Duration::from_secs(600)));
        assert_eq!(told(Some("1")), Some(Duration::from_secs(1)));
        assert_eq!((told(Some("soon")), told(Some("0")), told(None)), (None, None, None));
    }
}

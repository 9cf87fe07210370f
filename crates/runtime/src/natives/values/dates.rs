//! Time zones, and dates by pattern. The calendar itself is Lua (`kernel/values/time.lua`).

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::{Offset, TimeZone};
use runnel_store::{Error, Kind, Result, Value};
use runnel_text::distance::nearest;
use std::time::UNIX_EPOCH;

pub(crate) const NATIVES: [(&str, Native); 5] = [
    ("zoneOffset", zone_offset),
    ("zoneMoment", zone_moment),
    ("formatDate", format_date),
    ("readDate", read_date),
    ("readHTTPDate", read_http_date),
];

/// Bytes of a pattern, of a text that it reads, and of a zone's name.
const LONGEST: usize = 256;

fn invalid(message: String) -> Error {
    Error::new(Kind::Invalid, message)
}

/// The zone of a name such as `Europe/Berlin`, or of an offset such as `+02:00`.
fn zone(name: &str) -> Result<TimeZone> {
    if name.len() > LONGEST {
        return Err(invalid(format!("the name of a time zone has at most {LONGEST} bytes")));
    }
    if let Some(offset) = fixed_offset(name) {
        return Ok(offset.to_time_zone());
    }
    let database = jiff::tz::db();
    database.get(name).map_err(|_| {
        let names: Vec<String> = database.available().map(|name| name.to_string()).collect();
        let near = nearest(name, names.iter().map(String::as_str))
            .map_or_else(String::new, |near| format!("; is '{near}' meant?"));
        invalid(format!("there is no time zone '{name}'{near}"))
    })
}

/// `+02:00`
fn fixed_offset(name: &str) -> Option<Offset> {
    let sign = match name.bytes().next()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = name.get(1..)?.split_once(':')?;
    let number = |text: &str| text.parse::<u8>().ok().filter(|_| text.len() == 2).map(i32::from);
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let seconds = (hours * 60 + minutes) * 60;
    Offset::from_seconds(sign * seconds).ok().filter(|_| hours < 24 && minutes < 60)
}

fn moment(seconds: f64, nanos: f64) -> Result<Timestamp> {
    Timestamp::new(seconds as i64, nanos as i32)
        .map_err(|_| Error::new(Kind::Invalid, "a Date lies in the years 0 to 9999"))
}

/// The calendar time in UTC of a number of seconds after 1970 began.
fn civil(seconds: f64, nanos: f64) -> Result<DateTime> {
    Ok(Offset::UTC.to_datetime(moment(seconds, nanos)?))
}

/// `(zone, seconds)`: the seconds that a zone is ahead of UTC at a moment.
fn zone_offset(_: &Isolate, arguments: Arguments) -> Reply {
    let zone = attempt!(zone(&arguments.text(1)));
    let moment = attempt!(moment(arguments.number(2), 0.0));
    Reply::Now(Given::Number(zone.to_offset(moment).seconds().into()))
}

/// The moment of a calendar time in a zone. Clocks that go forward skip times, and such a time is as much
/// later; of a time that comes twice it is the first.
fn in_zone(zone: &TimeZone, time: DateTime) -> Result<Timestamp> {
    let found = zone.to_ambiguous_timestamp(time).compatible();
    found.map_err(|_| Error::new(Kind::Invalid, "a Date lies in the years 0 to 9999"))
}

/// `(zone, seconds)`: the moment, in seconds, of a calendar time in a zone.
fn zone_moment(_: &Isolate, arguments: Arguments) -> Reply {
    let zone = attempt!(zone(&arguments.text(1)));
    let time = attempt!(civil(arguments.number(2), 0.0));
    Reply::Now(Given::Number(attempt!(in_zone(&zone, time)).as_second() as f64))
}

fn pattern(arguments: Arguments, at: std::os::raw::c_int) -> Result<String> {
    let pattern = arguments.text(at);
    match pattern.len() {
        ..=LONGEST => Ok(pattern),
        _ => Err(invalid(format!("the format of a date has at most {LONGEST} bytes"))),
    }
}

/// `(kind, pattern, seconds, nanoseconds, zone)`: text of a `moment`, a `day` or a `time`.
fn format_date(_: &Isolate, arguments: Arguments) -> Reply {
    let format = attempt!(pattern(arguments, 2));
    let (seconds, nanos) = (arguments.number(3), arguments.number(4));
    let time = attempt!(civil(seconds, nanos));
    let broken = match arguments.bytes(1) {
        b"day" => BrokenDownTime::from(time.date()),
        b"time" => BrokenDownTime::from(time.time()),
        _ => {
            let zone = attempt!(zone(&arguments.text(5)));
            let moment = attempt!(moment(seconds, nanos));
            BrokenDownTime::from(&moment.to_zoned(zone))
        }
    };
    match broken.to_string(&format) {
        Ok(text) => Reply::Now(Given::Text(text)),
        Err(error) => Reply::Failed(wrong_format(&format, &error)),
    }
}

fn wrong_format(format: &str, error: &jiff::Error) -> Error {
    let error = error.to_string();
    let why = error.strip_prefix("strftime formatting failed: ").unwrap_or(&error);
    invalid(format!("the date format '{format}': {why}"))
}

/// `(kind, pattern, text, zone)`: the seconds and nanoseconds that a text writes by a pattern, and the
/// name of the zone in it or nil; nil for a text that does not fit.
fn read_date(_: &Isolate, arguments: Arguments) -> Reply {
    let format = attempt!(pattern(arguments, 2));
    // Each part of a pattern fits what it writes: what fails then is the pattern.
    if let Err(error) =
        BrokenDownTime::from(&Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC)).to_string(&format)
    {
        return Reply::Failed(wrong_format(&format, &error));
    }
    let zone = attempt!(zone(&arguments.text(4)));
    let text = arguments.text(3);
    if text.len() > LONGEST {
        return Reply::Now(Given::Nil);
    }
    let Ok(broken) = BrokenDownTime::parse(&format, &text) else {
        return Reply::Now(Given::Nil);
    };
    let read = match arguments.bytes(1) {
        b"day" => broken.to_date().ok().map(|date| (date.to_datetime(Time::midnight()), None)),
        b"time" => broken.to_time().ok().map(|time| (time.to_datetime(epoch()), None)),
        _ => read_moment(&broken, &zone),
    };
    Reply::Now(match read {
        Some((time, name)) => given(time, name),
        None => Given::Nil,
    })
}

fn epoch() -> Date {
    Date::constant(1970, 1, 1)
}

/// The moment that was read, as a calendar time in UTC, with the name of its own zone.
fn read_moment(broken: &BrokenDownTime, zone: &TimeZone) -> Option<(DateTime, Option<String>)> {
    let utc = |moment: Timestamp| Offset::UTC.to_datetime(moment);
    if let Ok(zoned) = broken.to_zoned() {
        let name = broken.iana_time_zone().map(str::to_owned);
        return Some((utc(zoned.timestamp()), name));
    }
    if let Some(moment) = broken.timestamp() {
        return Some((utc(moment), None));
    }
    let date = broken.to_date().ok()?;
    let time = match broken.hour() {
        Some(_) => broken.to_time().ok()?,
        None => Time::midnight(),
    };
    let local = date.to_datetime(time);
    match broken.offset() {
        Some(offset) => offset.to_timestamp(local).ok().map(|moment| (utc(moment), None)),
        None => in_zone(zone, local).ok().map(|moment| (utc(moment), None)),
    }
}

fn given(time: DateTime, zone: Option<String>) -> Given {
    let Ok(moment) = Offset::UTC.to_timestamp(time) else { return Given::Nil };
    // Nanoseconds count from the second before, also before 1970.
    let nanos = moment.subsec_nanosecond();
    let seconds = moment.as_second() - i64::from(nanos < 0);
    let nanos = if nanos < 0 { nanos + 1_000_000_000 } else { nanos };
    Given::Value(Value::List(vec![
        Value::Int(seconds),
        Value::Int(nanos.into()),
        zone.map_or(Value::Nil, Value::Text),
    ]))
}

/// `(text)`: the seconds of a date of HTTP in any of its three forms (RFC 9110 section 5.6.7); nil for a
/// text that is none.
fn read_http_date(_: &Isolate, arguments: Arguments) -> Reply {
    let text = arguments.text(1);
    let parsed = httpdate::parse_http_date(&text).ok();
    let seconds = parsed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Reply::Now(seconds.map_or(Given::Nil, |time| Given::Number(time.as_secs() as f64)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> f64 {
        text.parse::<Timestamp>().unwrap().as_second() as f64
    }

    #[test]
    fn a_time_that_clocks_skip_is_later_and_one_that_comes_twice_is_the_first() {
        let berlin = zone("Europe/Berlin").unwrap();
        let at = |text: &str| in_zone(&berlin, text.parse().unwrap()).unwrap().to_string();
        assert_eq!(at("2026-03-29T02:30"), "2026-03-29T01:30:00Z");
        assert_eq!(at("2026-10-25T02:30"), "2026-10-25T00:30:00Z");
    }

    #[test]
    fn offsets_are_zones_and_unknown_names_are_errors() {
        let moment = moment(seconds("2026-11-21T10:00:00Z"), 0.0).unwrap();
        assert_eq!(zone("+05:30").unwrap().to_offset(moment).seconds(), 19_800);
        assert_eq!(zone("-08:00").unwrap().to_offset(moment).seconds(), -28_800);
        for name in ["+25:00", "+5:30", "+", "Europe/Berln", "", "../etc/passwd"] {
            assert!(zone(name).is_err(), "{name}");
        }
        let message = zone("Europe/Berln").unwrap_err().message;
        assert_eq!(message, "there is no time zone 'Europe/Berln'; is 'Europe/Berlin' meant?");
    }
}

//! Which encodings of content a reader takes (`Accept-Encoding`, RFC 9110 section 12.5.3).

/// How much a reader wants an encoding such as `gzip`, from 0 (not at all) to 1000. `accepted` is
/// the whole field; where it says nothing about the encoding, its `*` counts, and without that only
/// `identity` is taken, and least of all.
pub fn coding_quality(accepted: &str, coding: &str) -> u16 {
    let (mut others, mut known) = (None, None);
    for element in accepted.split(',') {
        let mut parts = element.split(';');
        let name = parts.next().unwrap_or_default().trim();
        let same = name.eq_ignore_ascii_case(coding)
            || coding == "gzip" && name.eq_ignore_ascii_case("x-gzip");
        if same {
            known = Some(parts.find_map(quality).unwrap_or(1000));
        } else if name == "*" {
            others = Some(parts.find_map(quality).unwrap_or(1000));
        }
    }
    known.or(others).unwrap_or(u16::from(coding == "identity"))
}

/// The number of a `q=…` parameter, in thousandths. Malformed parameters count as 0.
fn quality(parameter: &str) -> Option<u16> {
    let (name, value) = parameter.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("q") {
        return None;
    }
    let value: f32 = value.trim().parse().unwrap_or_default();
    Some(if (0.0..=1.0).contains(&value) { (value * 1000.0) as u16 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualities() {
        for (accepted, coding, quality) in [
            ("gzip", "gzip", 1000),
            ("x-gzip", "gzip", 1000),
            ("GZIP;Q=0.5", "gzip", 500),
            ("br, gzip;q=0.25, *;q=0", "gzip", 250),
            ("br, gzip;q=0.25, *;q=0", "zstd", 0),
            ("br, gzip;q=0.25, *;q=0", "identity", 0),
            ("*", "br", 1000),
            ("gzip;q=0", "gzip", 0),
            ("gzip;q=rubbish", "gzip", 0),
            ("gzip;q=-1", "gzip", 0),
            ("gzip;q=NaN", "gzip", 0),
            ("", "gzip", 0),
            ("", "identity", 1),
            ("identity;q=0.5, gzip;q=0.4", "identity", 500),
            (",;q=,=,gzip", "gzip", 1000),
        ] {
            assert_eq!(coding_quality(accepted, coding), quality, "{accepted} {coding}");
        }
    }
}

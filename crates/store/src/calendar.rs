//! Days and dates of the proleptic Gregorian calendar: years counted from March, in eras of 400
//! years (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").

/// Days from the first of March of the year 0 to 1970-01-01.
const BEFORE_1970: i64 = 719_468;
/// Days of 400 years.
const ERA: i64 = 146_097;

/// The year, month and day that lie so many days after 1970-01-01, at most 10^15 to either side.
pub fn date_of_day(days: i64) -> (i64, i64, i64) {
    let shifted = days + BEFORE_1970;
    let (era, day_of_era) = (shifted.div_euclid(ERA), shifted.rem_euclid(ERA));
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * from_march + 2) / 5 + 1)
}

/// How many days a date lies after 1970-01-01. Years at most 10^12 to either side, months from 1 to
/// 12; a day beyond the end of its month is one of the next.
pub fn day_of_date(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * ERA + day_of_era - BEFORE_1970
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_each_others_inverse() {
        for (day, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
            (-719_468, (0, 3, 1)),
        ] {
            assert_eq!(date_of_day(day), date);
        }
        for day in (-1_000_000..3_000_000).step_by(13) {
            let (year, month, of_month) = date_of_day(day);
            assert_eq!(day_of_date(year, month, of_month), day);
        }
    }
}

//! The functions that SQLite lacks for expressions of a query: upper and lower case beyond ASCII, and exact
//! arithmetic of decimals, which are stored as text.

use crate::database::expression::functions;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Result};

/// Digits up to which SQLite computes with decimals; a longer result is an error.
pub const DECIMAL_DIGITS: u32 = 38;

type DecimalOperation = fn(ExactDecimal, ExactDecimal) -> Option<ExactDecimal>;

/// Makes the functions known to a connection.
pub(crate) fn install(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function(functions::LOWER, 1, flags, |context| {
        Ok(text(context).map(|text| text.to_lowercase()))
    })?;
    connection.create_scalar_function(functions::UPPER, 1, flags, |context| {
        Ok(text(context).map(|text| text.to_uppercase()))
    })?;
    let operations: [(_, DecimalOperation); 3] = [
        (functions::ADD, ExactDecimal::add),
        (functions::SUBTRACT, |left, right| {
            left.add(ExactDecimal { units: right.units.checked_neg()?, ..right })
        }),
        (functions::MULTIPLY, ExactDecimal::multiply),
    ];
    for (name, operation) in operations {
        connection.create_scalar_function(name, 2, flags, move |context| {
            let (left, right) =
                (ExactDecimal::argument(context, 0)?, ExactDecimal::argument(context, 1)?);
            let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
            operation(left, right).map(|result| Some(result.text())).ok_or_else(too_long)
        })?;
    }
    connection.create_aggregate_function(functions::SUM, 1, flags, DecimalSum)
}

fn text<'a>(context: &'a Context<'_>) -> Option<&'a str> {
    match context.get_raw(0) {
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

fn too_long() -> Error {
    let message =
        format!("a decimal of more than {DECIMAL_DIGITS} digits is computed in the program alone");
    Error::UserFunctionError(message.into())
}

/// A decimal number: whole units of its last digit.
#[derive(Clone, Copy)]
struct ExactDecimal {
    units: i128,
    scale: u32,
}

impl ExactDecimal {
    const ZERO: ExactDecimal = ExactDecimal { units: 0, scale: 0 };

    /// The argument of a function; nothing for nil and for what is no number.
    fn argument(context: &Context<'_>, at: usize) -> Result<Option<Self>> {
        match context.get_raw(at) {
            ValueRef::Integer(number) => Ok(Some(ExactDecimal { units: number.into(), scale: 0 })),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) if crate::postgres::value::decimal::is_decimal(text) => {
                    ExactDecimal::parse(text).map(Some).ok_or_else(too_long)
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let units = format!("{whole}{fraction}").parse().ok()?;
        Some(ExactDecimal { units, scale: u32::try_from(fraction.len()).ok()? })
    }

    fn scaled(self, scale: u32) -> Option<i128> {
        self.units.checked_mul(10_i128.checked_pow(scale - self.scale)?)
    }

    fn add(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        let units = self.scaled(scale)?.checked_add(other.scaled(scale)?)?;
        Some(ExactDecimal { units, scale })
    }

    fn multiply(self, other: Self) -> Option<Self> {
        let units = self.units.checked_mul(other.units)?;
        Some(ExactDecimal { units, scale: self.scale.checked_add(other.scale)? })
    }

    fn text(self) -> String {
        let (digits, scale) = (self.units.unsigned_abs().to_string(), self.scale as usize);
        let digits = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let sign = if self.units < 0 { "-" } else { "" };
        let point = if scale == 0 { "" } else { "." };
        format!("{sign}{whole}{point}{fraction}")
    }
}

/// The exact sum of decimals.
struct DecimalSum;

impl Aggregate<ExactDecimal, String> for DecimalSum {
    fn init(&self, _: &mut Context<'_>) -> Result<ExactDecimal> {
        Ok(ExactDecimal::ZERO)
    }

    fn step(&self, context: &mut Context<'_>, sum: &mut ExactDecimal) -> Result<()> {
        if let Some(value) = ExactDecimal::argument(context, 0)? {
            *sum = sum.add(value).ok_or_else(too_long)?;
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, sum: Option<ExactDecimal>) -> Result<String> {
        Ok(sum.unwrap_or(ExactDecimal::ZERO).text())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn answer(sql: &str) -> Result<Option<String>> {
        let connection = Connection::open_in_memory().unwrap();
        install(&connection).unwrap();
        connection.query_row(sql, [], |row| row.get(0))
    }

    #[test]
    fn decimals_are_computed_exactly() {
        for (sql, expected) in [
            ("runnel_decimal_add('0.1', '0.20')", "0.30"),
            ("runnel_decimal_subtract('1', '0.05')", "0.95"),
            ("runnel_decimal_subtract(0, '0.05')", "-0.05"),
            ("runnel_decimal_multiply('-1.10', 3)", "-3.30"),
            ("runnel_decimal_add('+12345678901234567890.5', '0.5')", "12345678901234567891.0"),
            ("runnel_upper('straße é')", "STRASSE É"),
            ("runnel_lower('ÉA')", "éa"),
        ] {
            assert_eq!(answer(&format!("SELECT {sql}")).unwrap().unwrap(), expected, "{sql}");
        }
        let sum = "SELECT runnel_decimal_sum(column1) FROM (VALUES ('0.1'), (NULL), ('2.25'))";
        assert_eq!(answer(sum).unwrap().unwrap(), "2.35");
        assert_eq!(answer("SELECT runnel_decimal_add(NULL, '1')").unwrap(), None);
        let nines = "9".repeat(38);
        assert!(answer(&format!("SELECT runnel_decimal_multiply('{nines}', 10)")).is_err());
    }
}

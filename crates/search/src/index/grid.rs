//! Proximity search on numbers: a grid of cells holds the values, and a query reads one cell.
//!
//! With a range r and a precision p the cells are r / (p + 0.5) wide. A value is in its own cell
//! and in p cells to either side, so that one cell has the values within about r.

use crate::limits::MAX_GRID_PRECISION;

/// Kilometres to degrees of latitude.
const LATITUDE_PER_KM: f64 = 0.008_983_12;

/// Kilometres to degrees of longitude, at 60 degrees of latitude. It applies everywhere, so that
/// the area is a rectangle that is too narrow near the poles and too wide at the equator.
const LONGITUDE_PER_KM: f64 = 0.017_966_24;

/// The cells of a category whose values are numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    anchor: f64,
    width: f64,
    precision: u32,
}

impl Grid {
    /// Cells that find values within about `range` of a number; the range is positive.
    ///
    /// `precision`, at least 1, subdivides the cells: a higher one gives more exact results and a
    /// larger index. Cells are counted from `anchor`.
    pub fn new(range: f64, precision: u32, anchor: f64) -> Grid {
        let precision = precision.clamp(1, MAX_GRID_PRECISION);
        let range = if range.is_finite() { range.abs().max(f64::MIN_POSITIVE) } else { 1.0 };
        let width = range / (f64::from(precision) + 0.5);
        Grid { anchor: anchor - range - width, width, precision }
    }

    /// Cells of degrees of latitude that find places within about `km` kilometres.
    pub fn latitude(km: f64, precision: u32) -> Grid {
        Grid::new(km * LATITUDE_PER_KM, precision, 0.0)
    }

    /// Cells of degrees of longitude that find places within about `km` kilometres.
    pub fn longitude(km: f64, precision: u32) -> Grid {
        Grid::new(km * LONGITUDE_PER_KM, precision, 0.0)
    }

    /// The cell of a value, which is also the cell that a query reads.
    pub(crate) fn cell(&self, value: f64) -> i64 {
        ((value - self.anchor) / self.width).floor() as i64
    }

    /// The cells that hold a value.
    pub(crate) fn cells(&self, value: f64) -> std::ops::RangeInclusive<i64> {
        let cell = self.cell(value);
        let precision = i64::from(self.precision);
        cell.saturating_sub(precision)..=cell.saturating_add(precision)
    }
}

#[cfg(test)]
mod tests {
    use super::Grid;

    #[test]
    fn values_are_found_from_cells_nearby() {
        let grid = Grid::new(2.0, 1, 0.0);
        assert!(grid.cells(0.0).contains(&grid.cell(1.5)));
        assert!(!grid.cells(0.0).contains(&grid.cell(5.0)));
        assert_eq!(grid.cells(0.0).count(), 3);
    }

    #[test]
    fn strange_numbers_still_have_cells() {
        for range in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let grid = Grid::new(range, 0, 0.0);
            assert!(grid.cells(f64::MAX).contains(&grid.cell(f64::MAX)));
        }
    }
}

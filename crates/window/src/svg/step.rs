//! The steps that a drawing consists of.

/// A step of a pen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Move([f64; 2]),
    Line([f64; 2]),
    Curve([[f64; 2]; 3]),
    /// Centre, radius, and two angles.
    Arc([f64; 2], f64, [f64; 2]),
    Close,
    /// Fills the path: red, green, blue, opacity.
    Fill([f64; 4]),
    /// Draws the path with a width.
    Stroke([f64; 4], f64),
    /// Begins a new path.
    Clear,
    /// A text in a size and colour; the share of its width that stands before the point.
    Text(String, [f64; 2], f64, [f64; 4], f64),
    Save,
    Restore,
    Translate([f64; 2]),
    Scale([f64; 2]),
    Rotate(f64),
}

//! Drawings: a small part of SVG as steps of a pen.
//!
//! Read: `svg`, `g`, `line`, `rect`, `circle`, `ellipse`, `polyline`, `polygon`, `path` (arcs become
//! lines), `text`; `fill`, `stroke`, `stroke-width`, `opacity`, `font-size`, `text-anchor`,
//! `transform` (translate, scale, rotate), also in `style`. Everything else is left out.

mod markup;
mod paint;
mod path;
mod step;

pub(crate) use paint::draw;
pub(crate) use step::Step;

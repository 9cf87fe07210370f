//! Element literals: writes of markup, checks of tags and attributes, classes of elements.

pub(crate) mod attribute;
pub(crate) mod check;
pub(crate) mod class;
pub(crate) mod element;
pub(crate) mod html;
pub(crate) mod live;

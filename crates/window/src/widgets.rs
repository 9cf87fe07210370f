//! The kinds of widgets, one file for each group. An unknown kind becomes a label with an
//! error.

mod choices;
mod containers;
mod fields;
mod labels;
mod menus;
mod pictures;
mod ranges;
mod table;

use crate::session::Made;
use serde_json::Value;

/// Styles of our own: widgets with a frame are as small as their frame.
pub(crate) const STYLES: &str = "
entry.placed, button.placed { min-height: 0; padding-top: 1px; padding-bottom: 1px; }
.content { padding: 12px; }
";

/// The objects of a kind.
pub(crate) fn make(kind: &str, node: &Value) -> Made {
    match kind {
        "Window" => containers::window(node),
        "VStack" | "HStack" | "View" => containers::stack(node, kind == "HStack"),
        "Grid" => containers::grid(),
        "Scroll" => containers::scroll(),
        "TextField" | "NumberField" => fields::field(kind == "NumberField"),
        "TextView" => fields::text_view(),
        "Label" => labels::label(),
        "Button" => choices::button(),
        "Checkbox" => choices::checkbox(),
        "PopUp" => choices::pop_up(),
        "Slider" => ranges::slider(),
        "Progress" => ranges::progress(),
        "Image" => pictures::image(),
        "Canvas" => pictures::canvas(),
        "Table" => table::table(),
        unknown => labels::complaint(&format!("This window cannot show a {unknown}.")),
    }
}

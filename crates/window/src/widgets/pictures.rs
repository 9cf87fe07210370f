//! `Image`: a picture. `Canvas`: a drawing, and where it is clicked.

use crate::gtk::{self, Object, PropertyValue, Steps};
use crate::json::{of_number, shown};
use crate::session::{Behaviour, Made, Session, Widget};
use crate::svg;
use serde_json::Value;
use std::cell::Cell;
use std::rc::Rc;

/// `GTK_ACCESSIBLE_ROLE_IMG`.
const IMAGE_ROLE: i32 = 20;

/// A surface with a drawing.
struct Surface {
    area: Object,
    steps: Steps,
    tells_moves: Cell<bool>,
}

impl Surface {
    fn new() -> Surface {
        let area = Object::new(
            "GtkDrawingArea",
            &[
                ("hexpand", true.into()),
                ("vexpand", true.into()),
                ("accessible-role", IMAGE_ROLE.into()),
            ],
        );
        let steps = Steps::default();
        gtk::show_steps(&area, &steps);
        Surface { area, steps, tells_moves: Cell::new(true) }
    }

    fn draw(&self, text: &str) {
        let drawing = svg::draw(text);
        for (property, size) in ["content-width", "content-height"].iter().zip(drawing.size) {
            if let Some(size) = size {
                self.area.set(property, size.clamp(0.0, 32_767.0) as i32);
            }
        }
        self.steps.replace(drawing.steps);
        gtk::queue_draw(&self.area);
    }
}

pub(super) fn canvas() -> Made {
    let surface = Surface::new();
    Made { outer: surface.area.clone(), inner: surface.area.clone(), behaviour: Rc::new(surface) }
}

/// A place on the canvas, from its top left, with a button where one was pressed.
fn point(x: &PropertyValue, y: &PropertyValue, button: Option<u32>) -> Value {
    let place = [x, y].map(|one| of_number((one.double() * 10.0).round() / 10.0));
    Value::Array(place.into_iter().chain(button.map(Value::from)).collect())
}

impl Behaviour for Surface {
    fn connect(self: Rc<Self>, session: &Rc<Session>, widget: &Rc<Widget>) {
        let any_button = 0_u32;
        for (signal, event) in [("pressed", "point"), ("released", "release")] {
            let click = Object::new("GtkGestureClick", &[("button", any_button.into())]);
            let (outbox, id) = (session.outbox.clone(), widget.id);
            let weak = click.downgrade();
            click.connect(signal, move |arguments| {
                if let (Some(click), [_, x, y, ..]) = (weak.upgrade(), arguments) {
                    outbox.tell(id, event, point(x, y, Some(gtk::button_of(&click))));
                }
                PropertyValue::Nothing
            });
            gtk::add_controller(&self.area, &click);
        }
        let motion = Object::new("GtkEventControllerMotion", &[]);
        let (outbox, id, surface) = (session.outbox.clone(), widget.id, Rc::downgrade(&self));
        motion.connect("motion", move |arguments| {
            let tells = surface.upgrade().is_some_and(|surface| surface.tells_moves.get());
            if let ([x, y, ..], true) = (arguments, tells) {
                outbox.tell(id, "move", point(x, y, None));
            }
            PropertyValue::Nothing
        });
        gtk::add_controller(&self.area, &motion);
    }

    fn apply(&self, _: &Rc<Session>, _: &Rc<Widget>, property: &str, value: &Value) {
        match property {
            "svg" => self.draw(&shown(value)),
            "moves" => self.tells_moves.set(value != false),
            _ => {}
        }
    }
}

/// A picture of pixels, or a drawing in the same place.
struct Image {
    pixels: Object,
    surface: Surface,
}

pub(super) fn image() -> Made {
    let pixels = Object::new("GtkPicture", &[]);
    let surface = Surface::new();
    surface.area.set("visible", false);
    let outer = Object::new("GtkBox", &[]);
    gtk::place_in_box(&outer, &pixels, None, true);
    gtk::place_in_box(&outer, &surface.area, Some(&pixels), true);
    let inner = pixels.clone();
    Made { outer, inner, behaviour: Rc::new(Image { pixels, surface }) }
}

impl Behaviour for Image {
    fn connect(self: Rc<Self>, _: &Rc<Session>, _: &Rc<Widget>) {}

    fn apply(&self, _: &Rc<Session>, _: &Rc<Widget>, property: &str, value: &Value) {
        match property {
            "data" => {
                let bytes = from_base64(value.as_str().unwrap_or_default());
                let drawing = String::from_utf8(bytes.clone()).ok();
                let drawing = drawing.filter(|text| text.contains("<svg"));
                self.surface.area.set("visible", drawing.is_some());
                self.pixels.set("visible", drawing.is_none());
                match drawing {
                    Some(text) => self.surface.draw(&text),
                    None => match gtk::picture(&bytes) {
                        Some(picture) => self.pixels.set("paintable", &picture),
                        None => self.pixels.set("paintable", PropertyValue::Nothing),
                    },
                }
            }
            "label" => gtk::set_accessible_name(&self.surface.area, &shown(value)),
            _ => {}
        }
    }
}

/// The bytes of a text in base 64 (RFC 4648); other characters are left out.
fn from_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_of_any_length() {
        assert_eq!(from_base64("aGk="), b"hi");
        assert_eq!(from_base64("aGV5"), b"hey");
        assert_eq!(from_base64("aGV5IQ=="), b"hey!");
        assert_eq!(from_base64("=?"), b"");
    }
}

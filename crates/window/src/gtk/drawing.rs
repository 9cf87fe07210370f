//! Surfaces that are drawn with cairo, which GTK brings along.
#![allow(unsafe_code)]

use super::library::{Library, Pointer, library};
use super::object::Object;
use super::property_value::c_text;
use crate::svg::Step;
use std::cell::RefCell;
use std::ffi::{c_double, c_int};
use std::rc::Rc;

/// What a surface shows.
pub(crate) type Steps = Rc<RefCell<Vec<Step>>>;

/// Has a `GtkDrawingArea` show steps, whatever they are when it is drawn.
pub(crate) fn show_steps(area: &Object, steps: &Steps) {
    if !area.is("GtkDrawingArea") {
        return;
    }
    let data: *mut Steps = Box::into_raw(Box::new(steps.clone()));
    // SAFETY: the area owns the steps and frees them with `forget`.
    unsafe {
        (library().gtk_drawing_area_set_draw_func)(area.raw(), draw, data.cast(), forget);
    }
}

extern "C" fn forget(data: Pointer) {
    // SAFETY: `show_steps` made it, and the area does not use it again.
    drop(unsafe { Box::from_raw(data.cast::<Steps>()) });
}

extern "C" fn draw(_: Pointer, surface: Pointer, _: c_int, _: c_int, data: Pointer) {
    // SAFETY: the area calls it with its own steps and a surface that lives during the call.
    unsafe {
        let steps = &*data.cast::<Steps>();
        for step in steps.borrow().iter() {
            run(library(), surface, step);
        }
    }
}

/// # Safety
/// `surface` is a context of cairo. Every save has its restore.
unsafe fn run(cairo: &Library, surface: Pointer, step: &Step) {
    // SAFETY: numbers that make no sense leave the context in an error, which draws nothing.
    unsafe {
        match step {
            Step::Move([x, y]) => (cairo.cairo_move_to)(surface, *x, *y),
            Step::Line([x, y]) => (cairo.cairo_line_to)(surface, *x, *y),
            Step::Curve([[a, b], [c, d], [e, f]]) => {
                (cairo.cairo_curve_to)(surface, *a, *b, *c, *d, *e, *f);
            }
            Step::Arc([x, y], radius, [from, to]) => {
                (cairo.cairo_arc)(surface, *x, *y, *radius, *from, *to);
            }
            Step::Close => (cairo.cairo_close_path)(surface),
            Step::Clear => (cairo.cairo_new_path)(surface),
            Step::Fill(colour) => {
                set_colour(cairo, surface, *colour);
                (cairo.cairo_fill_preserve)(surface);
            }
            Step::Stroke(colour, width) => {
                set_colour(cairo, surface, *colour);
                (cairo.cairo_set_line_width)(surface, *width);
                (cairo.cairo_stroke_preserve)(surface);
            }
            Step::Save => (cairo.cairo_save)(surface),
            Step::Restore => (cairo.cairo_restore)(surface),
            Step::Translate([x, y]) => (cairo.cairo_translate)(surface, *x, *y),
            Step::Scale([x, y]) => (cairo.cairo_scale)(surface, *x, *y),
            Step::Rotate(angle) => (cairo.cairo_rotate)(surface, *angle),
            Step::Text(text, [x, y], size, colour, before) => {
                let text = c_text(text);
                (cairo.cairo_set_font_size)(surface, *size);
                // Bearings, width, height, advances.
                let mut extents: [c_double; 6] = [0.0; 6];
                (cairo.cairo_text_extents)(surface, text.as_ptr(), &raw mut extents);
                (cairo.cairo_move_to)(surface, x - extents[4] * before, *y);
                set_colour(cairo, surface, *colour);
                (cairo.cairo_show_text)(surface, text.as_ptr());
            }
        }
    }
}

/// # Safety
/// As for [`run`].
unsafe fn set_colour(cairo: &Library, surface: Pointer, [red, green, blue, opacity]: [f64; 4]) {
    // SAFETY: the caller's.
    unsafe { (cairo.cairo_set_source_rgba)(surface, red, green, blue, opacity) };
}

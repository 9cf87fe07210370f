//! Numbers between two ends: `Slider`, `Progress`.

use crate::gtk::main_loop::{self, DelayedTask};
use crate::gtk::{Object, PropertyValue};
use crate::json::{number, of_number};
use crate::session::{Behaviour, Made, Session, Widget};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// How long a slider rests until its value is committed.
const REST: Duration = Duration::from_millis(150);

struct Slider {
    adjustment: Object,
    /// The step between two values; 0 for none.
    step: Cell<f64>,
    /// The task that commits the value.
    resting: RefCell<Option<DelayedTask>>,
}

pub(super) fn slider() -> Made {
    let adjustment = Object::new("GtkAdjustment", &[("upper", 100.0.into())]);
    let outer = Object::new(
        "GtkScale",
        &[
            ("adjustment", (&adjustment).into()),
            ("hexpand", true.into()),
            ("draw-value", false.into()),
            ("digits", (-1).into()),
        ],
    );
    let behaviour =
        Rc::new(Slider { adjustment, step: Cell::default(), resting: RefCell::default() });
    Made { inner: outer.clone(), outer, behaviour }
}

impl Slider {
    fn get(&self, property: &str) -> f64 {
        self.adjustment.get(property).double()
    }

    /// The value: a whole number of steps, or to a thousandth of the range.
    fn value(&self) -> f64 {
        let step = self.step.get();
        if step > 0.0 {
            let least = self.get("lower");
            return least + ((self.get("value") - least) / step).round() * step;
        }
        let range = (self.get("upper") - self.get("lower")).abs().max(1e-9);
        let scale = 10_f64.powf((3.0 - range.log10().ceil()).clamp(0.0, 12.0));
        (self.get("value") * scale).round() / scale
    }

    /// How far a key moves it.
    fn set_steps(&self) {
        let range = self.get("upper") - self.get("lower");
        let step = if self.step.get() > 0.0 { self.step.get() } else { range / 100.0 };
        self.adjustment.set("step-increment", step);
        self.adjustment.set("page-increment", (range / 10.0).max(step));
    }

    /// While it moves, each place is an input; once it rests, the last one is an action.
    fn moved(self: &Rc<Self>, session: &Rc<Session>, widget: &Rc<Widget>) {
        session.tell(widget, "input", of_number(self.value()));
        if let Some(task) = self.resting.take() {
            task.cancel();
        }
        let (slider, session, widget) = (self.clone(), session.clone(), widget.clone());
        let task = main_loop::after(REST, move || {
            slider.resting.take();
            session.tell(&widget, "action", of_number(slider.value()));
        });
        self.resting.replace(Some(task));
    }
}

impl Behaviour for Slider {
    fn connect(self: Rc<Self>, session: &Rc<Session>, widget: &Rc<Widget>) {
        let (session, weak, slider) =
            (session.clone(), Rc::downgrade(widget), Rc::downgrade(&self));
        self.adjustment.connect("value-changed", move |_| {
            if let (Some(slider), Some(widget)) = (slider.upgrade(), weak.upgrade())
                && !widget.is_quiet()
            {
                slider.moved(&session, &widget);
            }
            PropertyValue::Nothing
        });
    }

    fn apply(&self, _: &Rc<Session>, widget: &Rc<Widget>, property: &str, value: &Value) {
        let Some(to) = number(value) else { return };
        match property {
            // While the user moves it, the program does not.
            "value" if self.resting.borrow().is_none() => {
                widget.quietly(|| self.adjustment.set("value", to));
            }
            "min" | "max" => widget.quietly(|| {
                self.adjustment.set(if property == "min" { "lower" } else { "upper" }, to);
                self.set_steps();
            }),
            "step" => {
                self.step.set(to.max(0.0));
                self.set_steps();
            }
            _ => {}
        }
    }
}

struct Progress {
    value: Cell<f64>,
    max: Cell<f64>,
}

pub(super) fn progress() -> Made {
    /// `GTK_ALIGN_CENTER`.
    const CENTER: i32 = 3;
    let outer =
        Object::new("GtkProgressBar", &[("hexpand", true.into()), ("valign", CENTER.into())]);
    let behaviour = Rc::new(Progress { value: Cell::new(0.0), max: Cell::new(1.0) });
    Made { inner: outer.clone(), outer, behaviour }
}

impl Behaviour for Progress {
    fn connect(self: Rc<Self>, _: &Rc<Session>, _: &Rc<Widget>) {}

    fn apply(&self, _: &Rc<Session>, widget: &Rc<Widget>, property: &str, value: &Value) {
        match property {
            "value" => self.value.set(number(value).unwrap_or(0.0)),
            "max" => self.max.set(number(value).unwrap_or(1.0)),
            _ => return,
        }
        let part = if self.max.get() > 0.0 { self.value.get() / self.max.get() } else { 0.0 };
        widget.inner.set("fraction", part.clamp(0.0, 1.0));
    }
}

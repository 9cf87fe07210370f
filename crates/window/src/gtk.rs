//! GTK 4, opened at run time. All `unsafe` of the host is in this room; outside of it, objects are
//! made by class name and changed by the names of properties and signals.

mod calls;
mod drawing;
mod library;
pub(crate) mod main_loop;
mod menus;
mod object;
mod properties;
mod property_value;
mod rows;
mod start;

pub(crate) use calls::*;
pub(crate) use drawing::{Steps, show_steps};
pub(crate) use menus::{MenuActions, MenuModel};
pub(crate) use object::{Object, WeakObject};
pub(crate) use property_value::PropertyValue;
pub(crate) use rows::RowModel;
pub(crate) use start::{Missing, start, take_channel};

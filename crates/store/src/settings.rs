//! Options of combinators, servers, databases and clients: one row defines the name, type, bounds,
//! default and help of each. Classes of the language, error messages, completion and the checks of
//! the manual read the rows.
//!
//! A row is a [`Setting`] of the struct that it fills; a [`SettingTable`] holds the rows:
//!
//! ```
//! use runnel_store::{Setting, SettingTable, Value};
//!
//! #[derive(Default)]
//! struct Oven { temperature: u32, fan: bool }
//!
//! const OVEN: SettingTable<Oven> = SettingTable(&[
//!     Setting::new("temperature", "degrees", |oven: &mut Oven| &mut oven.temperature).range(20.0, 300.0),
//!     Setting::new("fan", "whether the fan runs", |oven: &mut Oven| &mut oven.fan).was(&["blower"]),
//! ]);
//!
//! let asked = Value::record([("temperature", Value::Int(500))]);
//! let error = OVEN.read("an oven", &asked).map(|_| ()).unwrap_err();
//! assert_eq!(
//!     error.message,
//!     "`temperature` of an oven must be a whole number from 20 to 300, not 500"
//! );
//! ```

pub(crate) mod setting;
pub(crate) mod value;

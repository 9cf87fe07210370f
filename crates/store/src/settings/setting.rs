//! Rows of options, and reading a record by them.

use crate::settings::value::{
    Bounds, ByteCount, SettingKind, SettingValue, Wanted, assign_size, missing_unit, shown_bounds,
};
use crate::{Error, Kind, Result, Value};
use runnel_text::distance::nearest;
use runnel_text::size;

/// Reads a value into the struct, where a type and bounds do not say enough.
type Reader<T> = fn(&mut T, &Value) -> std::result::Result<(), Wanted>;

/// One option of a `T`.
pub struct Setting<T: 'static> {
    /// The name in programs.
    pub name: &'static str,
    /// Names that it had before, which are refused with the new one.
    pub former: &'static [&'static str],
    /// What it does, in one line.
    pub help: &'static str,
    target: Target<T>,
    bounds: Bounds,
    is_secret: bool,
}

enum Target<T: 'static> {
    /// A field, whose type says how it is read.
    Field(fn(&mut T) -> &mut dyn SettingValue),
    /// A number of bytes, which programs write with its unit.
    Size(fn(&mut T) -> &mut dyn ByteCount),
    Custom(SettingKind, Reader<T>),
    /// Not part of the struct: the language passes it on in its own way.
    Apart(SettingKind),
}

impl<T> Setting<T> {
    /// An option that is read into a field by the field's type.
    pub const fn new(
        name: &'static str,
        help: &'static str,
        field: fn(&mut T) -> &mut dyn SettingValue,
    ) -> Self {
        Setting {
            name,
            former: &[],
            help,
            target: Target::Field(field),
            bounds: None,
            is_secret: false,
        }
    }

    /// A number of bytes, which programs write as a size: `5 megabytes` or `'5M'`.
    pub const fn size(
        name: &'static str,
        help: &'static str,
        field: fn(&mut T) -> &mut dyn ByteCount,
    ) -> Self {
        Setting {
            name,
            former: &[],
            help,
            target: Target::Size(field),
            bounds: None,
            is_secret: false,
        }
    }

    /// An option with a custom reader.
    pub const fn custom(
        name: &'static str,
        help: &'static str,
        kind: SettingKind,
        read: Reader<T>,
    ) -> Self {
        Setting {
            name,
            former: &[],
            help,
            target: Target::Custom(kind, read),
            bounds: None,
            is_secret: false,
        }
    }

    /// An option that is not part of the struct: a store or a class.
    pub const fn apart(name: &'static str, help: &'static str, kind: SettingKind) -> Self {
        Setting {
            name,
            former: &[],
            help,
            target: Target::Apart(kind),
            bounds: None,
            is_secret: false,
        }
    }

    /// Bounds of a number, of a duration in seconds, or of a size in bytes, both included.
    pub const fn range(mut self, least: f64, most: f64) -> Self {
        self.bounds = Some((least, most));
        self
    }

    /// A secret, whose value no message shows.
    pub const fn secret(mut self) -> Self {
        self.is_secret = true;
        self
    }

    /// Names that the option had before.
    pub const fn was(mut self, former: &'static [&'static str]) -> Self {
        self.former = former;
        self
    }

    fn kind(&self, options: &mut T) -> SettingKind {
        match self.target {
            Target::Field(field) => field(options).kind(),
            Target::Size(_) => SettingKind::Size,
            Target::Custom(kind, _) | Target::Apart(kind) => kind,
        }
    }

    fn set(&self, options: &mut T, value: &Value) -> std::result::Result<(), Wanted> {
        match self.target {
            Target::Field(field) => field(options).assign(value, self.bounds),
            Target::Size(field) => assign_size(field(options), value, self.bounds),
            Target::Custom(_, read) => read(options, value),
            Target::Apart(_) => Ok(()),
        }
    }
}

/// An option as the language, the prompt and the manual see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingInfo {
    /// The name in programs.
    pub name: &'static str,
    /// Names that it had before.
    pub former: &'static [&'static str],
    /// What it does, in one line.
    pub help: &'static str,
    /// What a program writes for it.
    pub kind: SettingKind,
    /// The default as the manual writes it; `None` where the option's own reader decides.
    pub default: Option<String>,
    /// The bounds of a number, a duration or a size as the manual writes them.
    pub limit: Option<String>,
    /// Whether no message may show its value.
    pub is_secret: bool,
}

/// A table of options whatever the struct is that they fill.
pub trait SettingList {
    /// The options in the order of the table.
    fn infos(&self) -> Vec<SettingInfo>;

    /// Checks one option alone.
    ///
    /// # Errors
    /// What the value must be. An option that the table lacks is not an error here.
    fn check(&self, name: &str, value: &Value) -> std::result::Result<(), Wanted>;
}

/// The options of a `T`.
pub struct SettingTable<T: 'static>(pub &'static [Setting<T>]);

impl<T: Default> SettingTable<T> {
    /// Sets one option. `None` where the table lacks the name.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: what the value must be.
    pub fn set(
        &self,
        options: &mut T,
        subject: &str,
        name: &str,
        value: &Value,
    ) -> Option<Result<()>> {
        let setting = self.0.iter().find(|setting| setting.name == name)?;
        if let Some(message) = missing_unit(setting.kind(options), name, value) {
            return Some(Err(Error::new(Kind::Invalid, message)));
        }
        Some(setting.set(options, value).map_err(|wanted| {
            let given = match setting.is_secret {
                true => String::new(),
                false => format!(", not {}", described(value)),
            };
            let message = format!("`{name}` of {subject} must be {wanted}{given}");
            Error::new(Kind::Invalid, message)
        }))
    }

    /// Reads a record of options; absent options keep their defaults. A value that is not a record
    /// has no options.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: an unknown option, or the requirement that a value violates.
    pub fn read(&self, subject: &str, record: &Value) -> Result<T> {
        let mut options = T::default();
        for (name, value) in record.as_record().unwrap_or_default() {
            self.set(&mut options, subject, name, value)
                .unwrap_or_else(|| Err(unknown_setting(subject, name, &self.infos())))?;
        }
        Ok(options)
    }
}

impl<T: Default> SettingList for SettingTable<T> {
    fn infos(&self) -> Vec<SettingInfo> {
        let mut default = T::default();
        let mut info = |setting: &Setting<T>| {
            let (kind, default) = match setting.target {
                Target::Field(field) => {
                    let value = field(&mut default);
                    (value.kind(), Some(value.shown()))
                }
                Target::Size(field) => {
                    (SettingKind::Size, Some(size::shown(field(&mut default).bytes())))
                }
                Target::Custom(kind, _) | Target::Apart(kind) => (kind, None),
            };
            let Setting { name, former, help, is_secret, .. } = *setting;
            let limit = shown_bounds(kind, setting.bounds);
            SettingInfo { name, former, help, kind, default, limit, is_secret }
        };
        self.0.iter().map(&mut info).collect()
    }

    fn check(&self, name: &str, value: &Value) -> std::result::Result<(), Wanted> {
        match self.0.iter().find(|setting| setting.name == name) {
            Some(setting) => setting.set(&mut T::default(), value),
            None => Ok(()),
        }
    }
}

/// The error for an option that there is not: its present name, the nearest, or all.
pub fn unknown_setting(subject: &str, name: &str, known: &[SettingInfo]) -> Error {
    let renamed = known.iter().find(|info| info.former.contains(&name));
    let names = || known.iter().map(|info| info.name);
    let message = match (renamed, nearest(name, names())) {
        (Some(info), _) => format!("`{name}` of {subject} is now `{}`", info.name),
        (None, Some(near)) => {
            format!("{subject} has no option `{name}`; did you mean `{near}`?")
        }
        (None, None) => {
            let names = names().collect::<Vec<_>>().join(", ");
            format!("{subject} has no option `{name}`; it has {names}")
        }
    };
    Error::new(Kind::Invalid, message)
}

/// A value for a message: numbers and short texts as they are, others by their kind.
fn described(value: &Value) -> String {
    match value {
        Value::Text(text) if text.len() <= 40 => format!("'{text}'"),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        value => value.kind_name().to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[derive(Debug, PartialEq)]
    struct Oven {
        temperature: u32,
        time: Duration,
        fan: bool,
        program: Option<String>,
        memory: u32,
    }

    impl Default for Oven {
        fn default() -> Self {
            let time = Duration::from_secs(1200);
            Oven { temperature: 180, time, fan: true, program: None, memory: 1 << 20 }
        }
    }

    const OVEN: SettingTable<Oven> = SettingTable(&[
        Setting::new("temperature", "degrees", |oven: &mut Oven| &mut oven.temperature)
            .range(20.0, 300.0),
        Setting::new("bakingTime", "how long it bakes", |oven: &mut Oven| &mut oven.time)
            .range(1.0, 7200.0)
            .was(&["time"]),
        Setting::new("fan", "whether the fan runs", |oven: &mut Oven| &mut oven.fan),
        Setting::new("program", "what is baked", |oven: &mut Oven| &mut oven.program),
        Setting::custom("mode", "a letter", SettingKind::Text, |oven, value| {
            oven.fan = value.as_str() == Some("f");
            if value.as_str() == Some("x") { Err("'f' or 'n'".into()) } else { Ok(()) }
        }),
        Setting::new("pin", "who may open it", |oven: &mut Oven| &mut oven.fan).secret(),
        Setting::size("memory", "of its programs", |oven: &mut Oven| &mut oven.memory)
            .range(0.0, 1_073_741_824.0),
    ]);

    fn read(name: &str, value: Value) -> std::result::Result<Oven, String> {
        OVEN.read("an oven", &Value::record([(name, value)])).map_err(|error| error.message)
    }

    #[test]
    fn options_are_read_by_their_type() {
        assert_eq!(read("temperature", Value::Int(200)).unwrap().temperature, 200);
        assert_eq!(read("bakingTime", "1.5 s".into()).unwrap().time.as_millis(), 1500);
        assert!(!read("fan", Value::Bool(false)).unwrap().fan);
        assert_eq!(read("program", "bread".into()).unwrap().program.as_deref(), Some("bread"));
        assert_eq!(read("program", Value::Nil).unwrap(), Oven::default());
        assert!(!read("mode", "n".into()).unwrap().fan);
        assert_eq!(read("memory", "64K".into()).unwrap().memory, 64 << 10);
        assert_eq!(read("memory", Value::Int(0)).unwrap().memory, 0);
    }

    #[test]
    fn errors_name_the_option_and_what_it_must_be() {
        let wrong = |name, value| read(name, value).unwrap_err();
        for (name, value, message) in [
            (
                "temperature",
                Value::Int(5),
                "`temperature` of an oven must be a whole number from 20 to 300, not 5",
            ),
            (
                "bakingTime",
                Value::Int(0),
                "`bakingTime` of an oven must be a duration from 1 s to 2 h, not 0",
            ),
            (
                "bakingTime",
                Value::Int(60),
                "bakingTime: 60 has no unit: write 60 seconds or 60 milliseconds",
            ),
            ("memory", Value::Int(60), "memory: 60 has no unit: write 60 bytes or 60 megabytes"),
            (
                "memory",
                "60".into(),
                "`memory` of an oven must be a size such as `5 megabytes` or '5M', not '60'",
            ),
            (
                "memory",
                "5G".into(),
                "`memory` of an oven must be a size from 0 bytes to 1 GB, not '5G'",
            ),
            ("fan", "no".into(), "`fan` of an oven must be true or false, not 'no'"),
            ("pin", "1234".into(), "`pin` of an oven must be true or false"),
            ("mode", "x".into(), "`mode` of an oven must be 'f' or 'n', not 'x'"),
            ("time", Value::Int(5), "`time` of an oven is now `bakingTime`"),
            ("programm", Value::Nil, "an oven has no option `programm`; did you mean `program`?"),
            (
                "zzzzzzz",
                Value::Nil,
                "an oven has no option `zzzzzzz`; it has temperature, bakingTime, fan, program, mode, \
                 pin, memory",
            ),
        ] {
            assert_eq!(wrong(name, value), message);
        }
    }

    #[test]
    fn no_duration_and_no_size_of_a_combinator_is_a_plain_number() {
        let (mut durations, mut sizes) = (0, 0);
        for definition in crate::combinators() {
            for info in definition.infos() {
                let right = match info.kind {
                    SettingKind::Duration => "60 s",
                    SettingKind::Size => "60 B",
                    _ => continue,
                };
                durations += usize::from(info.kind == SettingKind::Duration);
                sizes += usize::from(info.kind == SettingKind::Size);
                let check = |value| definition.settings.check(info.name, &value);
                let name = info.name;
                assert!(check(Value::Int(60)).is_err(), "{name}: 60 is taken");
                assert!(check(Value::Float(0.5)).is_err(), "{name}: 0.5 is taken");
                let refused = check(right.into()).err();
                assert!(refused.is_none_or(|said| said.contains("from ")), "{name}: {right}");
            }
        }
        assert!(durations > 5 && sizes > 2, "only {durations} durations, {sizes} sizes");
    }

    #[test]
    fn tables_show_their_defaults() {
        let defaults: Vec<_> = OVEN.infos().into_iter().map(|info| info.default).collect();
        let shown = ["180", "20 min", "true", "none"].map(|text| Some(text.to_string()));
        assert_eq!(defaults[..4], shown);
        assert_eq!(defaults[4], None);
        assert_eq!(defaults[6].as_deref(), Some("1 MB"));
        let limits: Vec<_> = OVEN.infos().into_iter().map(|info| info.limit).collect();
        let shown = ["20 to 300", "1 s to 2 h"].map(|text| Some(text.to_string()));
        assert_eq!(limits[..2], shown);
        assert_eq!(limits[2], None);
    }
}

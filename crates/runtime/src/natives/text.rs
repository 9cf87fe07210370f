//! Letters outside ASCII: their upper and lower case.

use crate::isolate::Isolate;
use crate::native::{Arguments, Given, Native, Reply};

pub(crate) const NATIVES: [(&str, Native); 2] =
    [("uppercase", uppercase), ("lowercase", lowercase)];

fn uppercase(_: &Isolate, arguments: Arguments) -> Reply {
    Reply::Now(Given::Text(arguments.text(1).to_uppercase()))
}

fn lowercase(_: &Isolate, arguments: Arguments) -> Reply {
    Reply::Now(Given::Text(arguments.text(1).to_lowercase()))
}

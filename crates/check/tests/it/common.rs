//! A small kernel for tests.

use runnel_catalogue::Catalogue;
use runnel_check::{Kernel, check};
use runnel_syntax::Diagnostic;

/// What a kernel writes of itself.
const FACTS: &str = "\
class Object
own isNil isEqual: init class should: yourself respondsTo:
meta new name
variables
class Number Object
own add: sub: mul: isLessThan: to:do: timesRepeat: ifTrue: sqrt
meta pi
literal
class String Object
own length concat: replace:with: uppercaseString count split:
meta new
literal
class Boolean Object
own ifTrue: ifFalse: ifTrue:ifFalse: not and: or:
meta
class Array Object
own at: at:put: do: collect: select: count
meta new
class Dictionary Object
own at: at:put: keys
meta new
class Block Object
own value value: whileTrue: onError:
meta
class Proxy Object
own doesNotUnderstand:
meta
class Server Object
own setPort: port start
meta
variables port
class Circle Disc
own round
class Disc Circle
own flat
alias NSString String
name stdout Server
name Root class Object
";

/// What the catalogue says of some of its messages.
const MESSAGES: &str = "\
String -<Number> length
How many.

String -<String> replace:<String>old with:<String>new
Replaces.

Array -<Array> collect:<Block(each)>block
Answers.

Number -<Number> sqrt
The root.
";

pub(crate) fn kernel() -> Kernel {
    Kernel::parse(FACTS)
}

pub(crate) fn catalogue() -> Catalogue {
    Catalogue::parse(MESSAGES)
}

/// The findings of a source, whether or not it parses without errors.
pub(crate) fn findings(source: &str) -> Vec<Diagnostic> {
    let program = runnel_syntax::parse(source).program;
    check(&program, source, &catalogue(), &kernel())
}

/// Their codes.
pub(crate) fn codes(source: &str) -> Vec<&'static str> {
    findings(source).iter().filter_map(|one| one.code).collect()
}

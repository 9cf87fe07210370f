//! What each class and message of the language is: the types of its receiver, arguments and answer,
//! its meaning, and examples.
//!
//! The definition of a message stands above its implementation, as a comment in the kernel.
//! [`extract`] collects these comments when the kernel is built, and [`Catalogue`] reads what it
//! collected. The checker, `runnel doc`, editors and the manual ask the catalogue.
//!
//! - [`kind`] has types as they are written: `String?`, `Number|String`, `Block(each)`.
//! - [`message`] has one message, and its signature.
//! - [`catalogue`] has all of them, by class and by selector.
//! - [`topic`] has what is neither class nor message: kinds of errors, names, schemes.
//! - [`words`] has the words and marks of the language.
//! - [`extract`] reads source files of the kernel.

pub mod catalogue;
pub mod extract;
pub mod kind;
pub mod message;
pub mod topic;
pub mod words;

pub use catalogue::{Catalogue, Class};
pub use kind::{KindOption, ValueKind as Kind};
pub use message::{Example, MessageDefinition as Message, MessageParameter as Parameter, summary};
pub use topic::{Topic, TopicKind};

//! The integration tests of search, one binary.

mod additions;
mod behaviour;
mod bounded;
mod definition;
mod durable;
mod features;
mod highlight;
mod model;
mod phrases;
mod poisoned;
mod random;
mod realtime;
mod recorded;
mod restricted;
mod site;
mod store;
mod support;

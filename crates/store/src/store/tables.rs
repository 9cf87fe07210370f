//! What stores of tables do beside the verbs.

use crate::{
    Answer, Content, Context, Error, Records, Reference, Shape, Store, Transaction, Value, Verb,
};
use std::rc::Rc;

/// Collections with a shape, statements and transactions: what a database adds to [`Store`].
pub trait Tables {
    /// Adds many records to the collection at the reference, all or none, and answers how many.
    /// The records are read while they are stored, so memory does not bound their number.
    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64>;

    /// Runs a statement in the store's own language (SQL) with its parameters in order. One that
    /// reads answers its rows; one that writes answers the number of changed rows.
    fn run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content>;

    /// Applies the steps that were not applied before, in order, each as a whole, and remembers
    /// them. A step is a name such as `0002-split-name.sql` and its statements. Answers the names
    /// of the steps applied now. A known step with other statements is [`crate::Kind::Conflict`].
    fn migrate(
        &self,
        reference: &Reference,
        steps: Vec<(String, String)>,
        context: &Context,
    ) -> Answer<Vec<String>>;

    /// The store of a collection of one shape, made if it does not exist: a table for a class.
    fn define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>>;

    /// Begins a transaction; the context carries the one around it, if there is one.
    fn begin(&self, reference: &Reference, context: &Context) -> Answer<Rc<dyn Transaction>>;
}

impl dyn Store + '_ {
    /// The tables of the store, or the error of a store without tables.
    ///
    /// # Errors
    /// [`crate::Kind::NotAllowed`].
    pub fn tables_for(&self, verb: Verb, reference: &Reference) -> crate::Result<&dyn Tables> {
        self.tables().ok_or_else(|| Error::not_allowed(verb, reference))
    }

    /// Asks the tables of the store, or refuses where it has none.
    pub fn with_tables<T>(
        &self,
        verb: Verb,
        reference: &Reference,
        ask: impl FnOnce(&dyn Tables) -> Answer<T>,
    ) -> Answer<T> {
        match self.tables_for(verb, reference) {
            Ok(tables) => ask(tables),
            Err(error) => error.into(),
        }
    }
}
